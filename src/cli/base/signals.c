/*
 * Signals as something to read.
 */
#include <config.h>

#include "cli/base/signals.h"

#include <stddef.h>
#include <sys/signalfd.h>
#include <unistd.h>

int
signals_init(struct signals *s)
{
	static const int passed_on[] = {
		SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT,
		SIGTSTP, SIGWINCH,
	};
	struct sigaction old = { .sa_handler = SIG_DFL };
	sigset_t read_set;
	sigset_t blocked;

	/* SIGCHLD may be ignored by inheritance; then no child's end is
	 * reported. */
	if (sigaction(SIGCHLD, &old, NULL) < 0)
		return -1;
	(void)sigemptyset(&read_set);
	(void)sigaddset(&read_set, SIGCHLD);
	for (size_t i = 0; i < sizeof(passed_on) / sizeof(int); i++) {
		if (sigaction(passed_on[i], NULL, &old) == 0 &&
		    old.sa_handler == SIG_IGN)
			continue;
		(void)sigaddset(&read_set, passed_on[i]);
	}
	blocked = read_set;
	(void)sigaddset(&blocked, SIGTTOU); /* we set foreground groups */
	(void)sigaddset(&blocked, SIGPIPE); /* a reader of messages is gone */
	if (sigprocmask(SIG_BLOCK, &blocked, &s->before) < 0)
		return -1;
	s->fd = signalfd(-1, &read_set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->fd < 0 ? -1 : 0;
}

int
signals_next(struct signals *s)
{
	struct signalfd_siginfo info;

	if (read(s->fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return 0;
	return (int)info.ssi_signo;
}

/*
 * The command under a lock. Three things must hold whatever happens: it does
 * not outlive this process (PR_SET_PDEATHSIG), the processes that it leaves
 * behind can be waited for (this process is the reaper of its orphans), and the
 * lock is not granted to another holder while any of them still runs (they
 * inherit the connection).
 */
#include <config.h>

#include "cli/hold/child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/cli.h"

#define CHILD_KEEP_FD_MIN 100	/* above the numbers that scripts use */

/* The terminal whose foreground group that is, or -1. */
static int
child_terminal(pid_t group)
{
	static const int candidates[] = {
		STDIN_FILENO, STDERR_FILENO, STDOUT_FILENO,
	};

	for (int i = 0; i < 3; i++) {
		if (tcgetpgrp(candidates[i]) == group)
			return candidates[i];
	}
	return -1;
}

/*
 * The child's side, in the parent's memory (vfork) but with its own files and
 * signals: it may call the system, and must touch nothing else.
 */
static int
child_prepare(pid_t parent, const sigset_t *mask, int terminal, int keep)
{
	if (setpgid(0, 0) < 0)
		return errno;
	/* SIGTTOU is blocked: otherwise this would stop us. */
	if (terminal >= 0)
		(void)tcsetpgrp(terminal, getpid());
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return errno;
	if (getppid() != parent)
		_exit(CLI_SIGNAL + SIGKILL); /* it died before we asked */
	/*
	 * A process that is killed loses its files before its children are
	 * told. If only the parent had the connection, the daemon would see
	 * its end and grant the lock to the next waiter while the command still
	 * runs. So every process under the lock keeps the connection open until
	 * the last of them has ended, as with flock(1).
	 */
	if (keep >= 0 && fcntl(keep, F_DUPFD, CHILD_KEEP_FD_MIN) < 0 &&
	    fcntl(keep, F_DUPFD, STDERR_FILENO + 1) < 0)
		return errno;
	if (sigprocmask(SIG_SETMASK, mask, NULL) < 0)
		return errno;
	return 0;
}

int
child_start(struct child *c, char **argv, const sigset_t *mask, int keep)
{
	volatile int error = 0;
	pid_t parent = getpid();
	pid_t pid;

	c->terminal = child_terminal(c->front_group);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 ||
	    ancestor_open(&c->self, parent) < 0)
		return errno;
	/* vfork: our memory is not copied. When we go on, the child has its
	 * group and its program, or has reported why not. */
	pid = vfork();
	if (pid < 0)
		return errno;
	if (pid == 0) {
		error = child_prepare(parent, mask, c->terminal, keep);
		if (error == 0) {
			(void)execvp(argv[0], argv);
			error = errno;
		}
		_exit(CLI_NOT_FOUND);
	}
	c->pid = pid;
	c->running = true;
	if (error == 0)
		return 0;
	(void)waitpid(pid, &c->status, 0);
	c->running = false;
	child_take_terminal(c);
	return error;
}

int
child_complain(const char *name, int error)
{
	cli_say("cannot run %s: %s", name, strerror(error));
	return error == ENOENT ? CLI_NOT_FOUND : CLI_CANNOT_EXECUTE;
}

void
child_signal(const struct child *c, int number)
{
	if (c->pid > 0)
		(void)kill(-c->pid, number);
}

void
child_reap(struct child *c)
{
	int status;
	pid_t pid;

	c->all_ended = false;
	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		if (pid != c->pid)
			continue; /* an orphan: only its end matters */
		if (WIFSTOPPED(status)) {
			c->stopped = true;
			continue;
		}
		c->status = status;
		c->running = false;
	}
	c->all_ended = pid < 0 && errno == ECHILD;
}

size_t
child_signal_others(const struct child *c, int number, bool all_sessions)
{
	const struct descendants_filter filter = {
		.except_group = c->pid,
		.one_session = !all_sessions,
		.session = getsid(0),
	};

	return c->all_ended ? 0 : descendants_signal(&c->self, number, &filter);
}

bool
child_left(const struct child *c, bool all_sessions)
{
	if (c->running || c->all_ended || all_sessions)
		return !c->all_ended;
	return kill(-c->pid, 0) == 0 || errno == EPERM ||
	    child_signal_others(c, 0, false) > 0;
}

void
child_take_terminal(struct child *c)
{
	if (c->terminal >= 0 && tcgetpgrp(c->terminal) == c->pid)
		(void)tcsetpgrp(c->terminal, c->front_group);
}

void
child_stop_front(struct child *c)
{
	c->stopped = false;
	if (c->terminal < 0)
		return; /* no user there to say "fg" */
	child_take_terminal(c);
	(void)kill(c->front_pid, SIGSTOP);
}

void
child_continue(const struct child *c)
{
	/* Unless we were continued in the background. */
	if (c->terminal >= 0 && tcgetpgrp(c->terminal) == c->front_group)
		(void)tcsetpgrp(c->terminal, c->pid);
	child_signal(c, SIGCONT);
}

int
child_exit_status(const struct child *c)
{
	if (WIFSIGNALED(c->status))
		return CLI_SIGNAL + WTERMSIG(c->status);
	return WEXITSTATUS(c->status);
}

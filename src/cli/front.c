/*
 * The process in front of the one that watches a command. Why there are two:
 * who is killed cannot end anything any more, and who is stopped does not see
 * the deadline. So the one that people see only waits, and the other
 *
 * - ends all at once when this one is killed (it reads the end of the socket),
 *   and keeps the deadline while this one is stopped;
 * - has its part done by this one when it is killed, or stands still three
 *   quarters of a margin after the deadline.
 *
 * Both adopt orphans, so whatever descends from the command descends from one
 * of them. The one behind has a group of its own, lest a signal to a whole
 * group meet both, and no other children: what this one had before it became
 * ddblock is not the command's.
 */
#include <config.h>

#include "cli/front.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/say.h"
#include "common/clock.h"

#define FRONT_TICK_MS 20	/* between two looks at what is left */

static int
front_open(struct front *f, int ends[2])
{
	siginfo_t info;

	*f = (struct front){ .fd = -1, .timer = -1, .pid = getpid(),
		.group = getpgrp(), .self = FAMILY_NONE,
		.other = FAMILY_NONE };
	f->share = mmap(NULL, sizeof(*f->share), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (f->share == MAP_FAILED) {
		f->share = NULL;
		return -1;
	}
	f->share->end_ms = DDBLOCK_NEVER_MS;
	f->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (f->timer < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 ||
	    family_open(&f->self, f->pid) < 0)
		return -1;
	/* Whether there is any child is asked for less than which. */
	if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	    !family_add_children(&f->before, &f->self))
		return -1;
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0, ends);
}

pid_t
front_fork(struct front *f, struct signals *signals)
{
	int ends[2] = { -1, -1 };
	pid_t pid;

	if (front_open(f, ends) < 0 || (pid = fork()) < 0) {
		int saved = errno;

		(void)close(ends[0]);
		(void)close(ends[1]);
		front_done(f);
		errno = saved;
		return -1;
	}
	f->signals = signals;
	f->behind = pid;
	f->fd = ends[pid == 0];
	(void)close(ends[pid != 0]);
	if (pid == 0) {
		(void)setpgid(0, 0);
		family_close(&f->self); /* of the other one */
		say_through(f->fd);
	} else {
		(void)setpgid(pid, pid); /* whoever comes first */
		(void)family_open(&f->other, pid);
	}
	return pid;
}

void
front_done(struct front *f)
{
	if (f->share != NULL)
		(void)munmap(f->share, sizeof(*f->share));
	f->share = NULL;
	if (f->fd >= 0)
		(void)close(f->fd);
	if (f->timer >= 0)
		(void)close(f->timer);
	f->fd = f->timer = -1;
	family_close(&f->self);
	family_close(&f->other);
}

void
front_set_end(struct front *f, uint64_t end_ms)
{
	struct itimerspec spec = { .it_value = { .tv_nsec = 1 } };

	/* The timer is the other's, too. If it cannot be set it stays at an
	 * earlier time: then it is looked at, and nothing happens. */
	if (atomic_exchange(&f->share->end_ms, end_ms) == end_ms)
		return;
	if (end_ms == DDBLOCK_NEVER_MS)
		spec.it_value.tv_nsec = 0;
	else
		spec.it_value.tv_sec = (time_t)(end_ms / 1000);
	if (end_ms != DDBLOCK_NEVER_MS)
		spec.it_value.tv_nsec += (long)(end_ms % 1000) * 1000000;
	(void)timerfd_settime(f->timer, TFD_TIMER_ABSTIME, &spec, NULL);
}

/* True: the one behind has ended. */
static bool
front_reap(struct front *f, int *ret_status)
{
	bool ended = false;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != f->behind)
			continue; /* an orphan, or from an earlier life */
		*ret_status = status;
		ended = true;
	}
	return ended;
}

/*
 * The other one cannot do it any more. It is over when there is not even one
 * who waits for being reaped: such a one may have had children just now.
 */
static int
front_end_all(struct front *f, const char *why)
{
	const struct family_choice choice = { .not = &f->before,
		.ended_too = true };
	int status;

	while (family_signal(&f->self, SIGKILL, &choice) > 0) {
		(void)front_reap(f, &status);
		(void)poll(NULL, 0, FRONT_TICK_MS);
	}
	f->share->lost = true;
	cli_say("ended the command: the process that watches the lock %s",
	    why);
	return CLI_LOST;
}

/* What the one behind has to say, until it closes its end. */
static void
front_say(struct front *f)
{
	char line[PIPE_BUF];
	ssize_t n;

	while ((n = recv(f->fd, line, sizeof(line), MSG_DONTWAIT)) > 0)
		say_text(line, (size_t)n);
	if (n == 0 && f->fd >= 0) {
		(void)close(f->fd);
		f->fd = -1;
	}
}

static bool
front_on_signals(struct front *f, int *ret_status)
{
	bool ended = false;
	int number;

	while ((number = signals_next(f->signals)) != 0) {
		if (number == SIGCHLD)
			ended = front_reap(f, ret_status) || ended;
		else if (!ended)
			(void)kill(f->behind, number);
	}
	return ended;
}

int
front_wait(struct front *f)
{
	const struct family_choice any = { .group_not = 0 };
	bool ended = false;
	int status = 0;

	while (!ended) {
		struct pollfd fds[3] = {
			{ .fd = f->signals->fd, .events = POLLIN },
			{ .fd = f->fd, .events = POLLIN },
			{ .fd = f->timer, .events = POLLIN },
		};

		if (f->past)
			fds[2].fd = -1;
		if (poll(fds, 3, -1) < 0 && errno != EINTR)
			break;
		if (!f->past && clock_boot_ms() >= f->share->end_ms) {
			f->past = true; /* it may be late, and no more */
			(void)family_signal(&f->other, SIGKILL, &any);
			if (family_is_stopped(&f->other))
				return front_end_all(f, "was stopped");
		}
		ended = front_on_signals(f, &status);
		if (fds[1].revents != 0)
			front_say(f);
	}
	front_say(f);
	if (ended && WIFEXITED(status))
		return WEXITSTATUS(status);
	return front_end_all(f, "was killed");
}

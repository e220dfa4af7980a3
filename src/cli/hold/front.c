/*
 * The process in front of the one that watches a command. Why there are two: a
 * killed process cannot end the command, and a stopped process does not see the
 * deadline. So the process that users see only waits, and the other
 *
 * - ends the command at once when the front is killed (it reads the end of the
 *   socket), and keeps the deadline while the front is stopped;
 * - is replaced by the front when it is killed, or when it is still stopped
 *   three quarters of a margin after the deadline.
 *
 * Both adopt orphans, so every descendant of the command descends from one of
 * them. The process behind has a group of its own, so that a signal to a whole
 * group does not reach both. It has no other children: those that the front had
 * before it became ddblock do not belong to the command.
 */
#include <config.h>

#include "cli/hold/front.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/cli.h"
#include "cli/base/say.h"
#include "common/clock.h"

#define FRONT_TICK_MS 20	/* between two looks at the processes left */

static int
front_open(struct front *f, int ends[2])
{
	siginfo_t info;

	*f = (struct front){ .fd = -1, .timer = -1, .socket = -1,
		.pid = getpid(), .group = getpgrp(), .self = ANCESTOR_NONE,
		.other = ANCESTOR_NONE };
	f->share = mmap(NULL, sizeof(*f->share), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (f->share == MAP_FAILED) {
		f->share = NULL;
		return -1;
	}
	f->share->end_ms = DDBLOCK_NEVER_MS;
	f->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (f->timer < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 ||
	    ancestor_open(&f->self, f->pid) < 0)
		return -1;
	/* It costs less to ask whether there is a child than which. */
	if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	    !descendants_add_children(&f->before, &f->self))
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
		ancestor_close(&f->self); /* of the other process */
		say_to_socket(f->fd);
	} else {
		(void)setpgid(pid, pid); /* both processes try: one is first */
		(void)ancestor_open(&f->other, pid);
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
	if (f->socket >= 0)
		(void)close(f->socket);
	f->fd = f->timer = f->socket = -1;
	ancestor_close(&f->self);
	ancestor_close(&f->other);
}

void
front_set_end(struct front *f, uint64_t end_ms)
{
	struct itimerspec spec = { 0 };

	/* Both processes use the timer. If it cannot be set it keeps an earlier
	 * time; then it wakes us early, which does no harm. */
	if (atomic_exchange(&f->share->end_ms, end_ms) == end_ms)
		return;
	if (end_ms != DDBLOCK_NEVER_MS) {
		spec.it_value = clock_moment(end_ms);
		spec.it_value.tv_nsec++;	/* 0 would stop the timer */
	}
	(void)timerfd_settime(f->timer, TFD_TIMER_ABSTIME, &spec, NULL);
}

/* True: the process behind has ended. */
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
 * The other process cannot end them any more. It is over only when no process
 * is left to be reaped: such a process may have started children a moment ago.
 */
static int
front_end_all(struct front *f, const char *why)
{
	const struct descendants_filter filter = { .except = &f->before,
		.with_ended = true };
	int status;

	while (descendants_signal(&f->self, SIGKILL, &filter) > 0) {
		(void)front_reap(f, &status);
		(void)poll(NULL, 0, FRONT_TICK_MS);
	}
	f->share->lost = true;
	cli_say("ended the command: the process that watches the lock %s",
	    why);
	return CLI_LOST;
}

/* A packet with a descriptor, and one byte that means nothing. */
union front_packet {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int))];
};

void
front_give_socket(const struct front *f, int socket)
{
	union front_packet control = { .bytes = { 0 } };
	struct iovec part = { .iov_base = (char[]){ '\0' }, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};

	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(int));
	(void)memcpy(CMSG_DATA(&control.header), &socket, sizeof(socket));
	(void)sendmsg(f->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* What the process behind says: the length of the text, 0 at its end, or -1. A
 * socket is kept. */
static ssize_t
front_receive(struct front *f, char *text, size_t size)
{
	union front_packet control = { .bytes = { 0 } };
	struct iovec part = { .iov_base = text, .iov_len = size };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t n = recvmsg(f->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	if (n <= 0 || header == NULL || header->cmsg_type != SCM_RIGHTS)
		return n;
	if (f->socket >= 0)
		(void)close(f->socket);
	(void)memcpy(&f->socket, CMSG_DATA(header), sizeof(f->socket));
	return n;
}

/* The messages of the process behind, until it closes its end. */
static void
front_say(struct front *f)
{
	char line[PIPE_BUF];
	ssize_t n;

	while ((n = front_receive(f, line, sizeof(line))) > 0) {
		if (line[0] != '\0')
			say_text(line, (size_t)n);
	}
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
	const struct descendants_filter any = { .except_group = 0 };
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
			(void)descendants_signal(&f->other, SIGKILL, &any);
			if (ancestor_is_stopped(&f->other))
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

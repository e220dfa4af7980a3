/*
 * Processes that a lock is held for. A client passes a pidfd with the line of
 * its request; from then on the hold lives as long as that process, even if the
 * client ends. So that the daemon neither signals nor waits for another user's
 * process:
 *
 * - The process is of the client's user: each of its real, effective and saved
 *   user ids is; or the client is root. The number by which /proc knows it is
 *   the process's as long as it lives, so what was read counts only if the
 *   process lives after that.
 * - Each counts as one more connection of its user and of all, and has one
 *   descriptor, from the moment at which it comes: also while the line that it
 *   came with has no end. At most two are ever received at a time, and what no
 *   request takes is closed in the same round.
 * - It may have become another user's by the time at which it is to be told of
 *   a loss (it ran a program that is setuid). Then it is not signalled.
 */
#include "config.h"

#include "ipc/connection/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <syslog.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/text.h"
#include "common/utf8.h"
#include "ipc/connection/keep.h"
#include "ipc/connection/proc_file.h"
#include "ipc/connection/wire.h"

/* ---- descriptors that come ---------------------------------------------- */

static void
process_admit_first(struct connection *c, int fd)
{
	if (user_why_full(c, c->fd) != NULL) {
		(void)close(fd);
		return;
	}
	c->passed = fd;
	c->user->n_processes++;
	c->server->n_processes++;
}

/* What is not the client's brings nothing. */
static void
process_admit_passed(struct connection *c, struct msghdr *message,
    bool is_client)
{
	struct cmsghdr *m;

	for (m = CMSG_FIRSTHDR(message); m != NULL;
	    m = CMSG_NXTHDR(message, m)) {
		size_t n = (m->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (m->cmsg_level != SOL_SOCKET || m->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(m) + i * sizeof(fd), sizeof(fd));
			if (is_client && c->n_passed++ == 0)
				process_admit_first(c, fd);
			else
				(void)close(fd);
		}
	}
	/* More descriptors came than we receive, or than we may open. */
	if (is_client && (message->msg_flags & MSG_CTRUNC) != 0)
		c->n_passed += WIRE_DESCRIPTORS_MAX;
}

ssize_t
process_receive(struct connection *c, char *data, size_t size)
{
	union {
		struct cmsghdr align;
		char bytes[WIRE_CONTROL];
	} control;
	struct iovec part = { .iov_base = data, .iov_len = size };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t n = wire_receive(c, &message);
	struct sender sender;
	bool is_client = true;

	if (n < 0)
		return n;
	if (n > 0) {
		sender = wire_sender(&message);
		is_client = sender_is_client(c, &sender);
	}
	process_admit_passed(c, &message, is_client);
	if (is_client)
		return n;
	errno = EAGAIN;
	return -1;
}

void
process_forget_passed(struct connection *c)
{
	if (c->passed >= 0) {
		(void)close(c->passed);
		user_leave_process(c->server, c->user);
	}
	c->n_passed = 0;
	c->passed = -1;
}

/* ---- its user -------------------------------------------------------- */

static int
process_signal(int fd, int number)
{
	return (int)syscall(SYS_pidfd_send_signal, fd, number, NULL, 0);
}

static bool
process_has_ended(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) != 0;
}

/* The number by which we know it; 0: none. -1: it is not a process. */
static long
process_number(int fd)
{
	char text[PROC_FILE_MAX];
	const char *line, *flags;

	/*
	 * pidfd calls accept a directory of /proc, too, but it cannot be
	 * watched.
	 */
	if (process_signal(fd, 0) < 0 && errno == EBADF)
		return -1;
	if (!proc_file_read_pidfd(fd, text))
		return 0;
	line = proc_file_line(text, "Pid:\t");
	flags = proc_file_line(text, "flags:\t");
	/* A pidfd of a thread ends with the thread. */
	if (line == NULL || flags == NULL ||
	    (strtol(flags, NULL, 8) & O_EXCL) != 0)
		return -1;
	return strtol(line, NULL, 10) > 0 ? strtol(line, NULL, 10) : 0;
}

/* Are all its user ids this user's? -1: not known. */
static int
process_is_of(pid_t pid, uid_t uid)
{
	char path[64], text[PROC_FILE_MAX];
	const char *line;
	unsigned long ids[3];

	(void)snprintf(path, sizeof(path), "/proc/%ld/status", (long)pid);
	line = proc_file_read(path, text) ?
	    proc_file_line(text, "Uid:\t") : NULL;
	if (line == NULL ||
	    sscanf(line, "%lu %lu %lu", &ids[0], &ids[1], &ids[2]) != 3)
		return -1;
	return ids[0] == uid && ids[1] == uid && ids[2] == uid;
}

/* When it began, in ticks since the host booted; 0: not known. Another process
 * that gets its number has another time. */
static uint64_t
process_began(pid_t pid)
{
	char path[64], text[PROC_FILE_MAX];
	unsigned long long began = 0;
	const char *rest;

	(void)snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	rest = proc_file_read(path, text) ? strrchr(text, ')') : NULL;
	/* The name may have anything in it, but no ')' follows it. */
	if (rest == NULL || sscanf(rest, ") %*c %*d %*d %*d %*d %*d %*u %*u "
	    "%*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &began) != 1)
		return 0;
	return began;
}

/* May this connection hold a lock for it? */
static int
process_examine(struct connection *c, int fd, pid_t *ret)
{
	long pid = process_number(fd);
	int own;

	if (pid < 0)
		return connection_reason(c, DDBLOCK_E_BAD_REQUEST, "the "
		    "descriptor of process=yes is not a pidfd of a process");
	own = pid == 0 ? -1 : process_is_of((pid_t)pid, c->peer.uid);
	if (process_has_ended(fd))
		return connection_reason(c, DDBLOCK_E_BAD_REQUEST,
		    "the process that was passed has ended");
	if (own == 0 && c->peer.uid != 0)
		return connection_reason(c, DDBLOCK_E_BAD_REQUEST,
		    "process %ld is of another user", pid);
	if (own < 0)
		return connection_reason(c, DDBLOCK_E_UNSUPPORTED, "the daemon "
		    "cannot see the user of the process: it is not in the "
		    "daemon's /proc");
	*ret = (pid_t)pid;
	return 0;
}

/* ---- its life ----------------------------------------------------------- */

const struct process *
process_find(const struct server *s, uint64_t number)
{
	struct process *p;

	HASH_FIND(hh, s->processes, &number, sizeof(number), p);
	return p;
}

static void
process_free(struct process *p)
{
	if (p->fd >= 0) {
		(void)event_del(&p->event);
		(void)close(p->fd);
	}
	if (p->user != NULL)
		user_leave_process(p->server, p->user);
	keep_drop(p->server, &p->place);
	free(p->name);
	free(p);
}

static void
process_on_end(evutil_socket_t fd, short what, void *arg)
{
	struct process *p = arg;
	struct server *s = p->server;
	struct core_event event = { .type = CORE_ENDED };
	uint64_t number = p->number;

	(void)fd;
	(void)what;
	event.ended.client = p->client;
	event.ended.process = number;
	(void)s->calls.step(s->arg, &event);
}

/* Its command's name now; it may change that itself. */
static void
process_read_command(struct process *p)
{
	char name[PROC_COMMAND_MAX + 1];

	text_copy(p->command, sizeof(p->command),
	    proc_file_command(p->pid, name) ? name : "?");
	utf8_make_shown(p->command, strlen(p->command));
}

static int
process_new(struct connection *c, pid_t pid, int signal, struct process **ret)
{
	struct server *s = c->server;
	struct process *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return DDBLOCK_E_NOMEM;
	p->server = s;
	p->client = c->client;
	p->fd = -1;
	p->pid = pid;
	p->signal = signal;
	p->name = strdup(c->peer.name);
	p->number = ++s->process_serial;
	if (p->name != NULL)
		HASH_ADD(hh, s->processes, number, sizeof(p->number), p);
	if (p->name == NULL || p->hh.tbl == NULL) {
		process_free(p);
		return DDBLOCK_E_NOMEM;
	}
	/* It was counted when it came. */
	p->user = c->user;
	p->fd = c->passed;
	p->began = process_began(pid);
	process_read_command(p);
	c->passed = -1;
	c->n_passed = 0;
	*ret = p;
	return 0;
}

static bool
process_watch(struct process *p)
{
	return event_assign(&p->event, p->server->base, p->fd, EV_READ,
	    process_on_end, p) == 0 && event_add(&p->event, NULL) == 0;
}

int
process_take(struct connection *c, int signal, uint64_t *ret_number)
{
	struct server *s = c->server;
	struct process *p;
	pid_t pid = 0;
	int r;

	if (c->n_passed != 1)
		return connection_reason(c, DDBLOCK_E_BAD_REQUEST,
		    "process=yes needs one pidfd, passed with this line, "
		    "and %s",
		    c->n_passed == 0 ? "none came" : "more came");
	if (c->passed < 0)
		return connection_reason(c, DDBLOCK_E_LIMIT,
		    "a process counts as a connection, and there are too many "
		    "of them");
	r = process_examine(c, c->passed, &pid);
	if (r < 0)
		return r;
	r = process_new(c, pid, signal, &p);
	if (r < 0)
		return connection_reason(c, DDBLOCK_E_LIMIT, "out of memory");
	if (!process_watch(p)) {
		process_drop(s, p->number);
		return connection_reason(c, DDBLOCK_E_LIMIT,
		    "the process cannot be watched");
	}
	process_keep(p);
	*ret_number = p->number;
	return 0;
}

void
process_keep(struct process *p)
{
	const struct keep_process head = {
		.number = p->number,
		.client = p->client,
		.began = p->began,
		.pid = p->pid,
		.uid = p->user->uid,
		.signal = p->signal,
		.told = p->told,
	};

	(void)keep_put(p->server, &p->place, KEEP_PROCESS, &head,
	    sizeof(head), p->name, strlen(p->name));
}

/* Its descriptor; -1: it is not there, or not known to be the same. */
static int
process_open(const struct keep_process *head)
{
	int fd = (int)syscall(SYS_pidfd_open, (pid_t)head->pid, 0);

	if (fd >= 0 && (head->began == 0 ||
	    process_began((pid_t)head->pid) != head->began)) {
		(void)close(fd);
		fd = -1;
	}
	return fd;
}

bool
process_again(struct server *s, const struct keep_process *head,
    const char *name, size_t name_length)
{
	const int fd = process_open(head);
	struct process *p = fd < 0 ? NULL : calloc(1, sizeof(*p));

	if (s->process_serial < head->number)
		s->process_serial = head->number;
	if (p == NULL) {
		if (fd >= 0)
			(void)close(fd);
		return false;
	}
	p->server = s;
	p->fd = fd;
	p->number = head->number;
	p->client = head->client;
	p->began = head->began;
	p->pid = (pid_t)head->pid;
	p->signal = head->signal;
	p->told = head->told != 0;
	p->name = strndup(name, name_length);
	process_read_command(p);
	p->user = user_find(s, head->uid);
	if (p->user != NULL) {
		p->user->n_processes++;
		s->n_processes++;
	}
	if (p->name != NULL && p->user != NULL)
		HASH_ADD(hh, s->processes, number, sizeof(p->number), p);
	if (p->hh.tbl == NULL || !process_watch(p)) {
		if (p->hh.tbl != NULL)
			HASH_DEL(s->processes, p);
		process_free(p);
		return false;
	}
	process_keep(p);
	return true;
}

void
process_drop(struct server *s, uint64_t number)
{
	struct process *p;

	HASH_FIND(hh, s->processes, &number, sizeof(number), p);
	if (p == NULL)
		return;
	HASH_DEL(s->processes, p);
	process_free(p);
}

bool
process_can_be_told(const struct process *p)
{
	return p->signal != 0 &&
	    (process_signal(p->fd, 0) == 0 || errno == ESRCH);
}

/* ---- reports to it ---------------------------------------------------- */

static void
process_say(struct process *p)
{
	struct server *s = p->server;
	const char *why = "it has become another user's";

	if (p->told || p->signal == 0)
		return;
	p->told = true;
	if (p->user->uid == 0 || process_is_of(p->pid, p->user->uid) > 0) {
		if (process_signal(p->fd, p->signal) == 0) {
			server_log(s, LOG_NOTICE, (int64_t)p->user->uid,
			    "process %ld (uid %ld) was told by signal "
			    "%d that its lock is lost",
			    (long)p->pid, (long)p->user->uid, p->signal);
			return;
		}
		if (errno == ESRCH)
			return;
		why = strerror(errno);
	} else if (process_has_ended(p->fd)) {
		return;
	}
	server_log(s, LOG_ERR, (int64_t)p->user->uid,
	    "process %ld (uid %ld) has lost its lock and cannot be told: %s",
	    (long)p->pid, (long)p->user->uid, why);
}

void
process_notify(struct server *s, uint64_t hold)
{
	struct core_hold_view v;
	struct process *p = NULL;

	if (core_view_hold(s->calls.core(s->arg), hold, clock_boot_ms(), &v))
		HASH_FIND(hh, s->processes, &v.terms.process,
		    sizeof(v.terms.process), p);
	if (p != NULL)
		process_say(p);
}

void
process_drop_all(struct server *s)
{
	struct process *p, *next;

	HASH_ITER(hh, s->processes, p, next)
	{
		if (!s->leaving && server_find(s, p->client) == NULL)
			process_say(p);
		HASH_DEL(s->processes, p);
		process_free(p);
	}
}

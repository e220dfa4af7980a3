/*
 * The manager answers nothing. So what was sent is confirmed in the background,
 * by two messages that follow it:
 *
 * - a probe: the reading end of a pipe, to be stored as well. A manager whose
 *   store is full, or that has none, closes it, and that shows at the writing
 *   end. Where the probe found room, all before it did. When the writing end is
 *   closed, the manager drops the probe by itself.
 * - a barrier: a descriptor that the manager closes when it has read all
 *   messages before.
 *
 * One barrier at a time, and a pause before it: so a crowd of short connections
 * costs the manager few of them.
 *
 * A message that does not fit into the manager's queue waits here, with a copy
 * of its descriptor, until the queue has room. At most so many wait: beside a
 * manager that reads nothing, connections that end must not take descriptors
 * for ever.
 */
#include <config.h>	/* the build's */

#include "daemon/descriptor_store.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <syslog.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "daemon/notify.h"
#include "ddblock.h"

#define DESCRIPTOR_STORE_PAUSE_MS 50
#define DESCRIPTOR_STORE_NAME_MAX 1

/* A message that waits. */
struct descriptor_store_message {
	struct descriptor_store_message *next;
	int fd;			/* ours */
	char text[32];
};

struct descriptor_store {
	int fd;			/* to the manager */
	struct event *writable;	/* while messages wait */
	struct event *pause;	/* before the next barrier */
	struct event *barrier;	/* while one is under way; or NULL */
	int barrier_fd;		/* its end that is ours */
	int probe_fd;		/* and the probe's */
	struct descriptor_store_message *first, **last;
	uint32_t n_waiting;
	void (*on_room)(void *);
	void *arg;
	bool refused;		/* an add, for want of room */
	uint64_t sent;		/* numbers: given so far, */
	uint64_t asked;		/* before the barrier that is under way, */
	uint64_t confirmed;	/* before the last one that ended */
	uint64_t refused_from;	/* and these were perhaps not stored */
	uint64_t refused_to;
	bool complained;
};

/* False: there is no room. Anything else that fails is as if it were sent: the
 * probe finds it. */
static bool
descriptor_store_send(const struct descriptor_store *s, const char *text,
    int fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .bytes = { 0 } };
	struct iovec part = {
		.iov_base = (void *)(uintptr_t)text, .iov_len = strlen(text),
	};
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	struct cmsghdr *m = CMSG_FIRSTHDR(&message);

	m->cmsg_level = SOL_SOCKET;
	m->cmsg_type = SCM_RIGHTS;
	m->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(m), &fd, sizeof(fd));
	return sendmsg(s->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0 ||
	    (errno != EAGAIN && errno != ENOBUFS);
}

static void
descriptor_store_drop_first(struct descriptor_store *s)
{
	struct descriptor_store_message *first = s->first;

	s->first = first->next;
	if (s->first == NULL)
		s->last = &s->first;
	s->n_waiting--;
	(void)close(first->fd);
	free(first);
}

static void
descriptor_store_on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct descriptor_store *s = arg;

	(void)fd;
	(void)what;
	while (s->first != NULL &&
	    descriptor_store_send(s, s->first->text, s->first->fd))
		descriptor_store_drop_first(s);
	if (s->first != NULL) {
		(void)event_add(s->writable, NULL);
	} else if (s->refused) {
		s->refused = false;
		s->on_room(s->arg);
	}
}

/* Now or later, in order. False: too many wait already, or there is no memory
 * for it. */
static bool
descriptor_store_post(struct descriptor_store *s, const char *text, int fd)
{
	struct descriptor_store_message *message;

	if (s->first == NULL && descriptor_store_send(s, text, fd))
		return true;
	if (s->n_waiting >= DESCRIPTOR_STORE_WAITING_MAX)
		return false;
	message = calloc(1, sizeof(*message));
	if (message == NULL)
		return false;
	(void)snprintf(message->text, sizeof(message->text), "%s", text);
	message->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (message->fd < 0) {
		free(message);
		return false;
	}
	*s->last = message;
	s->last = &message->next;
	s->n_waiting++;
	(void)event_add(s->writable, NULL);
	return true;
}

/* ---- confirmation ------------------------------------------------------- */

static void
descriptor_store_pause(struct descriptor_store *s)
{
	const struct timeval t = clock_interval(DESCRIPTOR_STORE_PAUSE_MS);

	if (s->barrier == NULL && !event_pending(s->pause, EV_TIMEOUT, NULL))
		(void)event_add(s->pause, &t);
}

static void
descriptor_store_end_barrier(struct descriptor_store *s)
{
	if (s->barrier != NULL)
		event_free(s->barrier);
	s->barrier = NULL;
	if (s->barrier_fd >= 0)
		(void)close(s->barrier_fd);
	if (s->probe_fd >= 0)
		(void)close(s->probe_fd);
	s->barrier_fd = s->probe_fd = -1;
}

static void
descriptor_store_refuse(struct descriptor_store *s)
{
	if (s->refused_from == 0)
		s->refused_from = s->confirmed + 1;
	s->refused_to = s->asked;
	if (s->complained)
		return;
	s->complained = true;
	log_write(LOG_WARNING, NULL, "the service manager's descriptor store "
	    "is full or not there: connections that it does not keep end with "
	    "this process; raise FileDescriptorStoreMax= of the unit above "
	    "connections_max");
}

static void
descriptor_store_on_barrier(evutil_socket_t fd, short what, void *arg)
{
	struct descriptor_store *s = arg;
	struct pollfd probe = { .fd = s->probe_fd };

	(void)fd;
	(void)what;
	if (poll(&probe, 1, 0) > 0 && (probe.revents & POLLERR) != 0)
		descriptor_store_refuse(s);
	else
		s->complained = false;
	s->confirmed = s->asked;
	descriptor_store_end_barrier(s);
	if (s->sent > s->confirmed)
		descriptor_store_pause(s);
}

/* Both messages; false: try again later. */
static bool
descriptor_store_ask(struct descriptor_store *s)
{
	int probe[2] = { -1, -1 }, barrier[2] = { -1, -1 };
	bool ok = pipe2(probe, O_CLOEXEC | O_NONBLOCK) == 0 &&
	    pipe2(barrier, O_CLOEXEC | O_NONBLOCK) == 0;

	s->probe_fd = probe[1];
	s->barrier_fd = barrier[0];
	if (ok)
		s->barrier = event_new(event_get_base(s->pause), barrier[0],
		    EV_READ, descriptor_store_on_barrier, s);
	ok = ok && s->barrier != NULL && event_add(s->barrier, NULL) == 0 &&
	    descriptor_store_post(s, "FDSTORE=1\nFDNAME="
	    DESCRIPTOR_STORE_PROBE, probe[0]) &&
	    descriptor_store_post(s, "BARRIER=1", barrier[1]);
	if (probe[0] >= 0)
		(void)close(probe[0]);
	if (barrier[1] >= 0)
		(void)close(barrier[1]);
	s->asked = s->sent;
	if (!ok)
		descriptor_store_end_barrier(s);
	return ok;
}

static void
descriptor_store_on_pause(evutil_socket_t fd, short what, void *arg)
{
	struct descriptor_store *s = arg;

	(void)fd;
	(void)what;
	if (!descriptor_store_ask(s))
		descriptor_store_pause(s);
}

/* ---- the store ---------------------------------------------------------- */

int
descriptor_store_new(struct event_base *base, void (*on_room)(void *),
    void *arg, struct descriptor_store **ret)
{
	const int fd = notify_connect();
	struct descriptor_store *s;

	*ret = NULL;
	if (fd < 0)
		return 0;
	s = calloc(1, sizeof(*s));
	if (s == NULL) {
		(void)close(fd);
		return DDBLOCK_E_NOMEM;
	}
	s->fd = fd;
	s->on_room = on_room;
	s->arg = arg;
	s->barrier_fd = s->probe_fd = -1;
	s->last = &s->first;
	s->writable = event_new(base, fd, EV_WRITE,
	    descriptor_store_on_writable, s);
	s->pause = evtimer_new(base, descriptor_store_on_pause, s);
	if (s->writable == NULL || s->pause == NULL) {
		descriptor_store_free(s);
		return DDBLOCK_E_NOMEM;
	}
	*ret = s;
	return 0;
}

void
descriptor_store_free(struct descriptor_store *s)
{
	if (s == NULL)
		return;
	/* What waits is sent if there is room now. */
	s->refused = false;
	if (s->writable != NULL)
		descriptor_store_on_writable(s->fd, EV_WRITE, s);
	while (s->first != NULL)
		descriptor_store_drop_first(s);
	descriptor_store_end_barrier(s);
	if (s->writable != NULL)
		event_free(s->writable);
	if (s->pause != NULL)
		event_free(s->pause);
	(void)close(s->fd);
	free(s);
}

uint64_t
descriptor_store_add(struct descriptor_store *s, const char *name, int fd)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "FDSTORE=1\nFDNAME=%.*s",
	    DESCRIPTOR_STORE_NAME_MAX, name);
	if (!descriptor_store_post(s, text, fd)) {
		s->refused = true;
		return 0;
	}
	descriptor_store_pause(s);
	return ++s->sent;
}

bool
descriptor_store_has(const struct descriptor_store *s, uint64_t number)
{
	return number > 0 && number <= s->confirmed &&
	    (number < s->refused_from || number > s->refused_to);
}

/*
 * The bytes of a connection, in and out, and its timer. Sending never fails for
 * the caller: a connection ends in exactly one way, when reading finds its end.
 * So no caller is told twice, or from within a call that must not call back.
 */
#include "lib/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"
#include "ipc/codec.h"

#define CONNECTION_READ_BYTES 16384

int
connection_fail(struct ddblock *d, int code, const char *text)
{
	if (text == NULL || text[0] == '\0')
		text = error_text(code);
	(void)snprintf(d->last_text, sizeof(d->last_text), "%s", text);
	return code;
}

static void
connection_close(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

void
connection_init(struct ddblock *d, const char *path)
{
	d->socket = d->timer = d->poll = d->pass_fd = -1;
	d->timer_ms = d->again.due_ms = DDBLOCK_NEVER_MS;
	d->blocks = true;
	buffer_init(&d->in, CODEC_LINE_MAX + CONNECTION_READ_BYTES);
	buffer_init(&d->out, CONNECTION_UNSENT_MAX);
	(void)memcpy(d->path, path, strlen(path) + 1);
}

void
connection_done(struct ddblock *d)
{
	connection_close(&d->pass_fd);
	connection_close(&d->poll);
	connection_close(&d->timer);
	connection_close(&d->socket);
	/* They may have had a secret in them. */
	buffer_wipe(&d->in);
	buffer_wipe(&d->out);
}

static int
connection_poll_add(struct ddblock *d, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	if (d->poll < 0 || fd < 0 ||
	    epoll_ctl(d->poll, EPOLL_CTL_ADD, fd, &event) == 0)
		return 0;
	return connection_fail(d, DDBLOCK_E_SYSTEM, strerror(errno));
}

/*
 * At first the socket blocks for this one call, within a limit: a connect that
 * does not block fails at once when the daemon's queue of callers is full, and
 * no event tells when to try again. One that tries again anyway does not block.
 */
int
connection_connect(struct ddblock *d)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct timeval limit = { .tv_sec = CONNECTION_CONNECT_S };
	int flags = SOCK_STREAM | SOCK_CLOEXEC |
	    (d->blocks ? 0 : SOCK_NONBLOCK);
	int saved;
	int fd = socket(AF_UNIX, flags, 0);

	if (fd < 0)
		return DDBLOCK_E_SYSTEM;
	(void)memcpy(address.sun_path, d->path, strlen(d->path));
	/* Reading is always asked not to block (MSG_DONTWAIT), writing too. */
	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit,
	    sizeof(limit)) == 0 &&
	    connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0) {
		d->socket = fd;
		if (connection_poll_add(d, fd) == 0)
			return 0;
		d->socket = -1;
	}
	saved = errno;
	(void)close(fd);
	errno = saved;
	return DDBLOCK_E_NO_DAEMON;
}

const char *
ddblock_path(const struct ddblock *d)
{
	return d->path;
}

const char *
ddblock_default_namespace(const struct ddblock *d)
{
	return d->default_namespace;
}

const char *
ddblock_last_text(const struct ddblock *d)
{
	return d->last_text;
}

int
ddblock_socket(const struct ddblock *d)
{
	return d->socket;
}

/* Wait for room in the socket only while there is something to write. */
static void
connection_watch_out(struct ddblock *d)
{
	bool out = d->out.length > 0;
	struct epoll_event event = {
		.events = out ? EPOLLIN | EPOLLOUT : EPOLLIN,
	};

	if (d->poll < 0 || d->socket < 0 || out == d->poll_out)
		return;
	if (epoll_ctl(d->poll, EPOLL_CTL_MOD, d->socket, &event) == 0)
		d->poll_out = out;
}

int
connection_pass(struct ddblock *d, int fd, size_t at)
{
	if (d->pass_fd >= 0)
		return connection_fail(d, DDBLOCK_E_LIMIT,
		    "another process_fd is yet to be sent");
	d->pass_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	d->pass_at = at;
	return d->pass_fd >= 0 ? 0 :
	    connection_fail(d, DDBLOCK_E_SYSTEM, strerror(errno));
}

void
connection_drop_passed(struct ddblock *d)
{
	connection_close(&d->pass_fd);
}

/* A descriptor arrives with the first of the bytes that it is sent with. */
static ssize_t
connection_send_with(struct ddblock *d, size_t from)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .bytes = { 0 } };
	struct iovec part = {
		.iov_base = d->out.data + from,
		.iov_len = d->out.length - from,
	};
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t n;

	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(int));
	(void)memcpy(CMSG_DATA(&control.header), &d->pass_fd, sizeof(int));
	n = sendmsg(d->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n > 0)
		connection_close(&d->pass_fd);
	return n;
}

static ssize_t
connection_send(struct ddblock *d, size_t from)
{
	size_t to = d->out.length;

	if (d->pass_fd >= 0 && from == d->pass_at)
		return connection_send_with(d, from);
	if (d->pass_fd >= 0)
		to = d->pass_at;
	return send(d->socket, d->out.data + from, to - from,
	    MSG_DONTWAIT | MSG_NOSIGNAL);
}

void
connection_flush(struct ddblock *d)
{
	size_t sent = 0;

	while (d->socket >= 0 && sent < d->out.length) {
		ssize_t n = connection_send(d, sent);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			break;
		if (n < 0) {
			/*
			 * Reading shows the end, after the daemon's last lines.
			 */
			sent = d->out.length;
			connection_close(&d->pass_fd);
			break;
		}
		sent += (size_t)n;
	}
	buffer_consume(&d->out, sent);
	if (d->pass_fd >= 0)
		d->pass_at -= sent;
	connection_watch_out(d);
}

/* Another process may have the socket: then closing it does not take it out of
 * the set. */
void
connection_shut(struct ddblock *d)
{
	if (d->poll >= 0 && d->socket >= 0)
		(void)epoll_ctl(d->poll, EPOLL_CTL_DEL, d->socket, NULL);
	d->poll_out = false;
	connection_close(&d->socket);
	connection_close(&d->pass_fd);
	buffer_wipe(&d->in);
	buffer_wipe(&d->out);
}

int
connection_read(struct ddblock *d)
{
	ssize_t n;
	int r = buffer_reserve(&d->in, CONNECTION_READ_BYTES);

	if (r < 0)
		return r;
	do {
		n = recv(d->socket, d->in.data + d->in.length,
		    CONNECTION_READ_BYTES, MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return 1;
	if (n <= 0)
		return DDBLOCK_E_NO_DAEMON;
	d->in.length += (size_t)n;
	return 0;
}

int
connection_need_timer(struct ddblock *d)
{
	int r;

	if (d->timer >= 0)
		return 0;
	d->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (d->timer < 0)
		return connection_fail(d, DDBLOCK_E_SYSTEM, strerror(errno));
	r = connection_poll_add(d, d->timer);
	if (r < 0)
		connection_close(&d->timer);
	return r;
}

/* It cannot fail: the timer and the time are valid. */
void
connection_set_timer(struct ddblock *d)
{
	uint64_t at_ms = ddblock_next_deadline_ms(d);
	struct itimerspec spec = { .it_value = { 0, 0 } };

	if (d->timer < 0 || d->timer_ms == at_ms)
		return;
	if (at_ms != DDBLOCK_NEVER_MS)
		spec.it_value = clock_moment(at_ms);
	if (timerfd_settime(d->timer, TFD_TIMER_ABSTIME, &spec, NULL) == 0)
		d->timer_ms = at_ms;
}

int
ddblock_fd(struct ddblock *d)
{
	if (d->poll >= 0)
		return d->poll;
	d->poll = epoll_create1(EPOLL_CLOEXEC);
	if (d->poll < 0)
		return connection_fail(d, DDBLOCK_E_SYSTEM, strerror(errno));
	if (connection_poll_add(d, d->socket) < 0 ||
	    connection_poll_add(d, d->timer) < 0) {
		connection_close(&d->poll);
		return DDBLOCK_E_SYSTEM;
	}
	connection_watch_out(d);
	return d->poll;
}

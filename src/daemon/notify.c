/*
 * Notices to the service manager. sd_notify() waits while the manager's queue
 * is full, and the loop may not wait for anybody: a manager that is busy, or
 * does not read, would cost every lock of this host.
 */
#include "daemon/notify.h"

#include <errno.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int
notify_connect(void)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t length = path != NULL ? strlen(path) : 0;
	int fd;

	if (length < 2 || length >= sizeof(address.sun_path) ||
	    (path[0] != '/' && path[0] != '@'))
		return -1;
	memcpy(address.sun_path, path, length);
	if (path[0] == '@')
		address.sun_path[0] = '\0';	/* the abstract namespace */
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && connect(fd, (const struct sockaddr *)(const void *)
	    &address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
	    length)) < 0) {
		(void)close(fd);
		fd = -1;
	}
	return fd;
}

/* False: there is no room. */
static bool
notify_put(int fd, const char *text)
{
	return send(fd, text, strlen(text), MSG_NOSIGNAL) >= 0 ||
	    (errno != EAGAIN && errno != ENOBUFS);
}

void
notify_send(const char *text)
{
	const int fd = notify_connect();

	if (fd < 0)
		return;
	(void)notify_put(fd, text);
	(void)close(fd);
}

/* ---- what waits --------------------------------------------------------- */

static void
notify_on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct notify *n = arg;
	size_t sent = 0;

	(void)what;
	while (sent < n->n_waiting && notify_put(fd, n->waiting[sent]))
		free(n->waiting[sent++]);
	n->n_waiting -= sent;
	memmove(n->waiting, n->waiting + sent,
	    n->n_waiting * sizeof(n->waiting[0]));
	if (n->n_waiting > 0)
		(void)event_add(n->writable, NULL);
}

static bool
notify_can_wait(struct notify *n)
{
	if (n->writable != NULL)
		return true;
	n->fd = notify_connect();
	if (n->fd < 0)
		return false;
	n->writable = event_new(n->base, n->fd, EV_WRITE, notify_on_writable,
	    n);
	if (n->writable == NULL)
		(void)close(n->fd);
	return n->writable != NULL;
}

void
notify_tell(struct notify *n, const char *text)
{
	char *copy;

	if (!notify_can_wait(n)) {
		notify_send(text);
		return;
	}
	if (n->n_waiting == 0 && notify_put(n->fd, text))
		return;
	copy = n->n_waiting < NOTIFY_WAITING_MAX ? strdup(text) : NULL;
	if (copy == NULL)
		return;
	n->waiting[n->n_waiting++] = copy;
	(void)event_add(n->writable, NULL);
}

void
notify_done(struct notify *n)
{
	while (n->n_waiting > 0)
		free(n->waiting[--n->n_waiting]);
	if (n->writable == NULL)
		return;
	event_free(n->writable);
	(void)close(n->fd);
	n->writable = NULL;
}

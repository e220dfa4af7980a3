/*
 * Notices to the service manager. sd_notify() waits while the manager's queue
 * is full, and the loop may not wait for anybody: a manager that is busy, or
 * does not read, would cost every lock of this host.
 */
#include "daemon/notify.h"

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

void
notify_send(const char *text)
{
	const int fd = notify_connect();

	if (fd < 0)
		return;
	(void)send(fd, text, strlen(text), MSG_NOSIGNAL);
	(void)close(fd);
}

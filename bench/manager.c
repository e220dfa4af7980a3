/*
 * What a daemon needs of a service manager: a socket for its notices, and a
 * store that keeps its connections for the next process. As systemd's, but it
 * reads only when it is told to.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/buffer.h"

#define LISTEN_FDS_START 3
#define NAME_MAX_LENGTH 1	/* ours are short (descriptor_store.h) */
#define WAIT_S 30

struct manager_kept {
	int fd;
	char name[NAME_MAX_LENGTH + 1];
};

void
manager_open(struct manager *m)
{
	static unsigned serial;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct timeval limit = { .tv_sec = WAIT_S };
	socklen_t length;

	*m = (struct manager){ .kept = NULL };
	/* A name without a file: it has no length limit of a path. */
	snprintf(m->address, sizeof(m->address), "@ddblock-bench-%d-%u",
	    (int)getpid(), serial++);
	length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
	    strlen(m->address));
	memcpy(address.sun_path + 1, m->address + 1, strlen(m->address) - 1);
	m->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (m->fd < 0 || bind(m->fd, (struct sockaddr *)&address, length) != 0)
		die("%s: %s", m->address, strerror(errno));
	(void)setsockopt(m->fd, SOL_SOCKET, SO_RCVTIMEO, &limit,
	    sizeof(limit));
}

void
manager_close(struct manager *m)
{
	for (size_t i = 0; i < m->n_kept; i++)
		close(m->kept[i].fd);
	free(m->kept);
	close(m->fd);
}

static void
manager_keep(struct manager *m, int fd, const char *text)
{
	const char *name = strstr(text, "FDNAME=");

	m->kept = realloc(m->kept, (m->n_kept + 1) * sizeof(*m->kept));
	if (m->kept == NULL || name == NULL)
		die("a descriptor cannot be kept");
	m->kept[m->n_kept].fd = fd;
	snprintf(m->kept[m->n_kept].name, sizeof(m->kept[0].name), "%s",
	    name + strlen("FDNAME="));
	m->n_kept++;
}

/* One notice; false: there is none. */
static bool
manager_receive(struct manager *m, char text[BENCH_LINE_MAX], int flags)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = { .iov_base = text, .iov_len = BENCH_LINE_MAX - 1 };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t n = recvmsg(m->fd, &message, flags | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *c;
	int fd;

	if (n < 0)
		return false;
	text[n] = '\0';
	c = CMSG_FIRSTHDR(&message);
	if (c == NULL || c->cmsg_type != SCM_RIGHTS)
		return true;
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	if (strncmp(text, "FDSTORE=1", 9) == 0)
		manager_keep(m, fd, text);
	else
		close(fd);
	return true;
}

void
manager_read(struct manager *m)
{
	char text[BENCH_LINE_MAX];

	while (manager_receive(m, text, MSG_DONTWAIT))
		continue;
}

void
manager_wait_ready(struct manager *m, const char *directory)
{
	char text[BENCH_LINE_MAX] = "";

	while (strstr(text, "READY=1") == NULL) {
		if (!manager_receive(m, text, 0))
			die("ddblockd does not get ready, see %s/log",
			    directory);
	}
}

void
manager_hand_over(struct manager *m)
{
	const size_t n = m->n_kept;
	struct buffer names;
	char number[32];

	if (n == 0)
		return;
	buffer_init(&names, SIZE_MAX);
	/* Out of the way first. */
	for (size_t i = 0; i < n; i++)
		m->kept[i].fd = fcntl(m->kept[i].fd, F_DUPFD_CLOEXEC,
		    (int)(LISTEN_FDS_START + n));
	for (size_t i = 0; i < n; i++) {
		if (dup2(m->kept[i].fd, (int)(LISTEN_FDS_START + i)) < 0)
			_exit(126);
		(void)buffer_printf(&names, "%s%s", i > 0 ? ":" : "",
		    m->kept[i].name);
	}
	snprintf(number, sizeof(number), "%d", (int)getpid());
	setenv("LISTEN_PID", number, 1);
	snprintf(number, sizeof(number), "%zu", n);
	setenv("LISTEN_FDS", number, 1);
	setenv("LISTEN_FDNAMES", names.data, 1);
}

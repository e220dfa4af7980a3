/*
 * As little as a service can be that keeps its connections over a restart: it
 * sends back what it reads, and leaves each descriptor with the service
 * manager, too. Nothing is read that is not answered before the end.
 */
#include <config.h>	/* the build's */

#include "bench.h"

#include <errno.h>
#include <event2/event.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#define ECHO_KEPT "kept"	/* descriptors that the manager has, too */

static void
echo_on_bytes(evutil_socket_t fd, short what, void *event)
{
	char bytes[4096];
	ssize_t n = read(fd, bytes, sizeof(bytes));

	(void)what;
	if (n < 0 && errno == EAGAIN)
		return;
	if (n > 0 && write(fd, bytes, (size_t)n) == n)
		return;
	event_free(event);
	(void)shutdown(fd, SHUT_RDWR);	/* the manager's is over, too */
	(void)close(fd);
}

static void
echo_adopt(struct event_base *base, int fd)
{
	struct event *event = event_new(base, fd, EV_READ | EV_PERSIST,
	    echo_on_bytes, event_self_cbarg());

	if (event == NULL || event_add(event, NULL) != 0)
		die("there is no memory");
}

static void
echo_on_connection(evutil_socket_t listening, short what, void *base)
{
	int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)what;
	if (fd < 0)
		return;
	/* The manager's queue is short, and this has nothing better to do. */
	while (sd_pid_notify_with_fds(0, 0, "FDSTORE=1\nFDPOLL=0\n"
	    "FDNAME=" ECHO_KEPT, &fd, 1) == -EAGAIN)
		(void)sched_yield();
	echo_adopt(base, fd);
}

static void
echo_on_end(evutil_socket_t number, short what, void *base)
{
	(void)number;
	(void)what;
	event_base_loopbreak(base);
}

void
echo_service_run(void)
{
	struct event_base *base = event_base_new();
	struct event *end = base == NULL ? NULL :
	    evsignal_new(base, SIGTERM, echo_on_end, base);
	char **names = NULL;
	int n = sd_listen_fds_with_names(1, &names);

	if (end == NULL || event_add(end, NULL) != 0 || n <= 0)
		die("this is no service of a socket");
	for (int i = 0; i < n; i++) {
		const int fd = SD_LISTEN_FDS_START + i;
		struct event *listening;

		if (evutil_make_socket_nonblocking(fd) != 0)
			die("fcntl: %s", strerror(errno));
		if (strcmp(names[i], ECHO_KEPT) == 0) {
			echo_adopt(base, fd);
			continue;
		}
		listening = event_new(base, fd, EV_READ | EV_PERSIST,
		    echo_on_connection, base);
		if (listening == NULL || event_add(listening, NULL) != 0)
			die("there is no memory");
	}
	(void)sd_notify(0, "READY=1");
	event_base_dispatch(base);
	_exit(0);
}

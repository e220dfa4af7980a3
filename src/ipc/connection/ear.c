/*
 * Which sockets of a user have something for us.
 */
#include "ipc/connection/ear.h"

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/error.h"

struct ear {
	int fd;
	ear_heard_fn heard;
	struct event event;
};

static void
ear_on_news(evutil_socket_t fd, short what, void *arg)
{
	struct ear *e = arg;
	struct epoll_event events[EAR_HEARS];
	int n = epoll_wait(fd, events, EAR_HEARS, 0);

	(void)what;
	for (int i = 0; i < n; i++)
		e->heard(events[i].data.ptr, events[i].events);
}

struct ear *
ear_new(struct event_base *base, ear_heard_fn heard)
{
	struct ear *e = calloc(1, sizeof(*e));

	if (e == NULL)
		return NULL;
	e->heard = heard;
	e->fd = epoll_create1(EPOLL_CLOEXEC);
	if (e->fd >= 0 && event_assign(&e->event, base, e->fd,
	    EV_READ | EV_PERSIST, ear_on_news, e) == 0 &&
	    event_add(&e->event, NULL) == 0)
		return e;
	if (e->fd >= 0)
		(void)close(e->fd);
	free(e);
	return NULL;
}

void
ear_free(struct ear *e)
{
	if (e == NULL)
		return;
	(void)event_del(&e->event);
	(void)close(e->fd);
	free(e);
}

int
ear_set(struct ear *e, int fd, uint32_t before, uint32_t events, void *socket)
{
	struct epoll_event event = { .events = events, .data.ptr = socket };
	int how = events == 0 ? EPOLL_CTL_DEL :
	    before == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;

	if (before == events || epoll_ctl(e->fd, how, fd, &event) == 0)
		return 0;
	return DDBLOCK_E_NOMEM;
}

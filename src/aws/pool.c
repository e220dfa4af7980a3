/*
 * A curl multi handle inside the event loop (the "multi socket" interface):
 * libcurl says which descriptors and which time it waits for, the loop tells
 * it what happened, and all work is done from the loop.
 */
#include "aws/pool.h"

#include <assert.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/time.h>

#include "common/clock.h"
#include "common/error.h"

/* One descriptor that libcurl waits for. */
struct pool_socket {
	struct pool *pool;
	struct event event;
	struct pool_socket *next, *previous;
};

struct pool {
	struct event_base *base;
	CURLM *multi;
	struct event *timer;
	struct pool_socket *sockets;
	pool_finished_fn finished;
	void *arg;
};

static void
pool_drain(struct pool *p)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(p->multi, &left)) != NULL) {
		CURL *easy = message->easy_handle;
		CURLcode result = message->data.result;

		if (message->msg != CURLMSG_DONE)
			continue;
		/* @message is void from here on. */
		(void)curl_multi_remove_handle(p->multi, easy);
		p->finished(p->arg, easy, result);
	}
}

static void
pool_act(struct pool *p, curl_socket_t fd, int what)
{
	int running;

	(void)curl_multi_socket_action(p->multi, fd, what, &running);
	pool_drain(p);
}

static void
pool_on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	pool_act(arg, CURL_SOCKET_TIMEOUT, 0);
}

static void
pool_on_socket(evutil_socket_t fd, short what, void *arg)
{
	struct pool_socket *s = arg;

	pool_act(s->pool, fd, ((what & EV_READ) != 0 ? CURL_CSELECT_IN : 0) |
	    ((what & EV_WRITE) != 0 ? CURL_CSELECT_OUT : 0));
}

/* libcurl must not be called from here, so 0 ms go through the loop too. */
static int
pool_set_timer(CURLM *multi, long timeout_ms, void *arg)
{
	struct pool *p = arg;
	struct timeval t;

	(void)multi;
	if (timeout_ms < 0)
		return event_del(p->timer);
	t = clock_interval((uint64_t)timeout_ms);
	return event_add(p->timer, &t);
}

static void
pool_forget_socket(struct pool_socket *s)
{
	if (s->next != NULL)
		s->next->previous = s->previous;
	if (s->previous != NULL)
		s->previous->next = s->next;
	else
		s->pool->sockets = s->next;
	(void)event_del(&s->event);
	free(s);
}

static struct pool_socket *
pool_learn_socket(struct pool *p, curl_socket_t fd)
{
	struct pool_socket *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->pool = p;
	s->next = p->sockets;
	if (s->next != NULL)
		s->next->previous = s;
	p->sockets = s;
	(void)curl_multi_assign(p->multi, fd, s);
	return s;
}

/* A failure here makes libcurl fail what is under way: the caller repeats. */
static int
pool_set_socket(CURL *easy, curl_socket_t fd, int what, void *arg,
    void *socket_arg)
{
	struct pool *p = arg;
	struct pool_socket *s = socket_arg;
	short events = EV_PERSIST;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (s != NULL)
			pool_forget_socket(s);
		return 0;
	}
	if (s != NULL)
		(void)event_del(&s->event);
	else if ((s = pool_learn_socket(p, fd)) == NULL)
		return -1;
	if ((what & CURL_POLL_IN) != 0)
		events = (short)(events | EV_READ);
	if ((what & CURL_POLL_OUT) != 0)
		events = (short)(events | EV_WRITE);
	(void)event_assign(&s->event, p->base, fd, events, pool_on_socket, s);
	return event_add(&s->event, NULL);
}

int
pool_new(struct event_base *base, uint32_t connections_max,
    pool_finished_fn finished, void *arg, struct pool **ret)
{
	struct pool *p = calloc(1, sizeof(*p));

	assert(connections_max > 0);
	if (p == NULL)
		return DDBLOCK_E_NOMEM;
	p->base = base;
	p->finished = finished;
	p->arg = arg;
	p->timer = evtimer_new(base, pool_on_timer, p);
	p->multi = curl_multi_init();
	if (p->timer == NULL || p->multi == NULL) {
		pool_free(p);
		return DDBLOCK_E_NOMEM;
	}
	(void)curl_multi_setopt(p->multi, CURLMOPT_SOCKETFUNCTION,
	    pool_set_socket);
	(void)curl_multi_setopt(p->multi, CURLMOPT_SOCKETDATA, p);
	(void)curl_multi_setopt(p->multi, CURLMOPT_TIMERFUNCTION,
	    pool_set_timer);
	(void)curl_multi_setopt(p->multi, CURLMOPT_TIMERDATA, p);
	(void)curl_multi_setopt(p->multi, CURLMOPT_MAXCONNECTS,
	    (long)connections_max);
	(void)curl_multi_setopt(p->multi, CURLMOPT_PIPELINING,
	    (long)CURLPIPE_NOTHING);
	*ret = p;
	return 0;
}

void
pool_free(struct pool *p)
{
	if (p == NULL)
		return;
	/* Closing connections calls back, so the events go last. */
	if (p->multi != NULL)
		(void)curl_multi_cleanup(p->multi);
	while (p->sockets != NULL)
		pool_forget_socket(p->sockets);
	if (p->timer != NULL)
		event_free(p->timer);
	free(p);
}

int
pool_start(struct pool *p, CURL *easy)
{
	return curl_multi_add_handle(p->multi, easy) == CURLM_OK ?
	    0 : DDBLOCK_E_NOMEM;
}

void
pool_stop(struct pool *p, CURL *easy)
{
	(void)curl_multi_remove_handle(p->multi, easy);
}

/*
 * A curl multi handle inside the event loop (the "multi socket" interface):
 * libcurl says which descriptors and which time it waits for, the loop tells
 * it what happened, and all work is done from the loop.
 *
 * What has come for it is worked on once in each turn of the loop, for a while
 * (POOL_TURN_NS), and by turns of users: an answer costs more than to send its
 * request did, so a user may have answers there for many such turns.
 */
#include "aws/pool.h"

#include <assert.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/fair_queue.h"

/*
 * One descriptor that libcurl waits for, or will again. libcurl takes its hand
 * off a connection after each answer and comes back with the next request; to
 * leave the event where it is saves both calls to the kernel. That needs to
 * know when such a descriptor is closed, because its number may be reused then,
 * so it is done only for those that we open, and that libcurl closes through
 * us: all whose connection was made, which are those that it wants to read
 * from. (Those that lost the race to be connected it closes by itself; it waits
 * to write to them.)
 */
struct pool_socket {
	struct fair_item turn;	/* first: this is one, while @ready */
	struct pool *pool;
	curl_socket_t fd;
	struct event event;
	int what;		/* CURL_POLL_* of the event; REMOVE: none */
	int ready;		/* CURL_CSELECT_*, to be told; 0: nothing */
	uint32_t user;		/* who waits for it, or did last */
	bool ours;		/* opened, and in the end closed, here */
	bool idle;		/* the event stays, nobody waits for it */
};

#define POOL_TURN_NS 200000	/* some answers */
#define POOL_SOCKETS_MORE 64

struct pool {
	struct event_base *base;
	CURLM *multi;
	struct event *timer;
	struct pool_socket **sockets;	/* by descriptor; NULL: none */
	size_t n_sockets;
	pool_finished_fn finished;
	pool_user_fn user;
	void *arg;
	struct fair_queue ready;	/* sockets, by user */
	struct event *work;
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
pool_unwatch(struct pool_socket *s)
{
	if (s->what != CURL_POLL_REMOVE)
		(void)event_del(&s->event);
	s->what = CURL_POLL_REMOVE;
}

/* What is left is for the next turn, when the loop has looked at all others: an
 * event made active now would come before them. */
static void
pool_on_work(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval next_turn;
	struct pool *p = arg;
	uint64_t end_ns = clock_monotonic_ns() + POOL_TURN_NS;
	struct pool_socket *s;

	(void)fd;
	(void)what;
	do {
		int ready;

		s = (struct pool_socket *)(void *)fair_queue_take(&p->ready);
		if (s == NULL)
			return;
		ready = s->ready;
		s->ready = 0;
		if (s->idle)	/* closed from the other end; libcurl will
				 * see it */
			pool_unwatch(s);
		else
			pool_act(p, s->fd, ready);
	} while (clock_monotonic_ns() < end_ns);
	if (!fair_queue_is_empty(&p->ready) &&
	    event_add(p->work, &next_turn) < 0)
		event_active(p->work, EV_TIMEOUT, 0);
}

static void
pool_on_socket(evutil_socket_t fd, short what, void *arg)
{
	struct pool_socket *s = arg;
	struct pool *p = s->pool;

	(void)fd;
	if (s->ready == 0) {
		if (fair_queue_is_empty(&p->ready))
			event_active(p->work, EV_TIMEOUT, 0);
		fair_queue_add(&p->ready, &s->turn, s->user, 1);
	}
	if ((what & EV_READ) != 0)
		s->ready |= CURL_CSELECT_IN;
	if ((what & EV_WRITE) != 0)
		s->ready |= CURL_CSELECT_OUT;
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
	s->pool->sockets[s->fd] = NULL;
	if (s->ready != 0)
		fair_queue_remove(&s->pool->ready, &s->turn);
	pool_unwatch(s);
	free(s);
}

static struct pool_socket *
pool_find_socket(struct pool *p, curl_socket_t fd)
{
	return (size_t)fd < p->n_sockets ? p->sockets[fd] : NULL;
}

static bool
pool_has_place(struct pool *p, curl_socket_t fd)
{
	size_t n = (size_t)fd + POOL_SOCKETS_MORE;
	struct pool_socket **sockets;

	if ((size_t)fd < p->n_sockets)
		return true;
	sockets = reallocarray(p->sockets, n, sizeof(struct pool_socket *));
	if (sockets == NULL)
		return false;
	for (size_t i = p->n_sockets; i < n; i++)
		sockets[i] = NULL;
	p->sockets = sockets;
	p->n_sockets = n;
	return true;
}

static struct pool_socket *
pool_learn_socket(struct pool *p, curl_socket_t fd, bool ours)
{
	struct pool_socket *s;

	if (!pool_has_place(p, fd))
		return NULL;
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return NULL;
	s->pool = p;
	s->fd = fd;
	s->what = CURL_POLL_REMOVE;
	s->ours = ours;
	p->sockets[fd] = s;
	return s;
}

static int
pool_watch(struct pool_socket *s, int what)
{
	short events = EV_PERSIST;

	s->idle = false;
	if (s->what == what)
		return 0;
	pool_unwatch(s);
	if ((what & CURL_POLL_IN) != 0)
		events = (short)(events | EV_READ);
	if ((what & CURL_POLL_OUT) != 0)
		events = (short)(events | EV_WRITE);
	(void)event_assign(&s->event, s->pool->base, s->fd, events,
	    pool_on_socket, s);
	if (event_add(&s->event, NULL) != 0)
		return -1;
	s->what = what;
	return 0;
}

/* A failure here makes libcurl fail what is under way: the caller repeats. */
static int
pool_set_socket(CURL *easy, curl_socket_t fd, int what, void *arg,
    void *socket_arg)
{
	struct pool *p = arg;
	struct pool_socket *s = socket_arg;

	if (s == NULL)
		s = pool_find_socket(p, fd);
	if (what != CURL_POLL_REMOVE) {
		if (s == NULL)
			s = pool_learn_socket(p, fd, false);
		if (s == NULL)
			return -1;
		(void)curl_multi_assign(p->multi, fd, s);
		s->user = p->user == NULL ? 0 : p->user(easy);
		return pool_watch(s, what);
	}
	if (s == NULL)
		return 0;
	if (!s->ours)
		pool_forget_socket(s);
	else if (s->what == CURL_POLL_IN)
		s->idle = true;
	else
		pool_unwatch(s);
	return 0;
}

/* Closed without us, and opened: libcurl may think that it still waits. */
static int
pool_watch_again(struct pool_socket *s)
{
	int what = s->idle ? CURL_POLL_REMOVE : s->what;

	pool_unwatch(s);
	s->ours = true;
	return what == CURL_POLL_REMOVE ? 0 : pool_watch(s, what);
}

static curl_socket_t
pool_open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *a)
{
	struct pool *p = arg;
	struct pool_socket *s;
	int fd = socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);

	(void)purpose;
	if (fd < 0)
		return CURL_SOCKET_BAD;
	s = pool_find_socket(p, fd);
	if (s != NULL ? pool_watch_again(s) == 0 :
	    pool_learn_socket(p, fd, true) != NULL)
		return fd;
	(void)close(fd);
	return CURL_SOCKET_BAD;
}

static int
pool_close_socket(void *arg, curl_socket_t fd)
{
	struct pool_socket *s = pool_find_socket(arg, fd);

	if (s != NULL)
		pool_forget_socket(s);
	return close(fd);
}

int
pool_new(struct event_base *base, uint32_t connections_max,
    pool_finished_fn finished, pool_user_fn user, void *arg,
    struct pool **ret)
{
	struct pool *p = calloc(1, sizeof(*p));

	assert(connections_max > 0);
	if (p == NULL)
		return DDBLOCK_E_NOMEM;
	p->base = base;
	p->finished = finished;
	p->user = user;
	p->arg = arg;
	p->timer = evtimer_new(base, pool_on_timer, p);
	p->work = evtimer_new(base, pool_on_work, p);
	fair_queue_init(&p->ready, 1);
	p->multi = curl_multi_init();
	if (p->timer == NULL || p->work == NULL || p->multi == NULL) {
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
	for (size_t i = 0; i < p->n_sockets; i++) {
		if (p->sockets[i] != NULL)
			pool_forget_socket(p->sockets[i]);
	}
	free(p->sockets);
	if (p->timer != NULL)
		event_free(p->timer);
	if (p->work != NULL)
		event_free(p->work);
	free(p);
}

int
pool_start(struct pool *p, CURL *easy)
{
	(void)curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION,
	    pool_open_socket);
	(void)curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, p);
	(void)curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION,
	    pool_close_socket);
	(void)curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, p);
	if (curl_multi_add_handle(p->multi, easy) != CURLM_OK)
		return DDBLOCK_E_NOMEM;
	/* It is due at once. The timer that libcurl has set for that would run
	 * only after the loop has asked for events again. */
	event_active(p->timer, EV_TIMEOUT, 0);
	return 0;
}

void
pool_stop(struct pool *p, CURL *easy)
{
	(void)curl_multi_remove_handle(p->multi, easy);
}

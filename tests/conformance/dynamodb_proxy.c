/*
 * Stands between a store and its endpoint, and does what networks do.
 */
#include "config.h"

#include "dynamodb_proxy.h"

#include <arpa/inet.h>
#include <check.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"
#include "dynamodb_place.h"

#define PROXY_LINKS_MAX 1024
#define PROXY_ANSWER_MAX 65536

const enum proxy_fault proxy_losses[PROXY_LOSSES] = {
	PROXY_LOSE_REQUEST, PROXY_LOSE_ANSWER, PROXY_GARBLE_ANSWER,
	PROXY_HIDE_ANSWER, PROXY_FAIL_AFTER, PROXY_THROTTLE, PROXY_HOLD,
};

/* A connection of the store and its own one to the endpoint. */
struct proxy_link {
	struct proxy *proxy;
	struct bufferevent *near;
	struct bufferevent *far;
	enum proxy_fault fault;	/* of the request that is under way */
	bool held;
};

struct proxy {
	struct event_base *base;
	struct evconnlistener *listener;
	struct sockaddr_in far;
	char endpoint[64];
	enum proxy_fault fault;
	unsigned skips;		/* requests that pass before them */
	unsigned faults;	/* that are left */
	unsigned requests;
	bool deny_tables;
	unsigned late;		/* let go, and not answered yet */
	struct proxy_link links[PROXY_LINKS_MAX];
	size_t n_links;		/* ever */
};

/* The length of the whole message in @b; 0: it is not whole yet. */
static size_t
proxy_whole(struct evbuffer *b)
{
	struct evbuffer_ptr end = evbuffer_search(b, "\r\n\r\n", 4, NULL);
	size_t length;
	char *head;
	char *at;

	if (end.pos < 0)
		return 0;
	length = (size_t)end.pos + 4;
	head = malloc(length + 1);
	ck_assert_ptr_nonnull(head);
	ck_assert_int_eq(evbuffer_copyout(b, head, length), (int)length);
	head[length] = '\0';
	at = strcasestr(head, "\r\nContent-Length:");
	ck_assert_ptr_nonnull(at);
	length += strtoul(at + strlen("\r\nContent-Length:"), NULL, 10);
	free(head);
	return evbuffer_get_length(b) >= length ? length : 0;
}

static bool
proxy_contains(struct evbuffer *b, const char *text)
{
	return evbuffer_search(b, text, strlen(text), NULL).pos >= 0;
}

static void
proxy_close(struct proxy_link *l)
{
	if (l->near != NULL)
		bufferevent_free(l->near);
	if (l->far != NULL)
		bufferevent_free(l->far);
	l->near = NULL;
	l->far = NULL;
}

__attribute__((format(printf, 2, 3)))
static void
proxy_answer(struct proxy_link *l, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	ck_assert_int_gt(evbuffer_add_vprintf(bufferevent_get_output(l->near),
	    format, arguments), 0);
	va_end(arguments);
}

static void
proxy_error(struct proxy_link *l, const char *status, const char *name)
{
	char body[128];

	(void)snprintf(body, sizeof(body), "{\"__type\":\"com.amazonaws."
	    "dynamodb.v20120810#%s\",\"message\":\"so be it\"}", name);
	proxy_answer(l, "HTTP/1.1 %s\r\nContent-Type: application/x-amz-json-1"
	    ".0\r\nContent-Length: %zu\r\n\r\n%s", status, strlen(body), body);
}

/* The endpoint has answered. */
static void
proxy_on_far(struct bufferevent *far, void *arg)
{
	struct proxy_link *l = arg;
	struct evbuffer *in = bufferevent_get_input(far);
	size_t length = proxy_whole(in);
	enum proxy_fault fault = l->fault;

	if (length == 0)
		return;
	l->fault = PROXY_PASS;
	if (fault == PROXY_PASS || l->near == NULL) {
		if (l->held) {
			l->held = false;
			l->proxy->late--;
		}
		if (l->near != NULL)
			(void)bufferevent_write_buffer(l->near, in);
		else
			(void)evbuffer_drain(in, length);
		return;
	}
	(void)evbuffer_drain(in, length);
	if (fault == PROXY_GARBLE_ANSWER)
		proxy_answer(l, "%s", "what?\r\n\r\n");
	else if (fault == PROXY_FAIL_AFTER)
		proxy_error(l, "500 Oops", "InternalServerError");
	else if (fault == PROXY_STRIP_ITEM)
		proxy_error(l, "400 Bad Request",
		    "ConditionalCheckFailedException");
	else if (fault == PROXY_LOSE_ANSWER)
		proxy_close(l);
}

static bool
proxy_is_about_table(struct evbuffer *in)
{
	return proxy_contains(in, ".DescribeTable") ||
	    proxy_contains(in, "TimeToLive") ||
	    proxy_contains(in, ".CreateTable");
}

/* The store has sent a whole request. */
static void
proxy_request(struct proxy_link *l, struct evbuffer *in)
{
	struct proxy *p = l->proxy;
	enum proxy_fault fault = PROXY_PASS;

	if (proxy_is_about_table(in)) {
		if (p->deny_tables) {
			(void)evbuffer_drain(in, evbuffer_get_length(in));
			proxy_error(l, "400 Bad Request",
			    "AccessDeniedException");
			return;
		}
	} else {
		p->requests++;
		if (p->skips > 0) {
			p->skips--;
		} else if (p->faults > 0) {
			p->faults--;
			fault = p->fault;
		}
	}
	l->fault = fault;
	switch (fault) {
	case PROXY_LOSE_REQUEST:
		proxy_close(l);
		break;
	case PROXY_THROTTLE:
		(void)evbuffer_drain(in, evbuffer_get_length(in));
		proxy_error(l, "400 Bad Request",
		    "ProvisionedThroughputExceededException");
		break;
	case PROXY_HOLD:
		l->held = true;
		break;
	default:
		(void)bufferevent_write_buffer(l->far, in);
		break;
	}
}

static void
proxy_on_near(struct bufferevent *near, void *arg)
{
	struct proxy_link *l = arg;
	struct evbuffer *in = bufferevent_get_input(near);

	if (!l->held && proxy_whole(in) > 0)
		proxy_request(l, in);
}

static void
proxy_on_near_end(struct bufferevent *near, short what, void *arg)
{
	struct proxy_link *l = arg;

	if (!(what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)))
		return;
	if (l->held) {
		/* What it sent is on its way all the same, unless it was let
		 * go before this was seen. */
		(void)bufferevent_write_buffer(l->far,
		    bufferevent_get_input(near));
		if (l->fault == PROXY_HOLD)
			(void)bufferevent_disable(l->far, EV_WRITE);
		bufferevent_free(near);
		l->near = NULL;
		return;
	}
	proxy_close(l);
}

static void
proxy_on_far_end(struct bufferevent *far, short what, void *arg)
{
	(void)far;
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
		proxy_close(arg);
}

static void
proxy_on_accept(struct evconnlistener *listener, evutil_socket_t fd,
    struct sockaddr *address, int length, void *arg)
{
	struct proxy *p = arg;
	struct proxy_link *l = &p->links[p->n_links++];

	(void)listener;
	(void)address;
	(void)length;
	ck_assert_uint_le(p->n_links, PROXY_LINKS_MAX);
	l->proxy = p;
	l->near = bufferevent_socket_new(p->base, fd, BEV_OPT_CLOSE_ON_FREE);
	l->far = bufferevent_socket_new(p->base, -1, BEV_OPT_CLOSE_ON_FREE);
	ck_assert(l->near != NULL && l->far != NULL);
	bufferevent_setcb(l->near, proxy_on_near, NULL, proxy_on_near_end, l);
	bufferevent_setcb(l->far, proxy_on_far, NULL, proxy_on_far_end, l);
	ck_assert_int_eq(bufferevent_socket_connect(l->far,
	    (struct sockaddr *)(void *)&p->far, sizeof(p->far)), 0);
	ck_assert_int_eq(bufferevent_enable(l->near, EV_READ | EV_WRITE), 0);
	ck_assert_int_eq(bufferevent_enable(l->far, EV_READ | EV_WRITE), 0);
}

struct proxy *
proxy_new(struct event_base *base, const char *endpoint)
{
	struct proxy *p = calloc(1, sizeof(*p));
	struct sockaddr_in any = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t size = sizeof(any);
	int length = (int)sizeof(p->far);

	ck_assert_ptr_nonnull(p);
	p->base = base;
	ck_assert_ptr_nonnull(endpoint);
	ck_assert_int_eq(evutil_parse_sockaddr_port(
	    endpoint + strlen("http://"),
	    (struct sockaddr *)(void *)&p->far, &length), 0);
	p->listener = evconnlistener_new_bind(base, proxy_on_accept, p,
	    LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, -1,
	    (struct sockaddr *)(void *)&any, sizeof(any));
	ck_assert_ptr_nonnull(p->listener);
	ck_assert_int_eq(getsockname(evconnlistener_get_fd(p->listener),
	    (struct sockaddr *)(void *)&any, &size), 0);
	(void)snprintf(p->endpoint, sizeof(p->endpoint),
	    "http://127.0.0.1:%u", ntohs(any.sin_port));
	return p;
}

void
proxy_free(struct proxy *p)
{
	for (size_t i = 0; i < p->n_links; i++)
		proxy_close(&p->links[i]);
	evconnlistener_free(p->listener);
	free(p);
}

const char *
proxy_endpoint(const struct proxy *p)
{
	return p->endpoint;
}

void
proxy_next(struct proxy *p, enum proxy_fault fault, unsigned n)
{
	p->fault = fault;
	p->faults = n;
}

void
proxy_skip(struct proxy *p, unsigned n)
{
	p->skips = n;
}

void
proxy_deny_tables(struct proxy *p)
{
	p->deny_tables = true;
}

unsigned
proxy_requests(const struct proxy *p)
{
	return p->requests;
}

void
proxy_let_go(struct proxy *p)
{
	for (size_t i = 0; i < p->n_links; i++) {
		struct proxy_link *l = &p->links[i];

		if (!l->held)
			continue;
		p->late++;
		l->fault = PROXY_PASS;
		if (l->near != NULL)
			(void)bufferevent_write_buffer(l->far,
			    bufferevent_get_input(l->near));
		(void)bufferevent_enable(l->far, EV_WRITE);
	}
	while (p->late > 0)
		ck_assert_int_eq(event_base_loop(p->base, EVLOOP_ONCE), 0);
}

struct store *
proxy_open_store(struct event_base *base, const char *table,
    store_outcome_fn outcome, void *arg, struct proxy **ret)
{
	struct place_answer a;
	struct store *store;

	*ret = proxy_new(base, getenv("AWS_ENDPOINT_URL_DYNAMODB"));
	store = place_open(base, proxy_endpoint(*ret), table, NULL, outcome,
	    arg);
	a = place_ask_table(base, store, true);
	ck_assert_msg(a.code == 0, "%s", a.text);
	return store;
}

bool
proxy_hangs(enum proxy_fault fault)
{
	return fault == PROXY_HOLD || fault == PROXY_HIDE_ANSWER;
}

bool
proxy_lose(struct proxy *p, enum proxy_fault fault, struct operation *o,
    uint64_t time_ms, struct seen **ret)
{
	unsigned before = proxy_requests(p);
	struct seen *s;

	proxy_next(p, fault, 1);
	o->deadline_ms = o->submitted_ms + time_ms;
	s = case_do(o);
	*ret = s;
	ck_assert_uint_ge(proxy_requests(p), before + 1);
	if (s->kind == OUTCOME_DONE &&
	    s->unanswered == (fault != PROXY_THROTTLE)) {
		ck_assert_uint_ge(proxy_requests(p), before + 2);
		return true;
	}
	proxy_let_go(p);
	return false;
}

/*
 * Stands between a store and its endpoint, and does what networks do.
 *
 * It is the small server of the tests, which sends each request on by itself
 * and waits for the answer: nothing here takes effect behind the loop's back.
 */
#include "config.h"

#include "dynamodb_proxy.h"

#include <arpa/inet.h>
#include <check.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "conformance.h"
#include "dynamodb_fixture.h"
#include "http_stub.h"
#include "store/store_dynamodb.h"

#define PROXY_HELD_MAX 1024

const enum proxy_fault proxy_losses[PROXY_LOSSES] = {
	PROXY_LOSE_REQUEST, PROXY_LOSE_ANSWER, PROXY_GARBLE_ANSWER,
	PROXY_HIDE_ANSWER, PROXY_FAIL_AFTER, PROXY_THROTTLE, PROXY_HOLD,
};

/* A request that is held. */
struct proxy_held {
	struct bufferevent *near;	/* NULL: its connection is gone */
	struct evbuffer *bytes;
};

static struct proxy {
	struct stub stub;
	struct sockaddr_in far;
	char endpoint[64];
	enum proxy_fault fault;
	unsigned skips;		/* requests that pass before them */
	unsigned faults;	/* that are left */
	unsigned requests;
	bool deny_tables;
	struct proxy_held held[PROXY_HELD_MAX];
	size_t n_held;
} proxy;

/* Apply it: all of the endpoint's answer is in @ret. */
static void
proxy_forward(const char *bytes, size_t length, struct evbuffer *ret)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t left = 0;
	char line[4096];
	FILE *far;

	ck_assert_int_eq(connect(fd, (struct sockaddr *)&proxy.far,
	    sizeof(proxy.far)), 0);
	far = fdopen(fd, "r+");
	ck_assert_ptr_nonnull(far);
	ck_assert_uint_eq(fwrite(bytes, 1, length, far), length);
	ck_assert_int_eq(fflush(far), 0);
	do {
		ck_assert_ptr_nonnull(fgets(line, sizeof(line), far));
		if (strncasecmp(line, "Content-Length:", 15) == 0)
			left = strtoul(line + 15, NULL, 10);
		ck_assert_int_eq(evbuffer_add(ret, line, strlen(line)), 0);
	} while (strcmp(line, "\r\n") != 0);
	while (left > 0) {
		size_t n = fread(line, 1, left < sizeof(line) ? left :
		    sizeof(line), far);

		ck_assert_uint_gt(n, 0);
		ck_assert_int_eq(evbuffer_add(ret, line, n), 0);
		left -= n;
	}
	(void)fclose(far);
}

static void
proxy_error(struct evbuffer *out, const char *status, const char *name)
{
	char body[128];

	(void)snprintf(body, sizeof(body), "{\"__type\":\"com.amazonaws."
	    "dynamodb.v20120810#%s\",\"message\":\"so it is\"}", name);
	ck_assert_int_gt(evbuffer_add_printf(out, "HTTP/1.1 %s\r\n"
	    "Content-Type: application/x-amz-json-1.0\r\n"
	    "Content-Length: %zu\r\n\r\n%s", status, strlen(body), body), 0);
}

static enum proxy_fault
proxy_choose(void)
{
	proxy.requests++;
	if (proxy.skips > 0) {
		proxy.skips--;
		return PROXY_PASS;
	}
	if (proxy.faults == 0)
		return PROXY_PASS;
	proxy.faults--;
	return proxy.fault;
}

static void
proxy_hold(struct bufferevent *near, const char *bytes,
    size_t length)
{
	struct proxy_held *h = &proxy.held[proxy.n_held++];

	ck_assert_uint_le(proxy.n_held, PROXY_HELD_MAX);
	h->near = near;
	h->bytes = evbuffer_new();
	ck_assert_ptr_nonnull(h->bytes);
	ck_assert_int_eq(evbuffer_add(h->bytes, bytes, length), 0);
}

/* A request that took effect, and what becomes of its answer. True: the
 * connection is gone. */
static bool
proxy_apply(struct bufferevent *near,
    const struct stub_request *r, enum proxy_fault fault)
{
	struct evbuffer *out = bufferevent_get_output(near);
	struct evbuffer *answer = evbuffer_new();

	ck_assert_ptr_nonnull(answer);
	proxy_forward(r->bytes, r->length, answer);
	if (fault == PROXY_PASS)
		(void)evbuffer_add_buffer(out, answer);
	else if (fault == PROXY_GARBLE_ANSWER)
		(void)evbuffer_add_printf(out, "what?\r\n\r\n");
	else if (fault == PROXY_FAIL_AFTER)
		proxy_error(out, "500 Oops", "InternalServerError");
	else if (fault == PROXY_STRIP_ITEM)
		proxy_error(out, "400 Bad Request",
		    "ConditionalCheckFailedException");
	else if (fault == PROXY_LOSE_ANSWER)
		stub_close(&proxy.stub, near);
	evbuffer_free(answer);
	return fault == PROXY_LOSE_ANSWER;
}

static bool
proxy_is_about_table(const struct stub_request *r)
{
	size_t rest = r->length - (size_t)(r->operation - r->bytes);
	const char *end = memchr(r->operation, '\r', rest);
	size_t length = end == NULL ? rest : (size_t)(end - r->operation);

	return memmem(r->operation, length, "DescribeT", 9) != NULL ||
	    memmem(r->operation, length, "TimeToLive", 10) != NULL ||
	    memmem(r->operation, length, "CreateTable", 11) != NULL;
}

/* The store has sent a whole request. */
static bool
proxy_on_request(struct stub *stub, struct bufferevent *near,
    const struct stub_request *r)
{
	struct evbuffer *out = bufferevent_get_output(near);
	bool table = proxy_is_about_table(r);
	enum proxy_fault fault = table ? PROXY_PASS : proxy_choose();

	if (table && proxy.deny_tables) {
		proxy_error(out, "400 Bad Request", "AccessDeniedException");
	} else if (fault == PROXY_THROTTLE) {
		proxy_error(out, "400 Bad Request",
		    "ProvisionedThroughputExceededException");
	} else if (fault == PROXY_HOLD) {
		proxy_hold(near, r->bytes, r->length);
	} else if (fault == PROXY_LOSE_REQUEST) {
		stub_close(stub, near);
		return true;
	} else {
		return proxy_apply(near, r, fault);
	}
	return false;
}

/* What it sent is on its way all the same. */
static void
proxy_on_closed(struct stub *stub, struct bufferevent *near)
{
	(void)stub;
	for (size_t i = 0; i < proxy.n_held; i++) {
		if (proxy.held[i].near == near)
			proxy.held[i].near = NULL;
	}
}

static void
proxy_listen(struct event_base *base)
{
	stub_init(&proxy.stub, base);
	proxy.stub.obey = proxy_on_request;
	proxy.stub.closed = proxy_on_closed;
	(void)snprintf(proxy.endpoint, sizeof(proxy.endpoint),
	    "http://127.0.0.1:%u", proxy.stub.port);
}

void
proxy_leave(void)
{
	struct event_base *base = proxy.stub.base;

	stub_done(&proxy.stub);
	proxy_listen(base);	/* elsewhere */
}

void
proxy_next(enum proxy_fault fault, unsigned n, unsigned skips)
{
	proxy.fault = fault;
	proxy.faults = n;
	proxy.skips = skips;
}

void
proxy_deny_tables(void)
{
	proxy.deny_tables = true;
}

unsigned
proxy_requests(void)
{
	return proxy.requests;
}

void
proxy_let_go(void)
{
	for (size_t i = 0; i < proxy.n_held; i++) {
		struct proxy_held *h = &proxy.held[i];
		struct evbuffer *answer = evbuffer_new();

		ck_assert_ptr_nonnull(answer);
		proxy_forward((const char *)evbuffer_pullup(h->bytes, -1),
		    evbuffer_get_length(h->bytes), answer);
		if (h->near != NULL)
			(void)evbuffer_add_buffer(
			    bufferevent_get_output(h->near), answer);
		evbuffer_free(answer);
		evbuffer_free(h->bytes);
	}
	proxy.n_held = 0;
}

/* ---- the store behind it ---- */

struct store *
proxy_open_store(struct event_base *base, struct store_dynamodb_config *config,
    store_outcome_fn outcome, void *arg)
{
	const char *far = getenv("AWS_ENDPOINT_URL_DYNAMODB");
	int length = (int)sizeof(proxy.far);
	struct store *store;

	ck_assert_ptr_nonnull(far);
	ck_assert_int_eq(evutil_parse_sockaddr_port(far + strlen("http://"),
	    (struct sockaddr *)&proxy.far, &length), 0);
	proxy_listen(base);
	config->endpoint = proxy.endpoint;
	store = fixture_open_as(base, config, outcome, arg);
	fixture_expect(base, store, true, 0, "");
	return store;
}

void
proxy_close_store(struct store *store)
{
	store_free(store);
	stub_done(&proxy.stub);
	for (size_t i = 0; i < proxy.n_held; i++)
		evbuffer_free(proxy.held[i].bytes);
}

static struct store *
proxy_open_target(struct event_base *base, store_outcome_fn outcome, void *arg)
{
	struct store_dynamodb_config config = {
		.table.table = case_target()->name,
	};

	return proxy_open_store(base, &config, outcome, arg);
}

int
proxy_run(const char *name, const char *file)
{
	const struct conformance_target target = {
		.name = name, .host = "web-1",
		.open = proxy_open_target, .close = proxy_close_store,
	};

	fixture_need_endpoint();
	return conformance_main(&target, false, file);
}

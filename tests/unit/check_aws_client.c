/*
 * The client against a small HTTP server in the same process and loop, which
 * does what the operation's name says: answers, hangs, closes, lies.
 */
#include "config.h"

#include <event2/event.h>
#include <event2/listener.h>
#include <netdb.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aws/client.h"
#include "common/clock.h"
#include "common/error.h"
#include "http_stub.h"
#include "open_client.h"
#include "test.h"

#define RESULTS_MAX 64
#define TIMEOUT_MS 10000

/* ---- the client's side ---- */

struct result {
	struct aws_answer answer;	/* its pointers are void */
	char body[256];
	char text[256];
	size_t length;
	unsigned int order;
};

struct fixture {
	struct event_base *base;
	struct stub stub;
	struct aws_client *client;
	char endpoint[64];
	struct result results[RESULTS_MAX];
	unsigned int answers;
	unsigned int wanted;
	unsigned int ticks;
};

#define FIXTURE_NAME "table.example"	/* for fixture_lookup() */

static struct fixture f;
static sem_t lookup_gate;
static bool lookup_hangs;
static unsigned int lookups;

static int
fixture_lookup(const char *host, const char *port,
    const struct addrinfo *hints, struct addrinfo **ret)
{
	struct addrinfo numeric = *hints;

	ck_assert_str_eq(host, FIXTURE_NAME);
	__atomic_add_fetch(&lookups, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&lookup_hangs, __ATOMIC_SEQ_CST))
		while (sem_wait(&lookup_gate) != 0)
			;
	numeric.ai_flags = AI_NUMERICHOST;
	return getaddrinfo("127.0.0.1", port, &numeric, ret);
}

static int
fixture_lookup_nothing(const char *host, const char *port,
    const struct addrinfo *hints, struct addrinfo **ret)
{
	(void)host;
	(void)port;
	(void)hints;
	(void)ret;
	return EAI_NONAME;
}

static struct aws_client_config
fixture_config(const char *host)
{
	struct aws_client_config config = { .lookup = fixture_lookup,
		.allow_plain_http = true };

	snprintf(f.endpoint, sizeof(f.endpoint), "http://%s:%u", host,
	    f.stub.port);
	return config;
}

static void
fixture_open(const struct aws_client_config *config)
{
	f.client = open_client(f.base, config, f.endpoint, "tokentoken", NULL);
}

static void
setup(void)
{
	signal(SIGPIPE, SIG_IGN);
	sem_init(&lookup_gate, 0, 0);
	__atomic_store_n(&lookup_hangs, false, __ATOMIC_SEQ_CST);
	lookups = 0;
	memset(&f, 0, sizeof(f));
	f.base = event_base_new();
	stub_init(&f.stub, f.base);
}

static void
teardown(void)
{
	aws_client_free(f.client);
	stub_done(&f.stub);
	event_base_free(f.base);
}

static void
on_answer(void *arg, const struct aws_answer *a)
{
	struct result *r = arg;

	r->answer = *a;
	r->order = ++f.answers;
	r->length = a->body_length;
	ck_assert_ptr_nonnull(a->text);
	snprintf(r->text, sizeof(r->text), "%s", a->text);
	snprintf(r->body, sizeof(r->body), "%s", a->body);
	if (f.answers == f.wanted)
		event_base_loopbreak(f.base);
}

static struct aws_call *
call_for(uint32_t user, enum aws_lane lane, const char *operation,
    unsigned int i, uint64_t timeout_ms)
{
	struct aws_call *c = NULL;
	char body[64];
	int length = snprintf(body, sizeof(body), "{\"i\":%u}", i);

	ck_assert_int_eq(aws_client_call(f.client, lane, user, operation,
	    body, (size_t)length, timeout_ms, on_answer, &f.results[i], &c),
	    0);
	ck_assert_ptr_nonnull(c);
	return c;
}

static struct aws_call *
call_with(enum aws_lane lane, const char *operation, unsigned int i,
    uint64_t timeout_ms)
{
	return call_for(0, lane, operation, i, timeout_ms);
}

static void
wait_for(unsigned int answers)
{
	f.wanted = answers;
	if (f.answers < answers)
		event_base_dispatch(f.base);
	ck_assert_uint_eq(f.answers, answers);
}

static const struct result *
call(const char *operation)
{
	static struct result r;

	memset(&f.results[0], 0, sizeof(f.results[0]));
	call_with(AWS_LANE_LOCK, operation, 0, TIMEOUT_MS);
	wait_for(f.answers + 1);
	r = f.results[0];
	return &r;
}

static void
on_tick(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	f.ticks++;
}

static struct event *
tick_start(void)
{
	struct timeval t = { .tv_usec = 10000 };
	struct event *e = event_new(f.base, -1, EV_PERSIST, on_tick, NULL);

	event_add(e, &t);
	return e;
}

/* ---- tests ---- */

TEST_FIXTURE(setup, teardown)

TEST(test_request_is_whole)
{
	struct aws_client_config config = fixture_config("127.0.0.1");
	uint64_t before_ms = clock_boot_ms();
	const struct result *r;

	fixture_open(&config);
	r = call("Echo");
	ck_assert_int_eq(r->answer.status, 200);
	ck_assert_str_eq(r->body, "{\"i\":0}");
	ck_assert_uint_eq(r->length, 7);
	ck_assert_uint_ge(r->answer.sent_ms, before_ms);
	ck_assert_uint_le(r->answer.sent_ms, clock_boot_ms());
	ck_assert_ptr_nonnull(strstr(f.stub.last, "POST / HTTP/1.1\r\n"));
	ck_assert_ptr_nonnull(strstr(f.stub.last,
	    "\r\nX-Amz-Security-Token: tokentoken\r\n"));
	ck_assert_ptr_nonnull(strstr(f.stub.last,
	    "\r\nContent-Type: application/x-amz-json-1.0\r\n"));
	ck_assert_ptr_nonnull(strstr(f.stub.last, "SignedHeaders=content-type;"
	    "host;x-amz-date;x-amz-security-token;x-amz-target, Signature="));
	ck_assert_ptr_nonnull(strstr(f.stub.last,
	    "/eu-central-1/dynamodb/aws4_request"));
	ck_assert_ptr_null(strstr(f.stub.last, "Expect"));
	ck_assert_ptr_null(strstr(f.stub.last, "verysecret"));
	ck_assert_ptr_nonnull(strstr(aws_client_endpoint(f.client),
	    "http://127.0.0.1:"));

	/* An error is an answer too. */
	r = call("Refuse");
	ck_assert_int_eq(r->answer.status, 400);
	ck_assert_str_eq(r->body, "{\"__type\":\"x#Y\"}");
}

TEST(test_connection_is_kept)
{
	struct aws_client_config config = fixture_config(FIXTURE_NAME);

	fixture_open(&config);
	for (unsigned int i = 0; i < 20; i++)
		ck_assert_int_eq(call("Echo")->answer.status, 200);
	ck_assert_uint_eq(f.stub.connections, 1);
	ck_assert_uint_eq(f.stub.requests, 20);
	ck_assert_uint_eq(lookups, 1);
}

TEST(test_bounded_and_in_order)
{
	struct aws_client_config config = fixture_config("127.0.0.1");

	config.connections_max[AWS_LANE_LOCK] = 1;
	fixture_open(&config);
	for (unsigned int i = 0; i < 10; i++)
		call_with(AWS_LANE_LOCK, "Echo", i, TIMEOUT_MS);
	wait_for(10);
	for (unsigned int i = 0; i < 10; i++)
		ck_assert_uint_eq(f.results[i].order, i + 1);
	ck_assert_uint_eq(f.stub.connections, 1);
}

/* After ten thousand of another user's a call gets the next free connection but
 * one, also where some were cancelled. */
TEST(test_users_in_turn)
{
	struct aws_client_config config = fixture_config("127.0.0.1");
	struct aws_call *hangs, *calls[3];

	config.connections_max[AWS_LANE_LOCK] = 1;
	fixture_open(&config);
	hangs = call_for(1, AWS_LANE_LOCK, "Hang", 0, TIMEOUT_MS);
	for (unsigned int i = 0; i < 3; i++)
		calls[i] = call_for(1, AWS_LANE_LOCK, "Echo", 1, TIMEOUT_MS);
	for (unsigned int i = 0; i < 10000; i++)
		call_for(1, AWS_LANE_LOCK, "Echo", 2, TIMEOUT_MS);
	call_for(2, AWS_LANE_LOCK, "Echo", 3, TIMEOUT_MS);
	aws_call_cancel(calls[0]);
	aws_call_cancel(calls[2]);
	aws_call_cancel(hangs);
	wait_for(2);
	ck_assert_uint_eq(f.results[1].order, 1);
	ck_assert_uint_eq(f.results[3].order, 2);
	ck_assert_int_eq(f.results[3].answer.status, 200);
}

TEST(test_session_lane_never_waits)
{
	struct aws_client_config config = fixture_config("127.0.0.1");
	struct aws_call *calls[12];

	config.connections_max[AWS_LANE_LOCK] = 3;
	fixture_open(&config);
	for (unsigned int i = 0; i < 12; i++)
		calls[i] = call_with(AWS_LANE_LOCK, "Hang", i, TIMEOUT_MS);
	call_with(AWS_LANE_SESSION, "Echo", 20, TIMEOUT_MS);
	wait_for(1);
	ck_assert_int_eq(f.results[20].answer.status, 200);
	call_with(AWS_LANE_SESSION, "Echo", 21, TIMEOUT_MS);
	call_with(AWS_LANE_BULK, "Echo", 22, TIMEOUT_MS);
	wait_for(3);
	for (unsigned int i = 0; i < 12; i++)
		aws_call_cancel(calls[i]);
	ck_assert_int_eq(call("Echo")->answer.status, 200);
}

/* The one that libcurl would repeat by itself. */
TEST(test_no_silent_repetition)
{
	struct aws_client_config config = fixture_config("127.0.0.1");
	const struct result *r;

	fixture_open(&config);
	ck_assert_int_eq(call("Echo")->answer.status, 200);
	r = call("Close");
	ck_assert_int_eq(r->answer.status, 0);
	ck_assert_int_eq(r->answer.code, DDBLOCK_E_UNREACHABLE);
	ck_assert(r->answer.maybe_applied);
	ck_assert_uint_eq(f.stub.requests, 2);
	ck_assert_ptr_nonnull(strstr(r->text, "127.0.0.1:"));
	ck_assert_ptr_null(strstr(r->text, "secret"));

	/* Also on a fresh one. */
	r = call("Close");
	ck_assert(r->answer.maybe_applied);
	ck_assert_uint_eq(f.stub.requests, 3);
	ck_assert_int_eq(call("Echo")->answer.status, 200);
}

/* Closed at the first byte, before the server can have seen it whole. */
TEST(test_closed_in_mid_request)
{
	struct aws_client_config config = fixture_config("127.0.0.1");
	const struct result *r;

	fixture_open(&config);
	ck_assert_int_eq(call("Echo")->answer.status, 200);
	f.stub.early = 1;
	r = call("Echo");
	/* Repeated only if no part of the body was taken. */
	if (r->answer.status == 0)
		ck_assert(r->answer.maybe_applied);
	ck_assert_uint_le(f.stub.requests, 2);
	ck_assert_int_eq(call("Echo")->answer.status, 200);
}

TEST(test_idle_connection_closed_by_server)
{
	struct aws_client_config config = fixture_config("127.0.0.1");
	struct event *tick;

	fixture_open(&config);
	ck_assert_int_eq(call("EchoClose")->answer.status, 200);
	tick = tick_start();
	while (f.stub.n_open > 0 || f.ticks < 2)
		event_base_loop(f.base, EVLOOP_ONCE);
	event_free(tick);
	ck_assert_int_eq(call("Echo")->answer.status, 200);
	ck_assert_uint_eq(f.stub.connections, 2);
	ck_assert_uint_eq(f.stub.requests, 2);
}

TEST(test_garbage)
{
	struct aws_client_config config = fixture_config("127.0.0.1");
	const struct result *r;

	fixture_open(&config);
	r = call("Garbage");
	ck_assert_int_eq(r->answer.status, 0);
	ck_assert_int_eq(r->answer.code, DDBLOCK_E_UNREACHABLE);
	ck_assert(r->answer.maybe_applied);
	r = call("Truncate");
	ck_assert_int_eq(r->answer.status, 0);
	ck_assert(r->answer.maybe_applied);
	ck_assert_ptr_nonnull(strstr(r->text, "cut off"));
	r = call("Huge");
	ck_assert_int_eq(r->answer.status, 0);
	ck_assert(r->answer.maybe_applied);
	ck_assert_ptr_nonnull(strstr(r->text, "too large"));
	ck_assert_int_eq(call("Echo")->answer.status, 200);
}

TEST(test_timeout_after_sending)
{
	struct aws_client_config config = fixture_config("127.0.0.1");

	fixture_open(&config);
	call_with(AWS_LANE_LOCK, "Hang", 0, 100);
	wait_for(1);
	ck_assert_int_eq(f.results[0].answer.status, 0);
	ck_assert_int_eq(f.results[0].answer.code, DDBLOCK_E_UNREACHABLE);
	ck_assert(f.results[0].answer.maybe_applied);
	ck_assert_ptr_nonnull(strstr(f.results[0].text,
	    "no answer within 100 ms"));
}

/* A connection idle since then is not trusted any more; a newer one is. */
TEST(test_timeout_makes_idle_connections_suspect)
{
	struct aws_client_config config = fixture_config("127.0.0.1");

	fixture_open(&config);
	call_with(AWS_LANE_LOCK, "Echo", 0, TIMEOUT_MS);
	call_with(AWS_LANE_LOCK, "Echo", 1, TIMEOUT_MS);
	wait_for(2);
	ck_assert_uint_eq(f.stub.connections, 2);
	call_with(AWS_LANE_LOCK, "Hang", 2, 50);
	wait_for(3);
	ck_assert_int_eq(call("Echo")->answer.status, 200);
	ck_assert_uint_eq(f.stub.connections, 3);
	call_with(AWS_LANE_SESSION, "Echo", 3, TIMEOUT_MS);
	wait_for(5);
	call_with(AWS_LANE_SESSION, "Echo", 3, TIMEOUT_MS);
	wait_for(6);
	ck_assert_uint_eq(f.stub.connections, 4); /* the other lane */
}

TEST(test_timeout_in_the_queue)
{
	struct aws_client_config config = fixture_config("127.0.0.1");
	struct aws_call *c;

	config.connections_max[AWS_LANE_LOCK] = 1;
	fixture_open(&config);
	c = call_with(AWS_LANE_LOCK, "Hang", 0, TIMEOUT_MS);
	call_with(AWS_LANE_LOCK, "Echo", 1, 50);
	call_with(AWS_LANE_LOCK, "Echo", 2, TIMEOUT_MS);
	wait_for(1);
	ck_assert_uint_eq(f.results[1].order, 1);
	ck_assert(!f.results[1].answer.maybe_applied);
	aws_call_cancel(c);
	wait_for(2);
	ck_assert_int_eq(f.results[2].answer.status, 200);
}

TEST(test_nobody_listens)
{
	struct aws_client_config config = fixture_config("127.0.0.1");
	const struct result *r;

	fixture_open(&config);
	evconnlistener_disable(f.stub.listener);
	evconnlistener_free(f.stub.listener);
	stub_init(&f.stub, f.base);
	r = call("Echo");
	ck_assert_int_eq(r->answer.status, 0);
	ck_assert(!r->answer.maybe_applied);
}

TEST(test_no_tls_there)
{
	struct aws_client_config config = fixture_config("127.0.0.1");
	const struct result *r;

	snprintf(f.endpoint, sizeof(f.endpoint), "https://127.0.0.1:%u",
	    f.stub.port);
	f.stub.early = 1;
	fixture_open(&config);
	r = call("Echo");
	ck_assert_int_eq(r->answer.status, 0);
	ck_assert(!r->answer.maybe_applied);
	ck_assert_uint_eq(f.stub.requests, 0);
}

/* Its own name is not looked up. */
TEST(test_localhost)
{
	struct aws_client_config config = fixture_config("localhost");

	config.lookup = fixture_lookup_nothing;
	fixture_open(&config);
	ck_assert_int_eq(call("Echo")->answer.status, 200);
}

TEST(test_hanging_lookup)
{
	struct aws_client_config config = fixture_config(FIXTURE_NAME);
	struct event *tick = tick_start();

	__atomic_store_n(&lookup_hangs, true, __ATOMIC_SEQ_CST);
	fixture_open(&config);
	call_with(AWS_LANE_SESSION, "Echo", 0, 100);
	call_with(AWS_LANE_LOCK, "Echo", 1, TIMEOUT_MS);
	wait_for(1);
	ck_assert_uint_gt(f.ticks, 0);	/* the loop went on */
	ck_assert_int_eq(f.results[0].answer.status, 0);
	ck_assert(!f.results[0].answer.maybe_applied);
	ck_assert_uint_eq(f.stub.connections, 0);

	/* When it comes back at last, what waits goes on. */
	__atomic_store_n(&lookup_hangs, false, __ATOMIC_SEQ_CST);
	sem_post(&lookup_gate);
	wait_for(2);
	ck_assert_int_eq(f.results[1].answer.status, 200);
	ck_assert_uint_eq(lookups, 1);
	event_free(tick);
}

TEST(test_free_while_lookup_hangs)
{
	struct aws_client_config config = fixture_config(FIXTURE_NAME);

	__atomic_store_n(&lookup_hangs, true, __ATOMIC_SEQ_CST);
	fixture_open(&config);
	call_with(AWS_LANE_LOCK, "Echo", 0, TIMEOUT_MS);
	while (__atomic_load_n(&lookups, __ATOMIC_SEQ_CST) == 0)
		event_base_loop(f.base, EVLOOP_NONBLOCK);
	aws_client_free(f.client);
	f.client = NULL;
	sem_post(&lookup_gate);
	ck_assert_uint_eq(f.answers, 0);
}

TEST(test_unknown_host)
{
	struct aws_client_config config = fixture_config(FIXTURE_NAME);
	const struct result *r;

	config.lookup = fixture_lookup_nothing;
	fixture_open(&config);
	for (unsigned int i = 0; i < 2; i++) {
		/* The second is answered from memory, but not at once. */
		r = call("Echo");
		ck_assert_int_eq(r->answer.status, 0);
		ck_assert_int_eq(r->answer.code, DDBLOCK_E_UNREACHABLE);
		ck_assert(!r->answer.maybe_applied);
		ck_assert_ptr_nonnull(strstr(r->text, FIXTURE_NAME));
	}
}

TEST(test_clock_of_the_endpoint)
{
	struct aws_client_config config = fixture_config("127.0.0.1");
	uint64_t wall_ms;

	fixture_open(&config);
	ck_assert_uint_eq(aws_client_wall_ms(f.client), 0);
	call("Echo");
	ck_assert_uint_eq(aws_client_wall_ms(f.client), 0); /* no Date */
	snprintf(f.stub.date, sizeof(f.stub.date), "%s",
	    "Thu, 01 Jan 2032 00:00:00 GMT");
	call("Refuse");
	wall_ms = aws_client_wall_ms(f.client);
	ck_assert_uint_ge(wall_ms, UINT64_C(1956528000000));
	ck_assert_uint_lt(wall_ms, UINT64_C(1956528060000));
	call("Echo");
	ck_assert_ptr_nonnull(strstr(f.stub.last,
	    "\r\nX-Amz-Date: 20320101T0000"));
	ck_assert_ptr_nonnull(strstr(f.stub.last, "/20320101/eu-central-1/"));
}

TEST(test_cancel_and_free_under_way)
{
	struct aws_client_config config = fixture_config("127.0.0.1");
	struct aws_call *calls[8];

	config.connections_max[AWS_LANE_LOCK] = 4;
	fixture_open(&config);
	for (unsigned int i = 0; i < 8; i++)
		calls[i] = call_with(AWS_LANE_LOCK, "Hang", i, TIMEOUT_MS);
	while (f.stub.requests < 4)
		event_base_loop(f.base, EVLOOP_ONCE);
	aws_call_cancel(calls[1]);	/* under way: one that waits goes on */
	aws_call_cancel(calls[7]);	/* waits */
	while (f.stub.requests < 5)
		event_base_loop(f.base, EVLOOP_ONCE);
	call_with(AWS_LANE_BULK, "Echo", 9, TIMEOUT_MS);
	wait_for(1);
	aws_client_free(f.client);
	f.client = NULL;
	ck_assert_uint_eq(f.answers, 1);
}

/* What is signed for one place is sent to no other. */
TEST(test_no_redirection)
{
	struct aws_client_config config = fixture_config("127.0.0.1");

	fixture_open(&config);
	ck_assert_int_eq(call("Moved")->answer.status, 307);
	ck_assert_uint_eq(f.stub.requests, 1);
}

TEST(test_environment_has_no_proxy)
{
	struct aws_client_config config = fixture_config("127.0.0.1");

	setenv("http_proxy", "http://127.0.0.1:1", 1);
	setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
	fixture_open(&config);
	ck_assert_int_eq(call("Echo")->answer.status, 200);
}

/*
 * The events of connections stay while the connections are unused, and do no
 * harm: against a small HTTP server in the same loop.
 */
#include "config.h"

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "aws/pool.h"
#include "http_stub.h"
#include "test.h"

#define CONNECTIONS 4
#define SOCKETS 16		/* more than there were */

static struct event_base *base;
static struct stub server;
static struct pool *pool;
static CURL *easies[CONNECTIONS];
static struct curl_slist *headers;
static unsigned n_finished;
static unsigned n_wanted;
static CURLcode last_result;
static CURL *finished[CONNECTIONS];	/* the last ones, in their order */

static void
on_finished(void *arg, CURL *easy, CURLcode result)
{
	(void)arg;
	finished[n_finished % CONNECTIONS] = easy;
	last_result = result;
	if (++n_finished == n_wanted)
		(void)event_base_loopbreak(base);
}

/* The last is one user's, the others are another's. */
static uint32_t
user_of(CURL *easy)
{
	return easy == easies[CONNECTIONS - 1] ? 2 : 1;
}

static size_t
on_body(char *from, size_t size, size_t n, void *arg)
{
	(void)from;
	(void)arg;
	return size * n;
}

static void
open_all(void)
{
	char url[64];

	(void)signal(SIGPIPE, SIG_IGN);
	base = event_base_new();
	stub_init(&server, base);
	ck_assert_int_eq(pool_new(base, CONNECTIONS, on_finished, user_of,
	    NULL, &pool), 0);
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u", server.port);
	headers = curl_slist_append(NULL,
	    "X-Amz-Target: DynamoDB_20120810.Echo");
	for (size_t i = 0; i < CONNECTIONS; i++) {
		easies[i] = curl_easy_init();
		curl_easy_setopt(easies[i], CURLOPT_URL, url);
		curl_easy_setopt(easies[i], CURLOPT_HTTPHEADER, headers);
		curl_easy_setopt(easies[i], CURLOPT_POSTFIELDS, "{}");
		curl_easy_setopt(easies[i], CURLOPT_WRITEFUNCTION, on_body);
	}
	n_finished = 0;
}

static void
close_all(void)
{
	pool_free(pool);
	for (size_t i = 0; i < CONNECTIONS; i++)
		curl_easy_cleanup(easies[i]);
	curl_slist_free_all(headers);
	stub_done(&server);
	event_base_free(base);
}

/* @n requests at once, and all their answers. */
static void
ask(unsigned n)
{
	n_wanted = n_finished + n;
	for (unsigned i = 0; i < n; i++)
		ck_assert_int_eq(pool_start(pool, easies[i]), 0);
	(void)event_base_dispatch(base);
	ck_assert_uint_eq(n_finished, n_wanted);
	ck_assert_int_eq(last_result, CURLE_OK);
}

/* When the pool's turn is over. */
static int
n_events(void)
{
	(void)event_base_loop(base, EVLOOP_NONBLOCK);
	return event_base_get_num_events(base, EVENT_BASE_COUNT_ADDED);
}

/*
 * The server closes open connections, and the loop turns until that is known.
 */
static void
close_idle(int events_wanted)
{
	while (server.n_open > 0)
		bufferevent_free(server.open[--server.n_open]);
	while (n_events() > events_wanted)
		(void)event_base_loop(base, EVLOOP_ONCE);
}

TEST(test_events_stay)
{
	int before, idle;

	open_all();
	before = n_events();
	ask(CONNECTIONS);
	idle = n_events();
	/* One here and one in the server for each connection. */
	ck_assert_int_eq(idle, before + 2 * CONNECTIONS);
	for (int i = 0; i < 10; i++) {
		ask(CONNECTIONS);
		ck_assert_int_eq(n_events(), idle);
	}
	ck_assert_uint_eq(server.connections, CONNECTIONS);
	close_all();
}

/* All answers come at once, that of the other user as the last one. */
TEST(test_turns_of_users)
{
	open_all();
	ask(CONNECTIONS);
	for (int i = 0; i < 10; i++) {
		ask(CONNECTIONS);
		ck_assert_ptr_eq(finished[1], easies[CONNECTIONS - 1]);
	}
	close_all();
}

static unsigned n_heads;	/* of requests, that libcurl has sent */

static int
on_debug(CURL *easy, curl_infotype type, char *data, size_t size, void *arg)
{
	(void)easy;
	(void)data;
	(void)size;
	(void)arg;
	if (type == CURLINFO_HEADER_OUT)
		n_heads++;
	return 0;
}

static void
on_event(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	ck_assert_int_eq(pool_start(pool, easies[0]), 0);
}

/* On a connection that is there, a request leaves in the turn of the loop that
 * it begins in, and not after another wait for events. */
TEST(test_no_extra_turn)
{
	struct event *event;

	open_all();
	ask(1);
	curl_easy_setopt(easies[0], CURLOPT_VERBOSE, 1L);
	curl_easy_setopt(easies[0], CURLOPT_DEBUGFUNCTION, on_debug);
	event = evtimer_new(base, on_event, NULL);
	event_active(event, EV_TIMEOUT, 0);
	(void)event_base_loop(base, EVLOOP_NONBLOCK | EVLOOP_ONCE);
	ck_assert_uint_eq(n_heads, 1);

	n_wanted = n_finished + 1;
	(void)event_base_dispatch(base);
	ck_assert_uint_eq(n_finished, n_wanted);
	event_free(event);
	close_all();
}

/* A connection that the other end closes is not watched for ever. */
TEST(test_closed_while_idle)
{
	int before;

	open_all();
	before = n_events();
	for (unsigned i = 1; i <= 3; i++) {
		ask(CONNECTIONS);
		ck_assert_uint_eq(server.connections, i * CONNECTIONS);
		close_idle(before);
		/* A closed socket can be read from at any time. */
		(void)event_base_loop(base, EVLOOP_NONBLOCK);
		ck_assert_int_eq(n_events(), before);
	}
	close_all();
}

static void
on_byte(evutil_socket_t fd, short what, void *arg)
{
	bool *came = arg;
	char byte;

	(void)what;
	*came = read(fd, &byte, 1) == 1;
}

/* Numbers of old connections now belong to others, which get their events. */
static void
use_numbers(void)
{
	int fds[SOCKETS][2];

	for (int i = 0; i < SOCKETS; i++)
		ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds[i]),
		    0);
	for (int i = 0; i < SOCKETS; i++) {
		bool came = false;
		struct event *event = event_new(base, fds[i][0], EV_READ,
		    on_byte, &came);

		ck_assert_int_eq(event_add(event, NULL), 0);
		ck_assert_int_eq(write(fds[i][1], "x", 1), 1);
		for (int turn = 0; turn < 20 && !came; turn++)
			(void)event_base_loop(base, EVLOOP_NONBLOCK);
		ck_assert(came);
		event_free(event);
	}
	for (int i = 0; i < SOCKETS; i++) {
		(void)close(fds[i][0]);
		(void)close(fds[i][1]);
	}
}

/* A connection that is kept may be closed from either end. */
TEST(test_numbers_of_idle)
{
	open_all();
	ask(CONNECTIONS);
	pool_free(pool);
	pool = NULL;
	use_numbers();
	close_all();

	open_all();
	ask(CONNECTIONS);
	close_idle(n_events() - 2 * CONNECTIONS);
	/* libcurl finds out when it looks for one, and makes new ones. */
	ask(CONNECTIONS);
	use_numbers();
	close_all();
}

/* An exchange given up in the middle is closed at once. */
static void
give_up(const char *scheme, const char *target)
{
	struct curl_slist *list = curl_slist_append(NULL, target);
	char text[64];

	open_all();
	(void)snprintf(text, sizeof(text), "%s://127.0.0.1:%u", scheme,
	    server.port);
	curl_easy_setopt(easies[0], CURLOPT_URL, text);
	curl_easy_setopt(easies[0], CURLOPT_HTTPHEADER, list);
	ck_assert_int_eq(pool_start(pool, easies[0]), 0);
	while (server.connections == 0)
		(void)event_base_loop(base, EVLOOP_ONCE);
	for (int i = 0; i < 20; i++)
		(void)event_base_loop(base, EVLOOP_NONBLOCK);
	pool_stop(pool, easies[0]);
	use_numbers();
	curl_slist_free_all(list);
	close_all();
}

TEST(test_numbers_of_stopped)
{
	give_up("http", "X-Amz-Target: DynamoDB_20120810.Hang");
	/* The server never says its part of the handshake. */
	give_up("https", "X-Amz-Target: none");
}

/* No daemon listens there; the socket was never connected. */
TEST(test_refused)
{
	int before;

	open_all();
	before = n_events();
	stub_done(&server);
	n_wanted = 1;
	ck_assert_int_eq(pool_start(pool, easies[0]), 0);
	(void)event_base_dispatch(base);
	ck_assert_int_eq(last_result, CURLE_COULDNT_CONNECT);
	ck_assert_int_lt(n_events(), before + 1);
	stub_init(&server, base);
	close_all();
}

/* The second address gets the number of the first, which libcurl closed. */
TEST(test_second_address)
{
	struct curl_slist *addresses;
	char text[64];

	open_all();
	(void)snprintf(text, sizeof(text), "both:%u:127.0.0.2,127.0.0.1",
	    server.port);
	addresses = curl_slist_append(NULL, text);
	(void)snprintf(text, sizeof(text), "http://both:%u", server.port);
	curl_easy_setopt(easies[0], CURLOPT_RESOLVE, addresses);
	curl_easy_setopt(easies[0], CURLOPT_URL, text);
	for (int i = 0; i < 3; i++) {
		ask(1);
		ck_assert_uint_eq(server.connections, 1 + (unsigned)i);
		close_idle(n_events() - 2);
	}
	curl_slist_free_all(addresses);
	close_all();
}

/* Stopped in the middle: its connection is gone, and its event. */
TEST(test_stopped)
{
	struct curl_slist *hang = curl_slist_append(NULL,
	    "X-Amz-Target: DynamoDB_20120810.Hang");
	int before;

	open_all();
	before = n_events();
	curl_easy_setopt(easies[0], CURLOPT_HTTPHEADER, hang);
	ck_assert_int_eq(pool_start(pool, easies[0]), 0);
	while (server.requests == 0)
		(void)event_base_loop(base, EVLOOP_ONCE);
	pool_stop(pool, easies[0]);
	close_idle(before);
	ck_assert_int_eq(n_events(), before);
	curl_easy_setopt(easies[0], CURLOPT_HTTPHEADER, headers);
	ask(CONNECTIONS);
	curl_slist_free_all(hang);
	close_all();
}

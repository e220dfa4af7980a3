/*
 * The endpoint of the client's requests and their signer may change while it
 * runs: against two small HTTP servers in the same loop.
 */
#include "config.h"

#include <event2/event.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aws/client.h"
#include "common/error.h"
#include "http_stub.h"
#include "test.h"

#define TIMEOUT_MS 10000
#define ANSWERS_MAX 8

struct told {
	int status;
	int code;
	bool maybe_applied;
	uint32_t signer;
	char text[256];
};

static struct event_base *base;
static struct stub servers[2];
static struct aws_client *client;
static struct told told[ANSWERS_MAX];
static unsigned n_told;
static unsigned n_wanted;

/* Every name is this host. */
static int
lookup(const char *host, const char *port, const struct addrinfo *hints,
    struct addrinfo **ret)
{
	struct addrinfo numeric = *hints;

	(void)host;
	numeric.ai_flags = AI_NUMERICHOST;
	return getaddrinfo("127.0.0.1", port, &numeric, ret);
}

static void
open_all(void)
{
	const struct aws_client_config config = {
		.lookup = lookup, .allow_plain_http = true,
	};

	(void)signal(SIGPIPE, SIG_IGN);
	base = event_base_new();
	stub_init(&servers[0], base);
	stub_init(&servers[1], base);
	ck_assert_int_eq(aws_client_new(base, &config, &client), 0);
	n_told = 0;
}

static void
close_all(void)
{
	aws_client_free(client);
	stub_done(&servers[0]);
	stub_done(&servers[1]);
	event_base_free(base);
}

static int
use(unsigned server, const char *host, const char *key_id,
    const char *token)
{
	struct credentials c = { .expires_ms = 0 };
	char url[128], text[256];
	const struct aws_client_origin origin = {
		.url = url, .region = "eu-central-1", .credentials = &c,
	};
	int r;

	(void)snprintf(url, sizeof(url), "http://%s:%u", host,
	    servers[server].port);
	ck_assert_int_eq(credentials_set(&c, key_id, "verysecret", token, text,
	    sizeof(text)), 0);
	r = aws_client_use(client, &origin, text, sizeof(text));
	credentials_done(&c);
	return r;
}

static void
on_answer(void *arg, const struct aws_answer *a)
{
	struct told *t = arg;

	t->status = a->status;
	t->code = a->code;
	t->maybe_applied = a->maybe_applied;
	t->signer = a->signer;
	(void)snprintf(t->text, sizeof(t->text), "%s", a->text);
	if (++n_told == n_wanted)
		(void)event_base_loopbreak(base);
}

static void
ask(unsigned i, const char *operation, uint64_t timeout_ms)
{
	struct aws_call *call;

	ck_assert_int_eq(aws_client_call(client, AWS_LANE_LOCK, 0,
	    operation, "{}", 2, timeout_ms, on_answer, &told[i], &call), 0);
}

static void
wait_for(unsigned n)
{
	n_wanted = n;
	if (n_told < n)
		(void)event_base_dispatch(base);
	ck_assert_uint_eq(n_told, n);
}

static bool
last_has(unsigned server, const char *part)
{
	return strstr(servers[server].last, part) != NULL;
}

/* A request before the first signer goes out as soon as there is one. */
TEST(test_calls_wait)
{
	open_all();
	ask(0, "Echo", TIMEOUT_MS);
	ask(1, "Echo", TIMEOUT_MS);
	(void)event_base_loop(base, EVLOOP_NONBLOCK);
	ck_assert(!aws_client_ready(client));
	ck_assert_uint_eq(n_told, 0);
	ck_assert_int_eq(use(0, "127.0.0.1", "AKIDFIRST", NULL), 0);
	wait_for(2);
	ck_assert_int_eq(told[0].status, 200);
	ck_assert_int_eq(told[1].status, 200);
	ck_assert(last_has(0, "Credential=AKIDFIRST/"));
	close_all();
}

/* What waits in vain is told why, and that it never left. */
TEST(test_lack_is_told)
{
	open_all();
	ask(0, "Echo", 10);
	wait_for(1);
	ck_assert_int_eq(told[0].status, 0);
	ck_assert_int_eq(told[0].code, DDBLOCK_E_UNREACHABLE);
	ck_assert(!told[0].maybe_applied);
	ck_assert_str_eq(told[0].text, "there are no credentials yet");
	aws_client_lack(client, DDBLOCK_E_NO_CREDENTIALS,
	    "the token has expired; run aws sso login");
	ask(1, "Echo", 10);
	wait_for(2);
	ck_assert_int_eq(told[1].code, DDBLOCK_E_NO_CREDENTIALS);
	ck_assert_str_eq(told[1].text,
	    "the token has expired; run aws sso login");
	close_all();
}

/* Other credentials: the connection stays, requests under way too. */
TEST(test_other_credentials)
{
	open_all();
	ck_assert_int_eq(use(0, "localhost", "AKIDFIRST", "tokenfirst"), 0);
	ask(0, "Echo", TIMEOUT_MS);
	wait_for(1);
	ck_assert(last_has(0, "\r\nX-Amz-Security-Token: tokenfirst\r\n"));
	ask(1, "Echo", TIMEOUT_MS);
	/* It has been given to the connection, and is signed already. */
	ck_assert_int_eq(use(0, "localhost", "AKIDSECOND", NULL), 0);
	wait_for(2);
	ck_assert(last_has(0, "Credential=AKIDFIRST/"));
	ck_assert_ptr_null(aws_client_signer(client, told[1].signer));
	ask(2, "Echo", TIMEOUT_MS);
	wait_for(3);
	ck_assert(last_has(0, "Credential=AKIDSECOND/"));
	ck_assert(!last_has(0, "Security-Token"));
	ck_assert_str_eq(aws_client_signer(client,
	    told[2].signer)->access_key_id, "AKIDSECOND");
	ck_assert_uint_eq(servers[0].connections, 1);
	close_all();
}

/* Another endpoint, by name: its own address and connection. */
TEST(test_other_endpoint)
{
	open_all();
	for (unsigned i = 0; i < 6; i++) {
		ck_assert_int_eq(use(i % 2, i % 2 == 0 ? "a.test" : "b.test",
		    "AKIDFIRST", NULL), 0);
		ask(i, "Echo", TIMEOUT_MS);
		wait_for(i + 1);
		ck_assert_int_eq(told[i].status, 200);
		ck_assert(last_has(i % 2, i % 2 == 0 ? "Host: a.test:" :
		    "Host: b.test:"));
	}
	ck_assert_uint_eq(servers[0].requests, 3);
	ck_assert_uint_eq(servers[1].requests, 3);
	close_all();
}

/* A signer that cannot be used changes nothing. */
TEST(test_bad_one)
{
	struct credentials none = { .expires_ms = 0 };
	const struct aws_client_origin origin = {
		.url = "http://127.0.0.1:1", .credentials = &none,
	};
	char text[256];

	open_all();
	ck_assert_int_eq(use(0, "127.0.0.1", "AKIDFIRST", NULL), 0);
	ck_assert_int_eq(aws_client_use(client, &origin, text, sizeof(text)),
	    DDBLOCK_E_NO_CREDENTIALS);
	ask(0, "Echo", TIMEOUT_MS);
	wait_for(1);
	ck_assert_int_eq(told[0].status, 200);
	close_all();
}

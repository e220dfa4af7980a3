/*
 * The room for large answers, in all: how it is shared, and what a client does
 * whose endpoint sends more than there is room for.
 */
#include "config.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "aws/answer_room.h"
#include "aws/client.h"
#include "common/error.h"
#include "http_stub.h"
#include "open_client.h"
#include "test.h"

#define MIB (1024 * 1024)
#define BIG_BYTES (18 * MIB)	/* of an answer that never ends */
#define BIGS 8
#define BIGS_AT_A_TIME 2	/* 17 MiB each, and as much again is left */

/* One answer alone gets half of it. */
TEST(test_alone)
{
	struct answer_room room = { 0 };
	size_t share = 0;

	ck_assert(answer_room_take(&room, &share, ANSWER_ROOM_FREE));
	ck_assert_uint_eq(share, 0);
	ck_assert(answer_room_take(&room, &share, 33 * MIB));
	ck_assert_uint_eq(share, 32 * MIB);
	ck_assert(!answer_room_take(&room, &share, 33 * MIB + 1));
	ck_assert_uint_eq(room.used, 32 * MIB);
	ck_assert(answer_room_take(&room, &share, 2 * MIB));	/* no less */
	ck_assert_uint_eq(share, 32 * MIB);
	answer_room_give(&room, &share);
	ck_assert_uint_eq(room.used, 0);
	answer_room_give(&room, &share);
}

/* However many grow, each that comes finds room, and a small one always. */
TEST(test_many)
{
	struct answer_room room = { 0 };
	size_t shares[200] = { 0 };
	size_t lengths[200] = { 0 };
	size_t small = 0;

	for (size_t n = 1; n <= ROWS(shares); n++) {
		while (answer_room_take(&room, &shares[n - 1],
		    lengths[n - 1] + 4096))
			lengths[n - 1] += 4096;
		ck_assert_uint_ge(lengths[n - 1], ANSWER_ROOM_FREE);
		ck_assert_uint_le(room.used, ANSWER_ROOM_MAX);
		ck_assert(answer_room_take(&room, &small, ANSWER_ROOM_FREE));
	}
	ck_assert_uint_ge(shares[0], 31 * MIB);
	ck_assert_uint_ge(shares[1], 15 * MIB);
	for (size_t n = 0; n < ROWS(shares); n++)
		answer_room_give(&room, &shares[n]);
	ck_assert_uint_eq(room.used, 0);
	/* No sum of lengths goes round. */
	ck_assert(!answer_room_take(&room, &small, SIZE_MAX));
}

/* ---- a client ---- */

static struct event_base *base;
static struct stub stub;
static struct aws_client *client;
static unsigned n_failed, n_answered;
static bool ends;	/* the answers that are large */

static void
big_free(const void *data, size_t length, void *arg)
{
	(void)data;
	(void)length;
	(void)arg;
}

/* An answer of 18 MiB, and perhaps one more that does not come. */
static bool
big_obey(struct stub *s, struct bufferevent *b,
    const struct stub_request *request)
{
	static char bytes[MIB];
	struct evbuffer *out = bufferevent_get_output(b);
	size_t length = ends ? BIG_BYTES : BIG_BYTES + MIB;

	(void)s;
	if (strncmp(request->operation, "Big", 3) != 0) {
		(void)evbuffer_add_printf(out, "HTTP/1.1 200 OK\r\n"
		    "Content-Length: 2\r\n\r\n{}");
		return false;
	}
	memset(bytes, ' ', sizeof(bytes));
	(void)evbuffer_add_printf(out, "HTTP/1.1 200 OK\r\n"
	    "Content-Length: %zu\r\n\r\n", length);
	for (size_t i = 0; i < BIG_BYTES / MIB; i++)
		(void)evbuffer_add_reference(out, bytes, sizeof(bytes),
		    big_free, NULL);
	return false;
}

static void
on_answer(void *arg, const struct aws_answer *a)
{
	struct aws_call **call = arg;

	if (call != NULL)
		*call = NULL;
	if (a->status == 200) {
		n_answered++;
	} else {
		n_failed++;
		ck_assert_int_eq(a->code, DDBLOCK_E_UNREACHABLE);
		ck_assert(a->maybe_applied);
		ck_assert_ptr_nonnull(strstr(a->text, "there is no room"));
	}
}

static void
ask(enum aws_lane lane, const char *operation, struct aws_call **call)
{
	static struct aws_call *forgotten;

	ck_assert_int_eq(aws_client_call(client, lane, 0, operation, "{}", 2,
	    60000, on_answer, call, call != NULL ? call : &forgotten), 0);
}

static void
wait_for(const unsigned *n, unsigned wanted)
{
	while (*n < wanted)
		(void)event_base_loop(base, EVLOOP_ONCE);
}

static void
open_all(void)
{
	const struct aws_client_config config = { .service = NULL };
	char url[64];

	signal(SIGPIPE, SIG_IGN);
	base = event_base_new();
	stub_init(&stub, base);
	stub.obey = big_obey;
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u", stub.port);
	client = open_client(base, &config, url, NULL, NULL);
}

static void
close_all(void)
{
	aws_client_free(client);
	stub_done(&stub);
	event_base_free(base);
}

/* Large answers that do not end leave room for beats, and fail where they are
 * too many; what they had is there again for others. */
TEST(test_endpoint_that_sends_too_much)
{
	struct aws_call *calls[BIGS] = { NULL };

	open_all();
	for (size_t i = 0; i < BIGS; i++)
		ask(AWS_LANE_LOCK, "Big", &calls[i]);
	wait_for(&n_failed, BIGS - BIGS_AT_A_TIME);
	ask(AWS_LANE_SESSION, "Small", NULL);
	ask(AWS_LANE_LOCK, "Small", NULL);
	wait_for(&n_answered, 2);
	ck_assert_uint_le(n_failed, BIGS);
	for (size_t i = 0; i < BIGS; i++) {
		if (calls[i] != NULL)
			aws_call_cancel(calls[i]);
	}
	/* Now there is room for as many as before. */
	ends = true;
	n_failed = 0;
	for (unsigned i = 0; i < BIGS; i++) {
		ask(AWS_LANE_BULK, "Big", NULL);
		wait_for(&n_answered, 3 + i);
	}
	ck_assert_uint_eq(n_failed, 0);
	close_all();
}

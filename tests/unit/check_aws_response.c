/*
 * Answers that arrive damaged, cut off, compressed or from another program,
 * over a real connection; and their heads.
 */
#include "config.h"

#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aws/client.h"
#include "aws/response.h"
#include "common/error.h"
#include "http_stub.h"
#include "open_client.h"
#include "test.h"

#define TIMEOUT_MS 20000

struct fixture {
	struct event_base *base;
	struct stub stub;
	struct aws_client *client;
	struct aws_answer answer;	/* its pointers are void */
	char body[64];
	char text[512];
	bool answered;
};

static struct fixture f;

static void
setup(void)
{
	static const struct aws_client_config config;
	char endpoint[64];

	signal(SIGPIPE, SIG_IGN);
	memset(&f, 0, sizeof(f));
	f.base = event_base_new();
	stub_init(&f.stub, f.base);
	snprintf(endpoint, sizeof(endpoint), "http://127.0.0.1:%u",
	    f.stub.port);
	f.client = open_client(f.base, &config, endpoint, NULL, NULL);
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
	(void)arg;
	f.answer = *a;
	snprintf(f.body, sizeof(f.body), "%.*s", (int)a->body_length,
	    a->body);
	snprintf(f.text, sizeof(f.text), "%s", a->text);
	f.answered = true;
}

static void
call(const char *operation)
{
	struct aws_call *c;

	f.answered = false;
	ck_assert_int_eq(aws_client_call(f.client, AWS_LANE_LOCK, 0,
	    operation, "{}", 2, TIMEOUT_MS, on_answer, NULL, &c), 0);
	while (!f.answered)
		event_base_loop(f.base, EVLOOP_ONCE);
}

TEST_FIXTURE(setup, teardown)

/* Then it is not known whether it was carried out. */
TEST_LOOP(test_no_answer, 0, 10)
{
	static const struct {
		const char *operation;
		const char *text;
	} cases[] = {
		{ "SumWrong", "the answer was damaged on its way (CRC-32)" },
		{ "SumStrange", "damaged on its way" },
		{ "SumLong", "damaged on its way" },
		{ "SumRefused", "damaged on its way" },
		{ "Compressed", "the answer is compressed (gzip)" },
		{ "Portal", "is text/html; charset=utf-8 and not DynamoDB's" },
		{ "Truncate", "the answer was cut off" },
		{ "ChunksCut", "" },
		{ "ChunksStrange", "" },
		{ "Huge", "too large" },
	};
	const char *operation = cases[_i].operation;

	call(operation);
	ck_assert_msg(f.answer.status == 0, "%s", operation);
	ck_assert_int_eq(f.answer.code, DDBLOCK_E_UNREACHABLE);
	ck_assert(f.answer.maybe_applied);
	ck_assert_str_eq(f.body, "");
	ck_assert_msg(strstr(f.text, cases[_i].text) != NULL, "%s: %s",
	    operation, f.text);
	/* Nor is such an answer believed about the time. */
	ck_assert_uint_eq(aws_client_wall_ms(f.client), 0);
	/* The next is as good as any. */
	call("Sum");
	ck_assert_int_eq(f.answer.status, 200);
}

TEST(test_whole)
{
	static const char *const operations[] = {
		"Sum", "AsItIs", "Chunks", "Continue",
	};

	for (size_t i = 0; i < 4; i++) {
		call(operations[i]);
		ck_assert_msg(f.answer.status == 200, "%s: %s", operations[i],
		    f.text);
		ck_assert_str_eq(f.body, "{}");
		ck_assert_uint_eq(f.answer.retry_after_ms, 0);
	}
	ck_assert_ptr_null(strstr(f.stub.last, "\r\nAccept-Encoding:"));
	ck_assert_uint_eq(f.stub.connections, 1);
}

/* An error may come from any program: others judge its meaning. */
TEST(test_errors)
{
	call("PortalRefuses");
	ck_assert_int_eq(f.answer.status, 403);
	ck_assert_str_eq(f.body, "<html>");
	/* The keys that signed the request are not repeated. */
	call("Reflects");
	ck_assert_str_eq(f.body, "signed by ********************");
	call("Later");
	ck_assert_int_eq(f.answer.status, 503);
	ck_assert_uint_eq(f.answer.retry_after_ms, 1500);
	call("LaterNegative");
	ck_assert_int_eq(f.answer.status, 503);
	ck_assert_uint_eq(f.answer.retry_after_ms, 0);
}

static void
on_later(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	*(bool *)arg = true;
}

/* On a machine of any load: the first due comes first. */
TEST(test_timeout_is_not_late)
{
	struct timeval later = { .tv_usec = 900000 };
	struct aws_call *c;
	struct event *e;
	bool late = false;

	ck_assert_int_eq(aws_client_call(f.client, AWS_LANE_LOCK, 0, "Hang",
	    "{}", 2, 50, on_answer, NULL, &c), 0);
	e = evtimer_new(f.base, on_later, &late);
	ck_assert_int_eq(evtimer_add(e, &later), 0);
	while (!f.answered && !late)
		event_base_loop(f.base, EVLOOP_ONCE);
	ck_assert(f.answered);
	ck_assert_int_eq(f.answer.status, 0);
	event_free(e);
}

static void
take(struct response *r, const char *line)
{
	response_take_line(r, line, strlen(line));
}

TEST(test_lines)
{
	struct response r = { .date_s = 0 };
	char text[RESPONSE_TEXT_MAX];

	take(&r, "HTTP/1.1 200 OK\r\n");
	take(&r, "DATE:Thu, 01 Jan 2032 00:00:00 GMT\r\n");
	take(&r, "X-Amz-Crc32:\t 0 \r\n");
	take(&r, "x-amz-retry-after: 999999999\r\n");
	take(&r, "content-type: application/X-AMZ-json-1.0\r\n");
	take(&r, "x-amz-crc32x: 7\r\n");
	take(&r, "x-amz-crc3");
	ck_assert_int_eq(r.date_s, 1956528000);
	ck_assert(r.has_crc32 && !r.bad_crc32);
	ck_assert_uint_eq(r.retry_after_ms, 999999999);
	ck_assert(response_check(&r, 200, "", 0, text));
	ck_assert(!response_check(&r, 200, "x", 1, text));

	/* Longer than anything that means something. */
	take(&r, "x-amz-retry-after: 9999999999\r\n");
	ck_assert_uint_eq(r.retry_after_ms, 0);
	take(&r, "x-amz-crc32:\r\n");
	ck_assert(!response_check(&r, 200, "", 0, text));

	/* Another answer, of which nothing is known. */
	take(&r, "HTTP/1.1 200 OK\r\n");
	ck_assert(response_check(&r, 200, "x", 1, text));
	ck_assert_int_eq(r.date_s, 0);

	/* No value ends a text or a terminal's line. */
	take(&r, "content-type: text/\x1b[31m\n");
	ck_assert(!response_check(&r, 200, "x", 1, text));
	ck_assert_ptr_nonnull(strstr(text, "text/?[31m"));
	ck_assert(response_check(&r, 500, "x", 1, text));
}

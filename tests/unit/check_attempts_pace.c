/*
 * The pace of a renewal to which nothing answers: whenever the silence ends,
 * the next attempt comes within half a heartbeat, and the ones before it have
 * had their time. In virtual time.
 */
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"
#include "store/attempts.h"
#include "test.h"

#define WALL UINT64_C(1800000000000)
#define BEGIN UINT64_C(1000000)
#define NEVER UINT64_MAX

#define RECORD \
	"\"key\":{\"S\":\"session:00000000000000000000000000000001\"}," \
	"\"beat\":{\"N\":\"1\"},\"lease_ms\":{\"N\":\"20000\"}"
#define DONE "{\"Attributes\":{" RECORD "}}"
#define THROTTLED \
	"{\"__type\":\"com.amazonaws.dynamodb.v20120810#ThrottlingException\"}"

static const struct dialect_table table = {
	.table = "locks", .key_attribute = "key", .retention_s = 604800,
	.host = "web-1", .pid = "812", .version = "0.1.0",
};
static const enum operation_kind kinds[] = {
	OPERATION_SESSION_OPEN, OPERATION_SESSION_BEAT,
};

/* The answer, if any. */
struct endpoint {
	uint64_t silent_until_ms;	/* requests before that get no answer */
	uint64_t takes_ms;		/* an answer */
	int status;
	const char *body;
};

struct attempt {
	uint32_t number;
	uint64_t answer_ms, until_ms;	/* NEVER: it is not under way */
};

/* An operation from its first attempt to its outcome. */
struct drive {
	struct attempts_shared shared;
	struct attempts attempts;
	struct operation operation;
	struct attempts_step step;
	struct endpoint endpoint;
	struct attempt out[ATTEMPTS_OUT_MAX];
	uint64_t now_ms, next_ms, hedge_ms;
	uint64_t sent_ms, worst_gap_ms;
	unsigned n_sent;
};

static void
drive_send(struct drive *d)
{
	struct attempt *a = &d->out[d->out[0].until_ms == NEVER ? 0 : 1];
	bool silent = d->now_ms < d->endpoint.silent_until_ms;

	ck_assert_uint_eq(a->until_ms, NEVER);
	ck_assert_uint_gt(d->step.time_ms, 0);
	a->number = d->step.attempt;
	a->until_ms = d->now_ms + d->step.time_ms;
	a->answer_ms = silent ? NEVER : d->now_ms + d->endpoint.takes_ms;
	if (d->n_sent++ > 0 && d->now_ms - d->sent_ms > d->worst_gap_ms)
		d->worst_gap_ms = d->now_ms - d->sent_ms;
	d->sent_ms = d->now_ms;
}

static void
drive_step(struct drive *d)
{
	d->next_ms = NEVER;
	d->hedge_ms = d->step.hedge_ms > 0 ? d->now_ms + d->step.hedge_ms :
	    NEVER;
	if (d->step.next == ATTEMPTS_SEND)
		drive_send(d);
	else if (d->step.next == ATTEMPTS_WAIT)
		d->next_ms = d->now_ms + d->step.time_ms;
}

static void
drive_answer(struct drive *d, struct attempt *a)
{
	bool answered = a->answer_ms <= a->until_ms;
	const struct aws_answer answer = {
		.status = answered ? d->endpoint.status : 0,
		.body = answered ? d->endpoint.body : "",
		.body_length = answered ? strlen(d->endpoint.body) : 0,
		.maybe_applied = true, .text = "no answer",
	};
	struct aws_error e;

	a->until_ms = a->answer_ms = NEVER;
	attempts_answer(&d->attempts, a->number, &answer, d->now_ms, UINT32_MAX,
	    &d->step, &e);
	drive_step(d);
}

/* What comes next. */
static void
drive_on(struct drive *d)
{
	struct attempt *first = NULL;
	uint64_t at_ms = d->next_ms < d->hedge_ms ? d->next_ms : d->hedge_ms;

	for (unsigned i = 0; i < ATTEMPTS_OUT_MAX; i++) {
		struct attempt *a = &d->out[i];
		uint64_t end_ms = a->answer_ms < a->until_ms ? a->answer_ms :
		    a->until_ms;

		if (end_ms > at_ms || end_ms == NEVER)
			continue;
		at_ms = end_ms;
		first = a;
	}
	ck_assert_uint_ne(at_ms, NEVER);
	d->now_ms = at_ms;
	if (first != NULL) {
		drive_answer(d, first);
		return;
	}
	if (d->next_ms <= d->now_ms)
		attempts_send(&d->attempts, d->now_ms, &d->step);
	else
		attempts_hedge(&d->attempts, d->now_ms, &d->step);
	drive_step(d);
}

static void
drive_begin(struct drive *d, enum operation_kind kind, uint64_t heartbeat_ms)
{
	const struct endpoint endpoint = {
		.silent_until_ms = NEVER, .takes_ms = 10, .status = 200,
		.body = DONE,
	};

	memset(d, 0, sizeof(*d));
	attempts_shared_init(&d->shared, BEGIN);
	d->endpoint = endpoint;
	d->now_ms = BEGIN;
	d->operation = (struct operation){
		.kind = kind, .submitted_ms = BEGIN,
		.deadline_ms = BEGIN + 14000, .again_ms = heartbeat_ms / 2,
		.session = { 0, 1 }, .lease_ms = 20000,
	};
	for (unsigned i = 0; i < ATTEMPTS_OUT_MAX; i++)
		d->out[i].until_ms = d->out[i].answer_ms = NEVER;
}

static void
drive_to_end(struct drive *d)
{
	attempts_init(&d->attempts, &d->shared, &dialect_native, &table,
	    &d->operation, WALL);
	attempts_send(&d->attempts, d->now_ms, &d->step);
	for (drive_step(d); d->step.next != ATTEMPTS_END; )
		drive_on(d);
	attempts_done(&d->attempts);
}

/* Nothing is left of any budget that others draw on. */
static void
starve(struct attempts_shared *s)
{
	s->hedge.credit = 0;
	s->budget.left = s->budget.reserve = 0;
}

TEST_LOOP(test_silence, 0, 16)
{
	static const uint64_t heartbeats_ms[] = { 1000, 2000, 5000, 7000 };
	enum operation_kind kind = kinds[_i % 2];
	uint64_t heartbeat_ms = heartbeats_ms[_i / 4];
	struct drive d;

	drive_begin(&d, kind, heartbeat_ms);
	if (_i / 2 % 2 == 1)
		starve(&d.shared);
	drive_to_end(&d);
	ck_assert_int_eq(d.step.outcome.kind, OUTCOME_UNKNOWN);
	ck_assert_uint_le(d.worst_gap_ms, heartbeat_ms / 2 + 1);
	ck_assert_uint_le(d.operation.deadline_ms - d.sent_ms,
	    heartbeat_ms / 2 + 1);
	/* Nor is it a storm: some more because they are late, and since the
	 * first ones are given up sooner. */
	ck_assert_uint_le(d.n_sent, 14000 / (heartbeat_ms / 2) + 9);
}

/* Whenever it ends. */
TEST_LOOP(test_end_of_silence, 0, 2)
{
	struct drive d;

	for (uint64_t ms = 0; ms < 13000; ms += 50) {
		drive_begin(&d, kinds[_i], 2000);
		d.endpoint.silent_until_ms = BEGIN + ms;
		drive_to_end(&d);
		ck_assert_int_eq(d.step.outcome.kind, OUTCOME_DONE);
		ck_assert_uint_le(d.now_ms, BEGIN + ms + 1000 + 1 + 10);
	}
}

/* A request to wait is obeyed as far as time allows. */
TEST_LOOP(test_throttled, 0, 2)
{
	struct drive d;

	drive_begin(&d, OPERATION_SESSION_BEAT, 1000);
	d.endpoint.silent_until_ms = 0;
	d.endpoint.status = 400;
	d.endpoint.body = THROTTLED;
	if (_i == 1)
		starve(&d.shared);
	drive_to_end(&d);
	ck_assert_int_eq(d.step.outcome.kind, OUTCOME_REFUSED);
	ck_assert_uint_le(d.worst_gap_ms, 500 + 10);
}

/* A slow endpoint is waited for, though an attempt goes out beside. */
TEST_LOOP(test_slow, 0, 2)
{
	struct drive d;

	drive_begin(&d, kinds[_i], 500);
	d.endpoint.silent_until_ms = 0;
	d.endpoint.takes_ms = 2900;
	drive_to_end(&d);
	ck_assert_int_eq(d.step.outcome.kind, OUTCOME_DONE);
}

/* Two that were lost side by side are one reason to wait longer. */
TEST(test_patience_grows_by_rounds)
{
	struct drive d;

	drive_begin(&d, OPERATION_SESSION_BEAT, 20000);
	attempts_init(&d.attempts, &d.shared, &dialect_native, &table,
	    &d.operation, WALL);
	attempts_send(&d.attempts, d.now_ms, &d.step);
	ck_assert_uint_eq(d.step.time_ms, ATTEMPTS_FIRST_MS);
	for (drive_step(&d); d.n_sent < 3; )
		drive_on(&d);
	ck_assert_uint_eq(d.attempts.n_out, 1);
	ck_assert_uint_eq(d.step.time_ms, 2 * ATTEMPTS_FIRST_MS);
	attempts_done(&d.attempts);
}

/*
 * Shared by all operations: a budget of repetitions, a rate while the endpoint
 * throttles, and the second attempt of a renewal whose answer is late.
 */
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"
#include "store/attempts.h"
#include "test.h"

#define WALL UINT64_C(1800000000000)
#define BEGIN UINT64_C(1000000)
#define FAR 600000

#define ERROR(name) \
	"{\"__type\":\"com.amazonaws.dynamodb.v20120810#" name "\"}"
#define RECORD(beat) \
	"\"key\":{\"S\":\"session:00000000000000000000000000000001\"}," \
	"\"beat\":{\"N\":\"" beat "\"},\"lease_ms\":{\"N\":\"20000\"}"
#define BEAT_DONE "{\"Attributes\":{" RECORD("1") "}}"
/* A condition that failed, with the record and its beat. */
#define BEAT_IS(beat) \
	"{\"__type\":\"x#ConditionalCheckFailedException\",\"Item\":{" \
	RECORD(beat) "}}"

static const struct dialect_table table = {
	.table = "locks", .key_attribute = "key", .retention_s = 604800,
	.host = "web-1", .pid = "812", .version = "0.1.0",
};

static struct attempts_shared shared;

struct drive {
	struct attempts attempts;
	struct operation operation;
	struct attempts_step step;
	struct aws_error error;
	uint64_t now_ms;
};

static void
setup(void)
{
	attempts_shared_init(&shared, BEGIN);
}

static void
begin_for(uint32_t user, struct drive *d, enum operation_kind kind,
    uint64_t now_ms)
{
	static const struct key key = { "k", 1 };

	memset(d, 0, sizeof(*d));
	d->now_ms = now_ms;
	d->operation = (struct operation){
		.kind = kind, .user = user, .submitted_ms = now_ms,
		.deadline_ms = now_ms + FAR, .key = key,
		.me = { { 0, 1 }, { 0, 2 }, 20000, false }, .tokens = 5,
		.mode = LOCK_MODE_EXCLUSIVE, .owner = "us",
		.session = { 0, 1 }, .lease_ms = 20000,
		.holders = &d->operation.me, .n_holders = 1,
		.keys = &d->operation.key, .n_keys = 1,
	};
	attempts_init(&d->attempts, &shared, &dialect_native, &table,
	    &d->operation, WALL);
	attempts_send(&d->attempts, d->now_ms, &d->step);
}

static void
begin(struct drive *d, enum operation_kind kind, uint64_t now_ms)
{
	begin_for(0, d, kind, now_ms);
}

static void
answer(struct drive *d, uint32_t attempt, int status, const char *body)
{
	struct aws_answer a = {
		.status = status, .body = body, .body_length = strlen(body),
		.maybe_applied = true, .text = "the line went dead",
		.sent_ms = d->now_ms,
	};

	attempts_answer(&d->attempts, attempt, &a, d->now_ms, 0, &d->step,
	    &d->error);
}

static void
expect_done(const struct drive *d, uint64_t sent_ms)
{
	ck_assert_int_eq(d->step.next, ATTEMPTS_END);
	ck_assert_int_eq(d->step.outcome.kind, OUTCOME_DONE);
	ck_assert_uint_eq(d->step.outcome.sent_ms, sent_ms);
}

/* ---- a second attempt ---- */

/* A beat whose second attempt is under way, 500 ms after the first. */
static void
begin_hedged(struct drive *d)
{
	begin(d, OPERATION_SESSION_BEAT, BEGIN);
	ck_assert_int_eq(d->step.next, ATTEMPTS_SEND);
	ck_assert_uint_eq(d->step.hedge_ms, HEDGE_UNKNOWN_MS);
	d->now_ms += HEDGE_UNKNOWN_MS;
	attempts_hedge(&d->attempts, d->now_ms, &d->step);
	ck_assert_int_eq(d->step.next, ATTEMPTS_SEND);
	ck_assert_uint_eq(d->step.attempt, 1);
	ck_assert_uint_eq(d->step.hedge_ms, 0);
	ck_assert_uint_eq(d->attempts.translation.attempts[1].what.beat,
	    d->now_ms);
	d->now_ms += 7;
}

TEST_FIXTURE(setup, NULL)

TEST(test_second_answers_first)
{
	struct drive d;

	begin_hedged(&d);
	answer(&d, 1, 200, BEAT_DONE);
	expect_done(&d, BEGIN + HEDGE_UNKNOWN_MS);
	ck_assert_uint_eq(shared.hedges_won, 1);
	/* The first may land yet. */
	ck_assert(d.step.outcome.unanswered);
	attempts_done(&d.attempts);
}

/* The lease counts from the attempt that was acknowledged. */
TEST(test_first_answers_after_all)
{
	struct drive d;

	begin_hedged(&d);
	answer(&d, 0, 200, BEAT_DONE);
	expect_done(&d, BEGIN);
	ck_assert_uint_eq(shared.hedges, 1);
	ck_assert_uint_eq(shared.hedges_won, 0);
	ck_assert(d.step.outcome.unanswered);
	attempts_done(&d.attempts);
}

/* A failed condition shows the beat in the record. */
TEST(test_second_fails_because_of_the_first)
{
	struct drive d;

	begin_hedged(&d);
	answer(&d, 1, 400, BEAT_IS("1000000"));
	expect_done(&d, BEGIN);
	attempts_done(&d.attempts);
}

TEST(test_first_fails_because_of_the_second)
{
	struct drive d;

	begin_hedged(&d);
	answer(&d, 0, 400, BEAT_IS("1000500"));
	expect_done(&d, BEGIN + HEDGE_UNKNOWN_MS);
	attempts_done(&d.attempts);
}

/* What says nothing is no reason to send a third while one is under way. */
TEST_LOOP(test_the_other_is_awaited, 0, 10)
{
	static const struct {
		int status;
		const char *body;
	} nothing[] = {
		{ 0, "" }, { 500, ERROR("InternalServerError") },
		{ 400, ERROR("ThrottlingException") },
		{ 400, ERROR("AccessDeniedException") },
		{ 400, ERROR("ValidationException") },
	};
	uint32_t first = (uint32_t)_i % 2;
	struct drive d;

	begin_hedged(&d);
	answer(&d, first, nothing[_i / 2].status, nothing[_i / 2].body);
	ck_assert_int_eq(d.step.next, ATTEMPTS_AWAIT);
	d.now_ms += 5;
	answer(&d, 1 - first, 200, BEAT_DONE);
	expect_done(&d, first == 1 ? BEGIN : BEGIN + HEDGE_UNKNOWN_MS);
	attempts_done(&d.attempts);
}

TEST(test_both_are_lost)
{
	struct drive d;

	begin_hedged(&d);
	answer(&d, 0, 0, "");
	answer(&d, 1, 0, "");
	ck_assert_int_eq(d.step.next, ATTEMPTS_WAIT);
	d.now_ms += d.step.time_ms;
	attempts_send(&d.attempts, d.now_ms, &d.step);
	ck_assert_int_eq(d.step.next, ATTEMPTS_SEND);
	ck_assert_uint_eq(d.step.attempt, 2);
	ck_assert_uint_gt(d.step.hedge_ms, 0);
	/* And it was the second that took effect. */
	answer(&d, 2, 400, BEAT_IS("1000500"));
	expect_done(&d, BEGIN + HEDGE_UNKNOWN_MS);
	attempts_done(&d.attempts);
}

TEST(test_second_cannot_be_sent)
{
	struct drive d;

	begin_hedged(&d);
	attempts_fail(&d.attempts, 1, DDBLOCK_E_NOMEM, &d.step);
	ck_assert_int_eq(d.step.next, ATTEMPTS_AWAIT);
	answer(&d, 0, 200, BEAT_DONE);
	expect_done(&d, BEGIN);
	ck_assert(!d.step.outcome.unanswered);
	attempts_done(&d.attempts);
}

TEST(test_only_renewals)
{
	static const enum operation_kind others[] = {
		OPERATION_ACQUIRE, OPERATION_RELEASE, OPERATION_READ,
		OPERATION_SESSION_OPEN, OPERATION_SESSION_CLOSE,
	};
	struct drive d;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		begin(&d, others[i], BEGIN);
		ck_assert_uint_eq(d.step.hedge_ms, 0);
		attempts_done(&d.attempts);
	}
}

/* Late is what 99 of 100 are not. */
TEST(test_when_it_is_late)
{
	struct aws_answer a = { .status = 200, .text = "" };
	struct aws_error e = { .class = AWS_CLASS_OK };

	for (uint64_t i = 0; i < 1000; i++) {
		a.sent_ms = BEGIN;
		health_learn(&shared.health, &a, &e,
		    BEGIN + (i % 100 < 98 ? 30 : 170));
	}
	ck_assert_uint_ge(hedge_delay_ms(&shared.health, BEGIN), 170);
	ck_assert_uint_le(hedge_delay_ms(&shared.health, BEGIN), 204);
	/* Never so soon that every pause of a host makes one. */
	setup();
	for (uint64_t i = 0; i < 1000; i++)
		health_learn(&shared.health, &a, &e, BEGIN + 1);
	ck_assert_uint_eq(hedge_delay_ms(&shared.health, BEGIN),
	    HEDGE_MIN_MS);
}

/* If all is late, one beat in twenty has a second attempt. */
TEST(test_hedges_are_bounded)
{
	struct drive d;
	unsigned hedges = 0;

	for (unsigned i = 0; i < 2000; i++) {
		begin(&d, OPERATION_SESSION_BEAT, BEGIN + i);
		d.now_ms += HEDGE_UNKNOWN_MS;
		attempts_hedge(&d.attempts, d.now_ms, &d.step);
		if (d.step.next == ATTEMPTS_SEND)
			hedges++;
		else
			ck_assert_int_eq(d.step.next, ATTEMPTS_AWAIT);
		attempts_done(&d.attempts);
	}
	ck_assert_uint_le(hedges, 2000 / HEDGE_COST + 5);
	ck_assert_uint_ge(hedges, 2000 / HEDGE_COST);
	ck_assert_uint_eq(shared.hedges, hedges);
}

/* ---- repetitions ---- */

/* Repetitions that operations of a kind get in an outage, at most @max. */
static unsigned
repeat(enum operation_kind kind, uint64_t now_ms, unsigned max)
{
	struct drive d;
	unsigned n = 0;

	begin(&d, kind, now_ms);
	while (n < max) {
		answer(&d, d.step.attempt, 500, ERROR("InternalServerError"));
		if (d.step.next == ATTEMPTS_END)
			break;
		n++;
		d.now_ms += d.step.time_ms;
		attempts_send(&d.attempts, d.now_ms, &d.step);
	}
	attempts_done(&d.attempts);
	return n;
}

TEST(test_outage_is_no_storm)
{
	unsigned n = 0;

	for (unsigned i = 0; i < 100; i++)
		n += repeat(OPERATION_ACQUIRE, BEGIN, 10);
	ck_assert_uint_eq(n, RETRY_BUDGET_MAX / RETRY_BUDGET_COST);
}

/* After any other attempts. */
TEST_LOOP(test_leases_have_a_reserve, 0, 4)
{
	static const enum operation_kind leases[] = {
		OPERATION_SESSION_BEAT, OPERATION_RELEASE,
		OPERATION_SESSION_OPEN, OPERATION_SESSION_CLOSE,
	};

	for (unsigned i = 0; i < 100; i++)
		(void)repeat(OPERATION_ACQUIRE, BEGIN, 10);
	ck_assert_uint_eq(repeat(OPERATION_ACQUIRE, BEGIN, 20), 0);
	ck_assert_uint_eq(repeat(leases[_i], BEGIN, 20), 20);
}

/* The reserve ends too: then each waits as long as it may, but is sent. */
TEST(test_reserve_is_bounded)
{
	struct drive d;

	shared.budget.left = 0;
	for (unsigned i = 0; i < RETRY_RESERVE_MAX; i++) {
		begin(&d, OPERATION_RELEASE, BEGIN);
		answer(&d, 0, 500, ERROR("InternalServerError"));
		ck_assert_uint_lt(d.step.time_ms, RETRY_BASE_MS);
		attempts_done(&d.attempts);
	}
	begin(&d, OPERATION_RELEASE, BEGIN);
	answer(&d, 0, 500, ERROR("InternalServerError"));
	ck_assert_int_eq(d.step.next, ATTEMPTS_WAIT);
	ck_assert_uint_eq(d.step.time_ms, RETRY_CAP_SESSION_MS);
	attempts_done(&d.attempts);
	/* It fills with time. */
	begin(&d, OPERATION_RELEASE, BEGIN + RETRY_RESERVE_MS);
	answer(&d, 0, 500, ERROR("InternalServerError"));
	ck_assert_uint_lt(d.step.time_ms, RETRY_BASE_MS);
	attempts_done(&d.attempts);
}

TEST(test_successes_fill_the_bucket)
{
	struct drive d;

	shared.budget.left = 20;
	begin(&d, OPERATION_SESSION_CLOSE, BEGIN);
	answer(&d, 0, 500, ERROR("InternalServerError"));
	ck_assert_uint_eq(shared.budget.left, 20 - RETRY_BUDGET_COST);
	d.now_ms += d.step.time_ms;
	attempts_send(&d.attempts, d.now_ms, &d.step);
	answer(&d, 1, 200, "{\"Attributes\":{\"dead\":{\"BOOL\":true}}}");
	ck_assert_uint_eq(shared.budget.left, 20);
	attempts_done(&d.attempts);
	begin(&d, OPERATION_READ, BEGIN);
	answer(&d, 0, 200, "{}");
	ck_assert_uint_eq(shared.budget.left, 20 + RETRY_BUDGET_REFUND);
	attempts_done(&d.attempts);
	shared.budget.left = RETRY_BUDGET_MAX;
	begin(&d, OPERATION_READ, BEGIN);
	answer(&d, 0, 200, "{}");
	ck_assert_uint_eq(shared.budget.left, RETRY_BUDGET_MAX);
	attempts_done(&d.attempts);
}

/* Neither a wrong clock nor a long queue of our own is overload. */
TEST(test_what_costs_nothing)
{
	struct aws_answer queued = {
		.body = "", .text = "no turn", .queued = true,
	};
	struct drive d;

	shared.budget.left = 0;
	begin(&d, OPERATION_ACQUIRE, BEGIN);
	attempts_answer(&d.attempts, 0, &queued, BEGIN, 0, &d.step, &d.error);
	ck_assert_int_eq(d.step.next, ATTEMPTS_WAIT);
	attempts_done(&d.attempts);
	queued.queued = false;
	begin(&d, OPERATION_ACQUIRE, BEGIN);
	attempts_answer(&d.attempts, 0, &queued, BEGIN, 0, &d.step, &d.error);
	ck_assert_int_eq(d.step.next, ATTEMPTS_END);
	attempts_done(&d.attempts);
	begin(&d, OPERATION_ACQUIRE, BEGIN);
	answer(&d, 0, 400, ERROR("RequestTimeTooSkewed"));
	ck_assert_int_eq(d.step.next, ATTEMPTS_WAIT);
	attempts_done(&d.attempts);
}

/* ---- the endpoint's requests ---- */

/* Attempts that go in any case: one hot item must not stop all others. */
static void
spend_what_is_free(uint64_t now_ms)
{
	struct drive d;

	for (unsigned i = 0; i < (unsigned)RATE_LIMIT_FREE_MAX; i++) {
		begin(&d, OPERATION_READ, now_ms);
		ck_assert_int_eq(d.step.next, ATTEMPTS_SEND);
		attempts_done(&d.attempts);
	}
}

TEST(test_throttling_slows_all_but_leases)
{
	struct drive d, other;

	begin(&d, OPERATION_ACQUIRE, BEGIN);
	answer(&d, 0, 400, ERROR("ThrottlingException"));
	spend_what_is_free(BEGIN + 1);
	begin(&other, OPERATION_READ, BEGIN + 1);
	ck_assert_int_eq(other.step.next, ATTEMPTS_WAIT);
	ck_assert_uint_eq(other.step.time_ms, 100);
	attempts_done(&other.attempts);
	begin(&other, OPERATION_SESSION_BEAT, BEGIN + 1);
	ck_assert_int_eq(other.step.next, ATTEMPTS_SEND);
	attempts_done(&other.attempts);
	begin(&other, OPERATION_RELEASE, BEGIN + 1);
	ck_assert_int_eq(other.step.next, ATTEMPTS_SEND);
	attempts_done(&other.attempts);
	/* It ends when there was none for a while. */
	begin(&other, OPERATION_READ, BEGIN + 31000);
	ck_assert_int_eq(other.step.next, ATTEMPTS_SEND);
	attempts_done(&other.attempts);
	attempts_done(&d.attempts);
}

/* Of those that the rate holds back users have turns, and one that comes later
 * waits for its turn, too. */
TEST(test_held_back_in_turn)
{
	enum { MANY = 100 };
	static struct drive many[MANY];
	struct drive d, other, later;
	unsigned n = 0;

	begin(&d, OPERATION_ACQUIRE, BEGIN);
	answer(&d, 0, 400, ERROR("ThrottlingException"));
	spend_what_is_free(BEGIN);
	for (int i = 0; i < MANY; i++) {
		begin_for(1, &many[i], OPERATION_READ, BEGIN);
		ck_assert_int_eq(many[i].step.next, ATTEMPTS_WAIT);
	}
	begin_for(2, &other, OPERATION_READ, BEGIN + 1);
	ck_assert_int_eq(other.step.next, ATTEMPTS_WAIT);
	/* It leaves, and nothing is kept for it. */
	attempts_give_up(&many[0].attempts, &many[0].step);
	/* Two may go. */
	begin_for(1, &later, OPERATION_READ, BEGIN + 200);
	ck_assert_int_eq(later.step.next, ATTEMPTS_WAIT);
	for (int i = 1; i < MANY; i++) {
		attempts_send(&many[i].attempts, BEGIN + 200, &many[i].step);
		n += many[i].step.next == ATTEMPTS_SEND;
	}
	ck_assert_uint_eq(n, 1);
	ck_assert_int_eq(many[1].step.next, ATTEMPTS_SEND);
	attempts_send(&other.attempts, BEGIN + 200, &other.step);
	ck_assert_int_eq(other.step.next, ATTEMPTS_SEND);
	for (int i = 0; i < MANY; i++)
		attempts_done(&many[i].attempts);
	attempts_done(&later.attempts);
	attempts_done(&other.attempts);
	attempts_done(&d.attempts);
	ck_assert(fair_queue_is_empty(&shared.line));
}

/* Another client's transaction blocks one item only. */
TEST(test_conflict_is_no_throttling)
{
	struct drive d, other;

	begin(&d, OPERATION_ACQUIRE, BEGIN);
	answer(&d, 0, 400, ERROR("TransactionConflictException"));
	begin(&other, OPERATION_READ, BEGIN + 1);
	ck_assert_int_eq(other.step.next, ATTEMPTS_SEND);
	attempts_done(&other.attempts);
	attempts_done(&d.attempts);
}

/* No time is left when the rate allows it: it was never sent. */
TEST(test_held_back_to_the_end)
{
	struct drive d, other;

	begin(&d, OPERATION_ACQUIRE, BEGIN);
	answer(&d, 0, 400, ERROR("ThrottlingException"));
	spend_what_is_free(BEGIN);
	begin(&other, OPERATION_READ, BEGIN);
	ck_assert_int_eq(other.step.next, ATTEMPTS_WAIT);
	other.operation.deadline_ms = BEGIN + 100;
	attempts_send(&other.attempts, BEGIN + 50, &other.step);
	ck_assert_int_eq(other.step.next, ATTEMPTS_END);
	ck_assert_int_eq(other.step.outcome.kind, OUTCOME_REFUSED);
	ck_assert_int_eq(other.step.outcome.code, DDBLOCK_E_THROTTLED);
	ck_assert_ptr_nonnull(strstr(other.step.outcome.text, "held back"));
	attempts_done(&other.attempts);
	attempts_done(&d.attempts);
}

TEST_LOOP(test_retry_after, 0, 5)
{
	static const struct {
		enum operation_kind kind;
		uint64_t asked_ms;
		uint64_t wait_ms;
	} cases[] = {
		{ OPERATION_SCAN, 0, 1 },
		{ OPERATION_SCAN, 3000, 3000 },
		{ OPERATION_SCAN, 60000, RETRY_AFTER_MAX_MS },
		/* A lease does not bear as much. */
		{ OPERATION_SESSION_BEAT, 700, 700 },
		{ OPERATION_SESSION_BEAT, 60000, RETRY_CAP_SESSION_MS },
	};
	struct aws_answer a = {
		.status = 503, .body = "", .text = "",
		.retry_after_ms = cases[_i].asked_ms,
	};
	struct drive d;

	begin(&d, cases[_i].kind, BEGIN);
	attempts_answer(&d.attempts, 0, &a, BEGIN, 0, &d.step, &d.error);
	ck_assert_int_eq(d.step.next, ATTEMPTS_WAIT);
	ck_assert_uint_eq(d.step.time_ms, cases[_i].wait_ms);
	attempts_done(&d.attempts);
}

/* ---- an endpoint that became slow ---- */

/* A read with two seconds, at an endpoint that takes @takes_ms. */
static enum outcome_kind
read_slowly(uint64_t takes_ms, uint64_t *now_ms, uint64_t *ret_first_ms)
{
	enum outcome_kind kind;
	uint64_t time_ms;
	struct drive d;

	begin(&d, OPERATION_READ, *now_ms);
	attempts_done(&d.attempts);
	d.operation.deadline_ms = *now_ms + 2000;
	attempts_init(&d.attempts, &shared, &dialect_native, &table,
	    &d.operation, WALL);
	attempts_send(&d.attempts, d.now_ms, &d.step);
	*ret_first_ms = d.step.time_ms;
	while (d.step.next != ATTEMPTS_END) {
		time_ms = d.step.time_ms;
		if (d.step.next == ATTEMPTS_WAIT) {
			d.now_ms += time_ms;
			attempts_send(&d.attempts, d.now_ms, &d.step);
		} else if (takes_ms <= time_ms) {
			d.now_ms += takes_ms;
			answer(&d, d.step.attempt, 200, "{}");
		} else {
			d.now_ms += time_ms;
			answer(&d, d.step.attempt, 0, "");
		}
	}
	kind = d.step.outcome.kind;
	*now_ms = d.now_ms + 50;
	attempts_done(&d.attempts);
	return kind;
}

/* Longer than any of its attempts has by itself, half a second and one. */
TEST(test_slow_endpoint_is_heard)
{
	uint64_t now_ms = BEGIN, first_ms;

	ck_assert_int_eq(read_slowly(1200, &now_ms, &first_ms),
	    OUTCOME_UNKNOWN);
	ck_assert_uint_eq(first_ms, 500);
	ck_assert_int_eq(read_slowly(1200, &now_ms, &first_ms), OUTCOME_DONE);
	ck_assert_uint_eq(first_ms, 2000);
	/* And is not forgotten while it is slow. */
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(read_slowly(1200, &now_ms, &first_ms),
		    OUTCOME_DONE);
	for (int i = 0; i < 2 * PATIENCE_PROMPT; i++)
		ck_assert_int_eq(read_slowly(10, &now_ms, &first_ms),
		    OUTCOME_DONE);
	ck_assert_uint_eq(shared.patience.doublings, 0);
}

/* What is refused at once needs no more time. */
TEST(test_no_connection_is_no_reason)
{
	struct drive d;

	begin(&d, OPERATION_READ, BEGIN);
	answer(&d, 0, 0, "");
	ck_assert_uint_eq(shared.patience.doublings, 0);
	attempts_done(&d.attempts);
}

/*
 * The attempts of an operation: how long an attempt may take, what each answer
 * means for a write and for a read, and how it ends.
 */
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"
#include "store/attempts.h"
#include "test.h"

#define WALL UINT64_C(1800000000000)
#define BEGIN UINT64_C(1000000)		/* boot time of the submission */
#define FAR 600000

#define ERROR(name, text) \
	"{\"__type\":\"com.amazonaws.dynamodb.v20120810#" name "\"," \
	"\"message\":\"" text "\"}"
#define THROTTLED ERROR("ThrottlingException", "slowly")
#define EXPIRED ERROR("ExpiredTokenException", "it is expired")
#define DENIED ERROR("AccessDeniedException", "not you")
#define INVALID ERROR("ValidationException", "a type")
#define LATE ERROR("InvalidSignatureException", \
	"Signature expired: 20260101T000000Z is now earlier than " \
	"20260101T001000Z (20260101T001500Z - 5 min.)")
#define BROKEN ERROR("InternalServerError", "oops")
#define STANDS ERROR("ConditionalCheckFailedException", "no")

static const struct dialect_table table = {
	.table = "locks", .key_attribute = "key", .retention_s = 604800,
	.host = "web-1", .pid = "812", .version = "0.1.0",
};

struct drive {
	struct attempts attempts;
	struct attempts_shared shared;
	struct operation operation;
	struct attempts_step step;
	struct aws_error error;
	uint64_t now_ms;
};

static void
drive_init(struct drive *d, enum operation_kind kind, uint64_t time_ms)
{
	static const struct key key = { "k", 1 };

	memset(d, 0, sizeof(*d));
	d->now_ms = BEGIN;
	d->operation = (struct operation){
		.kind = kind, .submitted_ms = BEGIN,
		.deadline_ms = BEGIN + time_ms, .key = key,
		.me = { { 0, 1 }, { 0, 2 }, 20000, false }, .tokens = 5,
		.mode = LOCK_MODE_EXCLUSIVE,
		.owner = "us", .session = { 0, 1 }, .lease_ms = 20000,
		.keys = &key, .n_keys = 1,
	};
	attempts_shared_init(&d->shared, BEGIN);
	attempts_init(&d->attempts, &d->shared, &dialect_native, &table,
	    &d->operation, WALL);
	attempts_send(&d->attempts, d->now_ms, &d->step);
}

static void
drive_done(struct drive *d)
{
	attempts_done(&d->attempts);
}

/* The answer comes now; one of status 0 is a loss. */
static void
drive_answer(struct drive *d, int status, const char *body, uint32_t random)
{
	struct aws_answer a = {
		.status = status, .body = body, .body_length = strlen(body),
		.text = "", .sent_ms = d->now_ms,
	};

	ck_assert_int_eq(d->step.next, ATTEMPTS_SEND);
	if (status == 0) {
		a.code = DDBLOCK_E_UNREACHABLE;
		a.maybe_applied = true;
		a.text = "the line went dead";
	}
	attempts_answer(&d->attempts, d->step.attempt, &a, d->now_ms, random,
	    &d->step, &d->error);
}

/* To the end of the wait, and of what the rate adds to it. */
static void
drive_on(struct drive *d)
{
	ck_assert_int_eq(d->step.next, ATTEMPTS_WAIT);
	while (d->step.next == ATTEMPTS_WAIT) {
		d->now_ms += d->step.time_ms;
		attempts_send(&d->attempts, d->now_ms, &d->step);
	}
}

static void
drive_lose(struct drive *d)
{
	d->now_ms += d->step.time_ms;
	drive_answer(d, 0, "", 0);
}

/* A time of zero ends the row. */
static const struct {
	uint64_t time_ms;		/* of the operation */
	uint64_t attempts_ms[8];	/* each is lost, and repeated after 1 */
} times[] = {
	{ 20000, { 1500, 3000, 6000, 20000 - 10500 - 3 } },
	{ 6000, { 1500, 3000, 6000 - 4500 - 2 } },
	{ 4000, { 1000, 2000, 1000 - 2 } },
	{ 1000, { 250, 500, 250 - 2 } },
	{ 300, { 100, 200 - 1 } },
	{ 60, { 60 } },
	{ FAR, { 1500, 3000, 6000, 12000, 24000, 48000, 96000, 192000 } },
};

TEST_ROWS(test_attempts_grow_with_losses, times)
{
	struct drive d;

	drive_init(&d, OPERATION_SESSION_BEAT, times[_i].time_ms);
	for (int i = 0; i < 8 && times[_i].attempts_ms[i] != 0; i++) {
		if (i > 0)
			drive_on(&d);
		ck_assert_int_eq(d.step.next, ATTEMPTS_SEND);
		ck_assert_uint_eq(d.step.time_ms, times[_i].attempts_ms[i]);
		drive_lose(&d);
	}
	/* Only the longest has time left. */
	ck_assert_int_eq(d.step.next,
	    times[_i].time_ms == FAR ? ATTEMPTS_WAIT : ATTEMPTS_END);
	drive_done(&d);
}

/* An answer, even an error, says nothing about the line. */
TEST(test_attempts_do_not_grow_with_errors)
{
	struct drive d;

	drive_init(&d, OPERATION_SESSION_BEAT, 20000);
	for (int i = 0; i < 4; i++) {
		ck_assert_uint_eq(d.step.time_ms, 1500);
		drive_answer(&d, 400, THROTTLED, 0);
		drive_on(&d);
	}
	drive_done(&d);
}

/*
 * One answer to the first attempt. If it is to be repeated, the next bound of
 * the wait is @wait_ms, and then the outcome without a repetition.
 */
static const struct {
	enum operation_kind kind;
	int status;
	bool not_sent;		/* status 0: not a byte has left */
	const char *body;
	enum attempts_next next;
	uint64_t wait_ms;
	enum outcome_kind outcome;
	int code;
	bool unanswered;
} answers[] = {
	{ OPERATION_SESSION_CLOSE, 0, false, "", ATTEMPTS_WAIT, 24,
	    OUTCOME_UNKNOWN, DDBLOCK_E_UNREACHABLE, true },
	{ OPERATION_SESSION_CLOSE, 0, true, "", ATTEMPTS_WAIT, 24,
	    OUTCOME_REFUSED, DDBLOCK_E_UNREACHABLE, false },
	{ OPERATION_READ, 0, false, "", ATTEMPTS_WAIT, 24,
	    OUTCOME_UNKNOWN, DDBLOCK_E_UNREACHABLE, false },
	{ OPERATION_READ, 0, true, "", ATTEMPTS_WAIT, 24,
	    OUTCOME_REFUSED, DDBLOCK_E_UNREACHABLE, false },
	/* An error within the service may come after the effect. */
	{ OPERATION_SESSION_CLOSE, 500, false, BROKEN, ATTEMPTS_WAIT, 24,
	    OUTCOME_UNKNOWN, DDBLOCK_E_UNREACHABLE, true },
	{ OPERATION_SESSION_CLOSE, 502, false, "<html>", ATTEMPTS_WAIT, 24,
	    OUTCOME_UNKNOWN, DDBLOCK_E_UNREACHABLE, true },
	/* A success that cannot be parsed. */
	{ OPERATION_SESSION_CLOSE, 200, false, "<html>", ATTEMPTS_WAIT, 24,
	    OUTCOME_UNKNOWN, DDBLOCK_E_UNREACHABLE, true },
	/* These did not happen. */
	{ OPERATION_SESSION_CLOSE, 400, false, THROTTLED, ATTEMPTS_WAIT, 999,
	    OUTCOME_REFUSED, DDBLOCK_E_THROTTLED, false },
	{ OPERATION_READ, 400, false, THROTTLED, ATTEMPTS_WAIT, 999,
	    OUTCOME_REFUSED, DDBLOCK_E_THROTTLED, false },
	{ OPERATION_SESSION_CLOSE, 400, false, DENIED, ATTEMPTS_END, 0,
	    OUTCOME_REFUSED, DDBLOCK_E_ACCESS_DENIED, false },
	/* Others may be on their way. */
	{ OPERATION_SESSION_CLOSE, 400, false, EXPIRED, ATTEMPTS_WAIT, 999,
	    OUTCOME_REFUSED, DDBLOCK_E_NO_CREDENTIALS, false },
	/* A read has nothing to look at. */
	{ OPERATION_READ, 400, false, INVALID, ATTEMPTS_END, 0,
	    OUTCOME_REFUSED, DDBLOCK_E_INTERNAL, false },
	{ OPERATION_READ, 200, false, "{}", ATTEMPTS_END, 0,
	    OUTCOME_DONE, 0, false },
};

TEST_ROWS(test_answers, answers)
{
	struct aws_answer a = {
		.status = answers[_i].status, .body = answers[_i].body,
		.body_length = strlen(answers[_i].body),
		.maybe_applied = !answers[_i].not_sent,
		.text = "the line went dead", .sent_ms = BEGIN + 3,
	};
	struct drive d;

	drive_init(&d, answers[_i].kind, FAR);
	attempts_answer(&d.attempts, d.step.attempt, &a, BEGIN + 5, UINT32_MAX,
	    &d.step, &d.error);
	ck_assert_int_eq(d.step.next, answers[_i].next);
	if (answers[_i].status == 0)
		ck_assert_str_eq(d.error.text, "the line went dead");
	if (d.step.next == ATTEMPTS_WAIT) {
		ck_assert_uint_eq(d.step.time_ms, answers[_i].wait_ms);
		attempts_give_up(&d.attempts, &d.step);
		ck_assert_int_eq(d.step.next, ATTEMPTS_END);
	}
	ck_assert_int_eq(d.step.outcome.kind, answers[_i].outcome);
	ck_assert_int_eq(d.step.outcome.code, answers[_i].code);
	ck_assert(d.step.outcome.unanswered == answers[_i].unanswered);
	if (answers[_i].unanswered)
		ck_assert_uint_eq(d.step.outcome.unanswered_ms, BEGIN + 3);
	drive_done(&d);
}

/* A write that is invalid is explained by the record, at once. */
TEST(test_invalid_write_looks)
{
	struct drive d;

	drive_init(&d, OPERATION_SESSION_CLOSE, FAR);
	ck_assert_str_eq(d.step.request->operation, "UpdateItem");
	drive_answer(&d, 400, INVALID, 0);
	ck_assert_int_eq(d.step.next, ATTEMPTS_SEND);
	ck_assert_str_eq(d.step.request->operation, "GetItem");
	drive_answer(&d, 200, "{\"Item\":{\"key\":{\"S\":\"session:"
	    "00000000000000000000000000000001\"},\"beat\":{\"S\":\"1\"}}}", 0);
	ck_assert_int_eq(d.step.next, ATTEMPTS_END);
	ck_assert_int_eq(d.step.outcome.kind, OUTCOME_REFUSED);
	ck_assert_int_eq(d.step.outcome.code, DDBLOCK_E_BAD_RECORD);
	ck_assert_ptr_nonnull(strstr(d.step.outcome.text, "\"beat\""));
	drive_done(&d);
}

/* A dead session is dead, with any other content of the record. */
TEST(test_close_of_spoilt_session)
{
	struct drive d;

	drive_init(&d, OPERATION_SESSION_CLOSE, FAR);
	drive_answer(&d, 200, "{\"Attributes\":{\"dead\":{\"BOOL\":true},"
	    "\"beat\":{\"S\":\"1\"}}}", 0);
	ck_assert_int_eq(d.step.next, ATTEMPTS_END);
	ck_assert_int_eq(d.step.outcome.kind, OUTCOME_DONE);
	ck_assert(d.step.outcome.session.dead);
	ck_assert_str_eq(d.step.outcome.text, "");
	drive_done(&d);
}

/* The record is read at once too where the answer does not carry it. */
TEST(test_condition_without_record_looks)
{
	struct drive d;

	drive_init(&d, OPERATION_SESSION_CLOSE, FAR);
	drive_answer(&d, 400, STANDS, 0);
	ck_assert_int_eq(d.step.next, ATTEMPTS_SEND);
	ck_assert_str_eq(d.step.request->operation, "GetItem");
	drive_answer(&d, 200, "{}", 0);
	ck_assert_int_eq(d.step.next, ATTEMPTS_END);
	ck_assert_int_eq(d.step.outcome.kind, OUTCOME_CONFLICT);
	ck_assert(!d.step.outcome.session.exists);
	drive_done(&d);
}

/* Repetitions double up to a cap, which is low for what a lease needs. */
static const struct {
	enum operation_kind kind;
	const char *body;
	uint64_t waits_ms[8];
} waits[] = {
	{ OPERATION_SESSION_BEAT, THROTTLED, { 999, 999, 999 } },
	{ OPERATION_ACQUIRE, THROTTLED, { 999, 999, 999 } },
	{ OPERATION_ACQUIRE, BROKEN,
	    { 24, 49, 99, 199, 399, 799, 999, 999 } },
	{ OPERATION_READ_MANY, THROTTLED,
	    { 999, 1999, 3999, 7999, 15999, 19999, 19999 } },
	{ OPERATION_SCAN, THROTTLED,
	    { 999, 1999, 3999, 7999, 15999, 19999, 19999 } },
};

TEST_ROWS(test_waits, waits)
{
	struct drive d;

	drive_init(&d, waits[_i].kind, FAR);
	for (int i = 0; i < 8 && waits[_i].waits_ms[i] != 0; i++) {
		drive_answer(&d, 500, waits[_i].body, UINT32_MAX);
		ck_assert_int_eq(d.step.next, ATTEMPTS_WAIT);
		ck_assert_uint_eq(d.step.time_ms, waits[_i].waits_ms[i]);
		drive_on(&d);
	}
	drive_done(&d);
}

/* The lowest dice do not make two beats of one millisecond. */
TEST(test_never_twice_in_a_millisecond)
{
	struct drive d;
	uint64_t before_ms;

	drive_init(&d, OPERATION_SESSION_BEAT, FAR);
	for (int i = 0; i < 5; i++) {
		before_ms = d.now_ms;
		drive_answer(&d, 400, i == 0 ? LATE : THROTTLED, 0);
		drive_on(&d);
		ck_assert_uint_eq(d.now_ms, before_ms + 1);
		ck_assert_uint_eq(
		    d.attempts.translation.attempts[i + 1].what.beat, d.now_ms);
	}
	drive_done(&d);
}

/* Our clock is put right by the answer itself; a third time it is not that. */
TEST(test_wrong_clock)
{
	struct drive d;

	drive_init(&d, OPERATION_SESSION_CLOSE, FAR);
	for (int i = 0; i < 2; i++) {
		drive_answer(&d, 400, LATE, UINT32_MAX);
		ck_assert_int_eq(d.step.next, ATTEMPTS_WAIT);
		ck_assert_uint_eq(d.step.time_ms, 1);
		drive_on(&d);
	}
	drive_answer(&d, 400, LATE, UINT32_MAX);
	ck_assert_int_eq(d.step.next, ATTEMPTS_END);
	ck_assert_int_eq(d.step.outcome.kind, OUTCOME_REFUSED);
	drive_done(&d);
}

/*
 * How it ends when time is up: what the attempts met (l: lost, t: throttled),
 * and then.
 */
static const struct {
	enum operation_kind kind;
	const char *met;
	enum outcome_kind outcome;
	int code;
	bool unanswered;
} ends[] = {
	{ OPERATION_SESSION_CLOSE, "", OUTCOME_REFUSED,
	    DDBLOCK_E_UNREACHABLE, false },
	{ OPERATION_SESSION_CLOSE, "l", OUTCOME_UNKNOWN,
	    DDBLOCK_E_UNREACHABLE, true },
	{ OPERATION_SESSION_CLOSE, "t", OUTCOME_REFUSED,
	    DDBLOCK_E_THROTTLED, false },
	/* A later refusal does not answer for an earlier attempt. */
	{ OPERATION_SESSION_CLOSE, "lt", OUTCOME_UNKNOWN,
	    DDBLOCK_E_THROTTLED, true },
	{ OPERATION_SESSION_CLOSE, "tl", OUTCOME_UNKNOWN,
	    DDBLOCK_E_UNREACHABLE, true },
	{ OPERATION_READ, "", OUTCOME_REFUSED, DDBLOCK_E_UNREACHABLE, false },
	{ OPERATION_READ, "l", OUTCOME_UNKNOWN, DDBLOCK_E_UNREACHABLE,
	    false },
	{ OPERATION_READ, "t", OUTCOME_REFUSED, DDBLOCK_E_THROTTLED, false },
	{ OPERATION_READ, "lt", OUTCOME_UNKNOWN, DDBLOCK_E_THROTTLED, false },
};

static void
drive_meet(struct drive *d, const char *met)
{
	for (; *met != '\0'; met++) {
		if (*met == 'l')
			drive_answer(d, 0, "", 0);
		else
			drive_answer(d, 400, THROTTLED, 0);
		if (met[1] != '\0')
			drive_on(d);
	}
}

TEST_ROWS(test_time_is_up, ends)
{
	struct drive d;

	drive_init(&d, ends[_i].kind, 1000);
	if (ends[_i].met[0] == '\0') {
		/* It had to wait for the look at the table. */
		drive_done(&d);
		attempts_init(&d.attempts, &d.shared, &dialect_native, &table,
		    &d.operation, WALL);
	}
	drive_meet(&d, ends[_i].met);
	attempts_send(&d.attempts, d.operation.deadline_ms, &d.step);
	ck_assert_int_eq(d.step.next, ATTEMPTS_END);
	ck_assert_int_eq(d.step.outcome.kind, ends[_i].outcome);
	ck_assert_int_eq(d.step.outcome.code, ends[_i].code);
	ck_assert(d.step.outcome.unanswered == ends[_i].unanswered);
	drive_done(&d);
}

/* No repetition that could not be answered any more. */
TEST(test_no_room_for_another)
{
	struct drive d;

	drive_init(&d, OPERATION_SESSION_CLOSE, 1000);
	d.now_ms = d.operation.deadline_ms - RETRY_ROOM_MS - 1;
	drive_answer(&d, 400, THROTTLED, UINT32_MAX);
	ck_assert_int_eq(d.step.next, ATTEMPTS_WAIT);
	drive_on(&d);
	ck_assert_uint_eq(d.now_ms, d.operation.deadline_ms - RETRY_ROOM_MS);
	drive_answer(&d, 400, THROTTLED, UINT32_MAX);
	ck_assert_int_eq(d.step.next, ATTEMPTS_END);
	ck_assert_int_eq(d.step.outcome.kind, OUTCOME_REFUSED);
	drive_done(&d);
}

/* An attempt that cannot be sent did not happen; an earlier one may have. */
TEST_LOOP(test_cannot_be_sent, 0, 2)
{
	struct drive d;

	drive_init(&d, OPERATION_SESSION_CLOSE, FAR);
	if (_i == 1) {
		drive_lose(&d);
		drive_on(&d);
	}
	attempts_fail(&d.attempts, d.step.attempt, DDBLOCK_E_NOMEM, &d.step);
	ck_assert_int_eq(d.step.next, ATTEMPTS_END);
	ck_assert_int_eq(d.step.outcome.kind,
	    _i == 1 ? OUTCOME_UNKNOWN : OUTCOME_REFUSED);
	ck_assert_int_eq(d.step.outcome.code, DDBLOCK_E_NOMEM);
	ck_assert(d.step.outcome.unanswered == (_i == 1));
	drive_done(&d);
}

#define STANDS_AT(token, more) \
	"{\"__type\":\"x#ConditionalCheckFailedException\",\"message\":" \
	"\"no\",\"Item\":{\"mode\":{\"S\":\"x\"},\"token\":{\"N\":\"" token \
	"\"}" more "}}"
#define HELD \
	",\"holders\":{\"SS\":[\"00000000000000000000000000000003." \
	"00000000000000000000000000000004.20000.-\"]}"

/*
 * Tokens end at 2^53 - 1. A record that is nearer to it than a block is not
 * written to: where no token was seen, the condition and the record say so,
 * and otherwise nothing is even sent. The block is of five.
 */
static const struct {
	enum operation_kind kind;
	bool dead;		/* taken from one */
	uint64_t seen;
	const char *stands;	/* NULL: it is not sent */
	enum outcome_kind outcome;
} lasts[] = {
	{ OPERATION_ACQUIRE, false, 0, STANDS_AT("9007199254740987", ""),
	    OUTCOME_REFUSED },
	{ OPERATION_ACQUIRE, false, 0, STANDS_AT("9007199254740986", ""),
	    OUTCOME_CONFLICT },
	{ OPERATION_ACQUIRE, false, 0, STANDS_AT("9007199254740992", ""),
	    OUTCOME_REFUSED },
	{ OPERATION_ACQUIRE, false, 0, STANDS_AT("-1", ""), OUTCOME_REFUSED },
	{ OPERATION_ACQUIRE, false, 0, STANDS_AT("9007199254740991", HELD),
	    OUTCOME_CONFLICT },
	{ OPERATION_ACQUIRE, true, TOKEN_MAX - 4, NULL, OUTCOME_REFUSED },
	{ OPERATION_ACQUIRE, true, TOKEN_MAX - 5, STANDS_AT("7", HELD),
	    OUTCOME_CONFLICT },
	{ OPERATION_EXTEND, false, TOKEN_MAX - 4, NULL, OUTCOME_REFUSED },
	{ OPERATION_EXTEND, false, TOKEN_MAX - 5, STANDS_AT("7", HELD),
	    OUTCOME_CONFLICT },
};

TEST_ROWS(test_last_tokens, lasts)
{
	static const struct holder dead = { { 0, 3 }, { 0, 4 }, 20000, false };
	struct drive d;

	drive_init(&d, lasts[_i].kind, FAR);
	drive_done(&d);
	d.operation.token_seen = lasts[_i].seen;
	d.operation.dead = &dead;
	d.operation.n_dead = lasts[_i].dead;
	attempts_init(&d.attempts, &d.shared, &dialect_native, &table,
	    &d.operation, WALL);
	attempts_send(&d.attempts, d.now_ms, &d.step);
	if (lasts[_i].stands != NULL)
		drive_answer(&d, 400, lasts[_i].stands, 0);
	ck_assert_int_eq(d.step.next, ATTEMPTS_END);
	ck_assert_int_eq(d.step.outcome.kind, lasts[_i].outcome);
	if (d.step.outcome.kind == OUTCOME_REFUSED) {
		ck_assert_int_eq(d.step.outcome.code, DDBLOCK_E_BAD_RECORD);
		ck_assert_ptr_nonnull(strstr(d.step.outcome.text,
		    "item \"lock:k\", attribute \"token\""));
	}
	drive_done(&d);
}

/* What need not be remembered: it did not land, and will not. */
static const struct {
	int status;
	const char *body;
	bool refused;
} refusals[] = {
	{ 400, THROTTLED, true },
	{ 400, STANDS_AT("5", ""), true },
	{ 500, "", false },
	{ 0, "", false },
	{ 200, "{}", false },
};

TEST_ROWS(test_refused_attempts, refusals)
{
	struct drive d;
	uint32_t attempt;

	drive_init(&d, OPERATION_SESSION_BEAT, FAR);
	attempt = d.step.attempt;
	ck_assert(!attempts_is_refused(&d.attempts, attempt));
	drive_answer(&d, refusals[_i].status, refusals[_i].body, 0);
	ck_assert(attempts_is_refused(&d.attempts, attempt) ==
	    refusals[_i].refused);
	drive_done(&d);
}

/* Attempts are bounded, for any time limit. */
TEST(test_attempts_are_bounded)
{
	struct drive d;
	int n = 0;

	drive_init(&d, OPERATION_SESSION_BEAT, FAR);
	for (; d.step.next == ATTEMPTS_SEND && n < 1000; n++) {
		drive_answer(&d, 400, THROTTLED, 0);
		drive_on(&d);
	}
	ck_assert_int_eq(n, TRANSLATION_ATTEMPTS_MAX);
	ck_assert_int_eq(d.step.next, ATTEMPTS_END);
	ck_assert_int_eq(d.step.outcome.kind, OUTCOME_REFUSED);
	ck_assert_int_eq(d.step.outcome.code, DDBLOCK_E_THROTTLED);
	drive_done(&d);
}

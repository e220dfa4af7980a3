/*
 * The life of an operation on a record that is renewed by itself: the joint
 * meaning of the answers, and the write of each attempt.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"
#include "store/translation.h"
#include "test.h"

#define WALL UINT64_C(1800000000000)
#define BEAT 10

#define S(name, s) "\"" name "\":{\"S\":\"" s "\"}"
#define N(name, n) "\"" name "\":{\"N\":\"" n "\"}"
#define JAVA(version) S("ownerName", "x") "," S("leaseDuration", "20000") ","  \
	S("recordVersionNumber", version)
#define OURS(beat) JAVA("11112222-3333-4444-8555-6666" beat)
#define THEIRS JAVA("8d524f11-b878-4be1-acdd-8c23f85d5e6c")
#define FREE(beat) OURS(beat) "," S("isReleased", "1")
#define DLOCK(until) S("owner", "us-11112222333344448555666600000000") ","     \
	N("until", until)
#define OTHER(until) S("owner", "w1") "," N("until", until)
#define GONE ""		/* there is no item */

static const struct ident grant = {
	UINT64_C(0x1111222233334444), UINT64_C(0x8555666600000000),
};

struct life {
	struct dialect_table table;
	struct holder me;
	struct operation operation;
	struct translation translation;
	struct outcome outcome;
	const struct dialect_request *request;
	uint32_t attempt;
};

static void
life_init(struct life *l, const struct dialect *dialect,
    enum operation_kind kind, uint64_t beat)
{
	memset(l, 0, sizeof(*l));
	l->table = (struct dialect_table){
		.table = "locks", .key_attribute = "key", .host = "web-1",
		.fencing = kind == OPERATION_EXTEND,
	};
	l->me = (struct holder){ grant, grant, 20000, false };
	l->operation = (struct operation){
		.kind = kind, .key = { "k", 1 }, .me = l->me, .tokens = 1,
		.holders = &l->me, .n_holders = 1, .beat = beat,
		.mode = LOCK_MODE_EXCLUSIVE, .token_seen = 7,
		.version = kind == OPERATION_BREAK ? "seen" : NULL,
	};
	translation_init(&l->translation, dialect, &l->table, &l->operation,
	    WALL);
}

static const struct dialect_attempt *
life_send(struct life *l, uint64_t now_ms)
{
	translation_set_wall(&l->translation, WALL + now_ms - 1000);
	ck_assert_int_eq(translation_next(&l->translation, now_ms, &l->request,
	    &l->attempt), 0);
	return &l->translation.attempts[l->attempt].what;
}

static enum translation_verdict
life_answer(struct life *l, enum translation_class class, const char *body)
{
	struct translation_answer a = {
		.class = class, .code = DDBLOCK_E_UNREACHABLE, .body = body,
		.body_length = body != NULL ? strlen(body) : 0,
	};

	return translation_answer(&l->translation, l->attempt, &a, &l->outcome);
}

/* A failed condition that shows this; of nothing, it does not say so. */
static enum translation_verdict
life_conflict(struct life *l, const char *item)
{
	char body[1024];
	bool gone = strcmp(item, GONE) == 0;
	enum translation_verdict v;

	(void)snprintf(body, sizeof(body), gone ? "{}%s" : "{\"Item\":{%s}}",
	    item);
	v = life_answer(l, TRANSLATION_CONDITION, body);
	if (!gone)
		return v;
	ck_assert_int_eq(v, TRANSLATION_NOW);
	(void)life_send(l, 2500);
	ck_assert_str_eq(l->request->operation, "GetItem");
	return life_answer(l, TRANSLATION_OK, "{}");
}

/*
 * Attempt 1 is sent at 1000 and attempt 2 at 2000; the second is answered with
 * a conflict and that record. The beat was 10, so theirs are 11 and 12.
 *
 * sent: which attempt's send counts; 0 for what is not DONE.
 */
static const struct {
	enum operation_kind kind;
	bool lost;	/* the answer to the first; else there is no first */
	const char *item;
	enum outcome_kind outcome;
	uint64_t sent_ms;
} conflicts[] = {
	/* Each is credited with its own number, and with no other's. */
	{ OPERATION_REFRESH, true, OURS("0000000b"), OUTCOME_DONE, 1000 },
	{ OPERATION_REFRESH, true, OURS("0000000c"), OUTCOME_DONE, 2000 },
	{ OPERATION_REFRESH, true, OURS("0000000a"), OUTCOME_CONFLICT, 0 },
	{ OPERATION_REFRESH, true, OURS("0000000d"), OUTCOME_CONFLICT, 0 },
	{ OPERATION_REFRESH, true, FREE("0000000b"), OUTCOME_CONFLICT, 0 },
	{ OPERATION_REFRESH, true, THEIRS, OUTCOME_CONFLICT, 0 },
	{ OPERATION_REFRESH, true, GONE, OUTCOME_CONFLICT, 0 },
	{ OPERATION_REFRESH, false, OURS("0000000b"), OUTCOME_DONE, 2000 },
	{ OPERATION_REFRESH, false, OURS("0000000c"), OUTCOME_CONFLICT, 0 },
	{ OPERATION_UPDATE, true, OURS("0000000b"), OUTCOME_DONE, 1000 },
	{ OPERATION_UPDATE, true, OURS("0000000c"), OUTCOME_DONE, 2000 },
	{ OPERATION_UPDATE, true, OURS("00000000"), OUTCOME_CONFLICT, 0 },
	{ OPERATION_UPDATE, true, THEIRS, OUTCOME_CONFLICT, 0 },
	{ OPERATION_UPDATE, false, OURS("0000000d"), OUTCOME_CONFLICT, 0 },
	/* No other client has this grant, with any beat. */
	{ OPERATION_ACQUIRE, true, OURS("00000000"), OUTCOME_DONE, 1000 },
	{ OPERATION_ACQUIRE, false, OURS("00000000"), OUTCOME_DONE, 2000 },
	{ OPERATION_ACQUIRE, true, THEIRS, OUTCOME_CONFLICT, 0 },
	{ OPERATION_ACQUIRE, true, FREE("00000000"), OUTCOME_CONFLICT, 0 },
	{ OPERATION_ACQUIRE, true, GONE, OUTCOME_CONFLICT, 0 },
	{ OPERATION_RELEASE, true, GONE, OUTCOME_DONE, 1000 },
	{ OPERATION_RELEASE, true, FREE("00000005"), OUTCOME_DONE, 1000 },
	{ OPERATION_RELEASE, true, THEIRS, OUTCOME_DONE, 1000 },
	{ OPERATION_RELEASE, false, GONE, OUTCOME_CONFLICT, 0 },
	{ OPERATION_RELEASE, false, THEIRS, OUTCOME_CONFLICT, 0 },
	{ OPERATION_BREAK, true, GONE, OUTCOME_DONE, 1000 },
	{ OPERATION_BREAK, true, FREE("00000005"), OUTCOME_DONE, 1000 },
	{ OPERATION_BREAK, true, THEIRS, OUTCOME_CONFLICT, 0 },
	{ OPERATION_BREAK, true, OURS("00000000"), OUTCOME_CONFLICT, 0 },
	{ OPERATION_BREAK, false, GONE, OUTCOME_CONFLICT, 0 },
	{ OPERATION_BREAK, false, FREE("00000005"), OUTCOME_CONFLICT, 0 },
};

TEST_ROWS(test_conflicts, conflicts)
{
	struct life l;

	life_init(&l, &dialect_awslabs, conflicts[_i].kind, BEAT);
	if (conflicts[_i].lost) {
		(void)life_send(&l, 1000);
		ck_assert_int_eq(life_answer(&l, TRANSLATION_LOST, NULL),
		    TRANSLATION_LATER);
	}
	(void)life_send(&l, 2000);
	ck_assert_int_eq(life_conflict(&l, conflicts[_i].item),
	    TRANSLATION_FINAL);
	ck_assert_int_eq(l.outcome.kind, conflicts[_i].outcome);
	if (l.outcome.kind == OUTCOME_DONE)
		ck_assert_uint_eq(l.outcome.sent_ms, conflicts[_i].sent_ms);
	ck_assert(l.outcome.unanswered == conflicts[_i].lost);
	translation_done(&l.translation);
}

/* The record is still ours: what stood in the way has gone. */
TEST(test_release_goes_on)
{
	struct life l;

	life_init(&l, &dialect_awslabs, OPERATION_RELEASE, 0);
	(void)life_send(&l, 1000);
	ck_assert_int_eq(life_conflict(&l, OURS("0000000b")),
	    TRANSLATION_LATER);
	(void)life_send(&l, 2000);
	ck_assert_int_eq(life_answer(&l, TRANSLATION_OK, "{}"),
	    TRANSLATION_FINAL);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_DONE);
	ck_assert_uint_eq(l.outcome.sent_ms, 2000);
	translation_done(&l.translation);
}

/* What a look finds after an invalid write is no success of it. */
TEST(test_invalid)
{
	struct life l;

	life_init(&l, &dialect_awslabs, OPERATION_REFRESH, BEAT);
	(void)life_send(&l, 1000);
	ck_assert_int_eq(life_answer(&l, TRANSLATION_INVALID, NULL),
	    TRANSLATION_NOW);
	(void)life_send(&l, 1100);
	ck_assert_int_eq(life_answer(&l, TRANSLATION_OK,
	    "{\"Item\":{" S("ownerName", "x") "}}"), TRANSLATION_FINAL);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_REFUSED);
	ck_assert_int_eq(l.outcome.code, DDBLOCK_E_BAD_RECORD);
	translation_done(&l.translation);
}

static const enum operation_kind renewals[] = {
	OPERATION_REFRESH, OPERATION_UPDATE,
};

/* Its number, which is above every earlier one's. */
TEST_ROWS(test_beats_of_records, renewals)
{
	struct life l;

	life_init(&l, &dialect_awslabs, renewals[_i], 41);
	for (uint64_t i = 0; i < TRANSLATION_ATTEMPTS_MAX; i++) {
		const struct dialect_attempt *a = life_send(&l, 1000 + i);

		ck_assert_uint_eq(a->beat, 42 + i);
		ck_assert_uint_eq(a->wall_ms, WALL);
		(void)life_answer(&l, TRANSLATION_LOST, NULL);
	}
	ck_assert_int_eq(translation_next(&l.translation, 9000, &l.request,
	    &l.attempt), DDBLOCK_E_LIMIT);
	translation_done(&l.translation);
	life_init(&l, &dialect_awslabs, OPERATION_ACQUIRE, 41);
	ck_assert_uint_eq(life_send(&l, 1000)->beat, 0);
	translation_done(&l.translation);
	life_init(&l, &dialect_js_fail_closed, OPERATION_REFRESH, 41);
	ck_assert_uint_eq(life_send(&l, 1000)->beat, 42);
	translation_done(&l.translation);
}

/* The end of a lease from its own send; forward, for any clock. */
static const struct {
	enum operation_kind kind;
	uint64_t beat, first, second;	/* since WALL */
} deadlines[] = {
	{ OPERATION_ACQUIRE, 0, 20000, 21500 },
	{ OPERATION_REFRESH, 0, 20000, 21500 },
	{ OPERATION_EXTEND, 0, 20000, 21500 },
	{ OPERATION_REFRESH, WALL + 20000, 20001, 21500 },
	{ OPERATION_REFRESH, WALL + 30000, 30001, 30002 },
};

/* The time of acquisition, by which clients that trust their clocks take it. */
TEST(test_times_of_local_time)
{
	struct life l;

	life_init(&l, &dialect_js_fail_open, OPERATION_REFRESH, 41);
	ck_assert_uint_eq(life_send(&l, 1000)->wall_ms, WALL);
	(void)life_answer(&l, TRANSLATION_LOST, NULL);
	ck_assert_uint_eq(life_send(&l, 2500)->wall_ms, WALL + 1500);
	translation_done(&l.translation);
}

TEST_ROWS(test_beats_of_deadlines, deadlines)
{
	const struct dialect_attempt *a;
	struct life l;

	life_init(&l, &dialect_dlock, deadlines[_i].kind, deadlines[_i].beat);
	a = life_send(&l, 1000);
	ck_assert_uint_eq(a->wall_ms, WALL);
	ck_assert_uint_eq(a->beat, WALL + deadlines[_i].first);
	(void)life_answer(&l, TRANSLATION_LOST, NULL);
	a = life_send(&l, 2500);
	ck_assert_uint_eq(a->wall_ms, WALL + 1500);
	ck_assert_uint_eq(a->beat, WALL + deadlines[_i].second);
	translation_done(&l.translation);
}

/* A condition failed where there was none: no such answer is believed. */
static const enum operation_kind reads[] = {
	OPERATION_READ, OPERATION_SCAN,
};

TEST_ROWS(test_reads_have_no_condition, reads)
{
	struct life l;

	life_init(&l, &dialect_awslabs, reads[_i], 0);
	if (reads[_i] == OPERATION_SCAN)
		l.operation.key.length = 0;
	for (int i = 0; i < 3; i++) {
		(void)life_send(&l, 1000);
		ck_assert_str_eq(l.request->operation,
		    reads[_i] == OPERATION_SCAN ? "Scan" : "GetItem");
		ck_assert_int_eq(life_answer(&l, TRANSLATION_CONDITION, "{}"),
		    TRANSLATION_LATER);
	}
	translation_done(&l.translation);
}

static const struct {
	enum operation_kind kind;
	const char *item;
	enum outcome_kind outcome;
	uint64_t sent_ms;
} ends[] = {
	{ OPERATION_REFRESH, DLOCK("1800000020000"), OUTCOME_DONE, 1000 },
	{ OPERATION_REFRESH, DLOCK("1800000021000"), OUTCOME_DONE, 2000 },
	{ OPERATION_REFRESH, DLOCK("1800000020500"), OUTCOME_CONFLICT, 0 },
	{ OPERATION_REFRESH, DLOCK("1000"), OUTCOME_CONFLICT, 0 },
	{ OPERATION_REFRESH, OTHER("1800000020000"), OUTCOME_CONFLICT, 0 },
	{ OPERATION_EXTEND, DLOCK("1800000020000") ","
	    "\"fencingToken\":{\"B\":\"CA==\"}", OUTCOME_DONE, 1000 },
	/* Of whichever attempt: the first is the least that it can be. */
	{ OPERATION_ACQUIRE, DLOCK("1800000021000"), OUTCOME_DONE, 1000 },
	{ OPERATION_ACQUIRE, OTHER("1800000020000"), OUTCOME_CONFLICT, 0 },
	{ OPERATION_RELEASE, DLOCK("1000"), OUTCOME_DONE, 1000 },
	{ OPERATION_RELEASE, OTHER("1800000020000"), OUTCOME_DONE, 1000 },
};

TEST_ROWS(test_conflicts_of_deadlines, ends)
{
	struct life l;

	life_init(&l, &dialect_dlock, ends[_i].kind, 0);
	(void)life_send(&l, 1000);
	(void)life_answer(&l, TRANSLATION_LOST, NULL);
	(void)life_send(&l, 2000);
	ck_assert_int_eq(life_conflict(&l, ends[_i].item), TRANSLATION_FINAL);
	ck_assert_int_eq(l.outcome.kind, ends[_i].outcome);
	if (l.outcome.kind == OUTCOME_DONE)
		ck_assert_uint_eq(l.outcome.sent_ms, ends[_i].sent_ms);
	translation_done(&l.translation);
}

/*
 * The life of one operation over its attempts: the joint meaning of the
 * answers. The table below goes through every kind of write with a first
 * attempt whose answer is lost: it took effect before the second, or after it,
 * or not at all.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"
#include "test.h"
#include "translation_life.h"

/*
 * Attempt 1 is sent at 1000, attempt 2 at 2000. The second is answered with a
 * conflict and that record, or (item NULL) with success.
 *
 * sent: which attempt's send counts; 0 for what is not DONE.
 */
static const struct {
	int kind;
	bool lost;	/* the answer to the first; else there is no first */
	const char *item;
	enum outcome_kind outcome;
	uint64_t sent_ms;
} conflicts[] = {
	/* The first took effect; the second failed because of it. */
	{ ACQUIRE, true, MINE, OUTCOME_DONE, 1000 },
	{ TAKE, true, MINE, OUTCOME_DONE, 1000 },
	{ RELEASE, true, FREE, OUTCOME_DONE, 1000 },
	{ RELEASE, true, THEIRS, OUTCOME_DONE, 1000 },
	{ STAYS, true, THEIRS, OUTCOME_DONE, 1000 },
	{ ALONG, true, FREE, OUTCOME_DONE, 1000 },
	/* What went with ours has landed again. */
	{ ALONG, true, SHARED(OTHER), OUTCOME_DONE, 1000 },
	/* Another host removed it before. */
	{ ALONG, true, SHARED(ME), OUTCOME_CONFLICT, 0 },
	{ ALONG, false, SHARED(ME), OUTCOME_CONFLICT, 0 },
	{ EXTEND, true, MINE, OUTCOME_DONE, 1000 },
	{ ADD_WAITER, true, FREE "," WAITER_MARK, OUTCOME_DONE, 1000 },
	{ REMOVE_WAITER, true, THEIRS, OUTCOME_DONE, 1000 },
	{ SHARE, true, BOTH, OUTCOME_DONE, 1000 },
	{ SHARE, true, BOTH "," WAITER_MARK, OUTCOME_DONE, 1000 },
	{ ADD_SHARED_WAITER, true, THEIRS "," SHARED_WAITER_MARK, OUTCOME_DONE,
	    1000 },
	{ REMOVE_SHARED_WAITER, true, THEIRS "," WAITER_MARK, OUTCOME_DONE,
	    1000 },
	{ REMOVE_WAITER, true, THEIRS "," SHARED_WAITER_MARK, OUTCOME_DONE,
	    1000 },
	{ BREAK, true, BROKEN("40", "us"), OUTCOME_DONE, 1000 },
	{ OPEN, true, BEAT("0"), OUTCOME_DONE, 1000 },
	{ KILL, true, BEAT("990") "," DEAD("us"), OUTCOME_DONE, 1000 },
	{ BURY, true, DEAD("us"), OUTCOME_DONE, 1000 },
	{ CLOSE, true, BEAT("990") "," DEAD("self"), OUTCOME_DONE, 1000 },
	/* A beat: whichever number is there counts from its own send. */
	{ BEAT_, true, BEAT("1000"), OUTCOME_DONE, 1000 },
	{ BEAT_, true, BEAT("2000"), OUTCOME_DONE, 2000 },
	{ BEAT_, true, BEAT("1500"), OUTCOME_CONFLICT, 0 },
	{ BEAT_, true, BEAT("1000") "," DEAD("them"), OUTCOME_CONFLICT, 0 },
	/* Another client was there: the first may land, but has not. */
	{ ACQUIRE, true, THEIRS, OUTCOME_CONFLICT, 0 },
	{ ACQUIRE, true, FREE ",\"swait\":{\"SS\":[\"" SID "\"]}",
	    OUTCOME_CONFLICT, 0 },
	{ TAKE, true, THEIRS, OUTCOME_CONFLICT, 0 },
	{ TAKE, true, FREE, OUTCOME_CONFLICT, 0 },
	{ EXTEND, true, THEIRS, OUTCOME_CONFLICT, 0 },
	{ EXTEND, true, HOLDERS(ME) "," N("token", "44") "," X,
	    OUTCOME_CONFLICT, 0 },
	{ EXTEND, true, BOTH, OUTCOME_CONFLICT, 0 },
	{ ADD_WAITER, true, FREE, OUTCOME_CONFLICT, 0 },
	{ ADD_WAITER, true, THEIRS "," SHARED_WAITER_MARK, OUTCOME_CONFLICT,
	    0 },
	{ SHARE, true, SHARED(OTHER), OUTCOME_CONFLICT, 0 },
	{ SHARE, true, THEIRS, OUTCOME_CONFLICT, 0 },
	{ ADD_SHARED_WAITER, true, THEIRS "," WAITER_MARK, OUTCOME_CONFLICT,
	    0 },
	{ ADD_SHARED_WAITER, true, FREE, OUTCOME_CONFLICT, 0 },
	{ BREAK, true, BROKEN("40", "them"), OUTCOME_CONFLICT, 0 },
	{ BREAK, true, BROKEN("41", "us"), OUTCOME_CONFLICT, 0 },
	{ BREAK, true, N("token", "40") "," X, OUTCOME_CONFLICT, 0 },
	{ BREAK, true, MINE, OUTCOME_CONFLICT, 0 },
	{ OPEN, true, DEAD("them"), OUTCOME_CONFLICT, 0 },
	{ KILL, true, BEAT("991"), OUTCOME_CONFLICT, 0 },
	{ KILL, true, BEAT("990") "," DEAD("them"), OUTCOME_CONFLICT, 0 },
	{ BURY, true, BEAT("0"), OUTCOME_CONFLICT, 0 },
	{ BURY, true, DEAD("them"), OUTCOME_CONFLICT, 0 },
	/* The same records on a first and only attempt: it was not we. */
	{ RELEASE, false, FREE, OUTCOME_CONFLICT, 0 },
	{ RELEASE, false, THEIRS, OUTCOME_CONFLICT, 0 },
	{ EXTEND, false, MINE, OUTCOME_CONFLICT, 0 },
	{ ADD_WAITER, false, FREE "," WAITER_MARK, OUTCOME_CONFLICT, 0 },
	{ REMOVE_WAITER, false, THEIRS, OUTCOME_CONFLICT, 0 },
	{ ADD_SHARED_WAITER, false, FREE "," SHARED_WAITER_MARK,
	    OUTCOME_CONFLICT, 0 },
	{ REMOVE_SHARED_WAITER, false, THEIRS, OUTCOME_CONFLICT, 0 },
	{ BREAK, false, BROKEN("40", "us"), OUTCOME_CONFLICT, 0 },
	{ OPEN, false, BEAT("0"), OUTCOME_CONFLICT, 0 },
	{ BEAT_, false, BEAT("990") "," DEAD("them"), OUTCOME_CONFLICT, 0 },
	{ KILL, false, BEAT("990") "," DEAD("us"), OUTCOME_CONFLICT, 0 },
	{ BURY, false, DEAD("us"), OUTCOME_CONFLICT, 0 },
	/* But no other client ever has our grant or this number. */
	{ ACQUIRE, false, MINE, OUTCOME_DONE, 2000 },
	{ SHARE, false, BOTH, OUTCOME_DONE, 2000 },
	{ BEAT_, false, BEAT("2000"), OUTCOME_DONE, 2000 },
};

TEST_ROWS(test_conflicts, conflicts)
{
	struct life l;

	life_init(&l, conflicts[_i].kind);
	if (conflicts[_i].lost) {
		life_send(&l, 1000);
		ck_assert_int_eq(life_lose(&l), TRANSLATION_LATER);
	}
	life_send(&l, 2000);
	ck_assert_int_eq(life_conflict(&l, conflicts[_i].item),
	    TRANSLATION_FINAL);
	ck_assert_int_eq(l.outcome.kind, conflicts[_i].outcome);
	if (l.outcome.kind == OUTCOME_DONE)
		ck_assert_uint_eq(l.outcome.sent_ms, conflicts[_i].sent_ms);
	ck_assert(l.outcome.unanswered == conflicts[_i].lost);
	if (conflicts[_i].lost)
		ck_assert_uint_eq(l.outcome.unanswered_ms, 1000);
	life_done(&l);
}

/* The first was delivered twice, and its copy is told no, while the second is
 * on its way: the lease counts from the first. */
TEST(test_open_answered_by_its_copy)
{
	struct life l;

	life_init(&l, OPEN);
	life_send(&l, 1000);
	life_send(&l, 1500);
	l.attempt = 0;
	ck_assert_int_eq(life_conflict(&l, BEAT("0")), TRANSLATION_FINAL);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_DONE);
	ck_assert_uint_eq(l.outcome.sent_ms, 1000);
	ck_assert_uint_eq(l.outcome.unanswered_ms, 1500);
	life_done(&l);
}

/* The second took effect; any effect of the first comes later. */
static const struct {
	int kind;
	const char *record;
} done[] = {
	{ ACQUIRE, MINE }, { TAKE, MINE }, { RELEASE, FREE }, { STAYS, THEIRS },
	{ EXTEND, MINE }, { ADD_WAITER, THEIRS "," WAITER_MARK },
	    { REMOVE_WAITER, THEIRS },
	{ SHARE, BOTH }, { ADD_SHARED_WAITER, THEIRS "," SHARED_WAITER_MARK },
	{ REMOVE_SHARED_WAITER, THEIRS }, { BREAK, BROKEN("40", "us") },
	{ OPEN, "" }, { BEAT_, BEAT("2000") }, { BURY, "" },
	{ KILL, BEAT("990") "," DEAD("us") },
	{ CLOSE, BEAT("990") "," DEAD("self") },
};

TEST_ROWS(test_second_is_acknowledged, done)
{
	struct life l;

	life_init(&l, done[_i].kind);
	life_send(&l, 1000);
	ck_assert_int_eq(life_lose(&l), TRANSLATION_LATER);
	life_send(&l, 2000);
	ck_assert_int_eq(life_ok(&l, done[_i].record), TRANSLATION_FINAL);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_DONE);
	ck_assert_uint_eq(l.outcome.sent_ms, 2000);
	ck_assert(l.outcome.unanswered);
	ck_assert_uint_eq(l.outcome.unanswered_ms, 1000);
	life_done(&l);
}

/* Two under way at once (a hedge): the answers come in the other order. */
TEST_ROWS(test_first_is_answered_last, done)
{
	struct life l;

	life_init(&l, done[_i].kind);
	life_send(&l, 1000);
	life_send(&l, 2000);
	l.attempt = 0;
	ck_assert_int_eq(life_ok(&l, done[_i].record), TRANSLATION_FINAL);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_DONE);
	ck_assert_uint_eq(l.outcome.sent_ms, 1000);
	ck_assert(l.outcome.unanswered);
	ck_assert_uint_eq(l.outcome.unanswered_ms, 2000);
	life_done(&l);
}

/* Only a write without any answer is in doubt when time is up; also one that
 * is refused now, for the one before may have happened. */
static const struct life_course given_up[] = {
	{ 0, { LOST(1000) }, OUTCOME_UNKNOWN, DDBLOCK_E_UNREACHABLE, 0, 1000 },
	{ 0, {
	    { 1000, NULL, TRANSLATION_AGAIN, DDBLOCK_E_THROTTLED, NULL,
		TRANSLATION_LATER } },
	    OUTCOME_REFUSED, DDBLOCK_E_THROTTLED, 0, 0 },
	{ 0, {
	    LOST(1000),
	    { 2000, NULL, TRANSLATION_REFUSED, DDBLOCK_E_ACCESS_DENIED, NULL,
		TRANSLATION_FINAL } },
	    OUTCOME_UNKNOWN, DDBLOCK_E_ACCESS_DENIED, 0, 1000 },
};

TEST_LOOP(test_given_up, 0, ROWS(given_up) * ROWS(done))
{
	struct life_course course = given_up[_i % ROWS(given_up)];
	struct life l;

	course.kind = done[_i / ROWS(given_up)].kind;
	life_play(&l, &course);
	if (course.code == DDBLOCK_E_ACCESS_DENIED)
		ck_assert_str_eq(l.outcome.text, "said so");
	life_done(&l);
}

static const struct life_course courses[] = {
	/* Nothing was sent. */
	{ ACQUIRE, { { 0 } }, OUTCOME_REFUSED, DDBLOCK_E_UNREACHABLE, 0, 0 },
	/* A read that is lost leaves no doubt. */
	{ READ, { LOST(1000) }, OUTCOME_UNKNOWN, DDBLOCK_E_UNREACHABLE, 0, 0 },
	{ READ, {
	    LOST(1000),
	    { 2000, NULL, TRANSLATION_OK, 0, "{}", TRANSLATION_FINAL } },
	    OUTCOME_DONE, 0, 2000, 0 },
	{ READ, {
	    { 1000, NULL, TRANSLATION_OK, 0, BAD_ITEM, TRANSLATION_FINAL } },
	    OUTCOME_REFUSED, DDBLOCK_E_BAD_RECORD, 0, 0 },
};

TEST_ROWS(test_courses, courses)
{
	struct life l;

	life_play(&l, &courses[_i]);
	ck_assert(!l.outcome.lock.exists);
	if (courses[_i].code == DDBLOCK_E_BAD_RECORD)
		ck_assert_ptr_nonnull(strstr(l.outcome.text, "\"token\""));
	life_done(&l);
}

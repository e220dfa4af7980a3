/*
 * The life of one operation over its attempts: what the answers mean together.
 * The table below goes through every kind of write with a first attempt whose
 * answer is lost: it took effect before the second, or after it, or not at all.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"
#include "suite.h"
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
	/* Somebody else took it out before. */
	{ ALONG, true, SHARED(ME), OUTCOME_CONFLICT, 0 },
	{ ALONG, false, SHARED(ME), OUTCOME_CONFLICT, 0 },
	{ EXTEND, true, MINE, OUTCOME_DONE, 1000 },
	{ WANT, true, FREE "," WISH, OUTCOME_DONE, 1000 },
	{ UNWANT, true, THEIRS, OUTCOME_DONE, 1000 },
	{ SHARE, true, BOTH, OUTCOME_DONE, 1000 },
	{ SHARE, true, BOTH "," WISH, OUTCOME_DONE, 1000 },
	{ WANT_SHARED, true, THEIRS "," SHARED_WISH, OUTCOME_DONE, 1000 },
	{ UNWANT_SHARED, true, THEIRS "," WISH, OUTCOME_DONE, 1000 },
	{ UNWANT, true, THEIRS "," SHARED_WISH, OUTCOME_DONE, 1000 },
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
	/* Somebody else was there: the first may land, but has not. */
	{ ACQUIRE, true, THEIRS, OUTCOME_CONFLICT, 0 },
	{ ACQUIRE, true, FREE ",\"swait\":{\"SS\":[\"" SID "\"]}",
	    OUTCOME_CONFLICT, 0 },
	{ TAKE, true, THEIRS, OUTCOME_CONFLICT, 0 },
	{ TAKE, true, FREE, OUTCOME_CONFLICT, 0 },
	{ EXTEND, true, THEIRS, OUTCOME_CONFLICT, 0 },
	{ EXTEND, true, HOLDERS(ME) "," N("token", "44") "," X,
	    OUTCOME_CONFLICT, 0 },
	{ EXTEND, true, BOTH, OUTCOME_CONFLICT, 0 },
	{ WANT, true, FREE, OUTCOME_CONFLICT, 0 },
	{ WANT, true, THEIRS "," SHARED_WISH, OUTCOME_CONFLICT, 0 },
	{ SHARE, true, SHARED(OTHER), OUTCOME_CONFLICT, 0 },
	{ SHARE, true, THEIRS, OUTCOME_CONFLICT, 0 },
	{ WANT_SHARED, true, THEIRS "," WISH, OUTCOME_CONFLICT, 0 },
	{ WANT_SHARED, true, FREE, OUTCOME_CONFLICT, 0 },
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
	{ WANT, false, FREE "," WISH, OUTCOME_CONFLICT, 0 },
	{ UNWANT, false, THEIRS, OUTCOME_CONFLICT, 0 },
	{ WANT_SHARED, false, FREE "," SHARED_WISH, OUTCOME_CONFLICT, 0 },
	{ UNWANT_SHARED, false, THEIRS, OUTCOME_CONFLICT, 0 },
	{ BREAK, false, BROKEN("40", "us"), OUTCOME_CONFLICT, 0 },
	{ OPEN, false, BEAT("0"), OUTCOME_CONFLICT, 0 },
	{ BEAT_, false, BEAT("990") "," DEAD("them"), OUTCOME_CONFLICT, 0 },
	{ KILL, false, BEAT("990") "," DEAD("us"), OUTCOME_CONFLICT, 0 },
	{ BURY, false, DEAD("us"), OUTCOME_CONFLICT, 0 },
	/* But nobody else ever has our grant, nor this number. */
	{ ACQUIRE, false, MINE, OUTCOME_DONE, 2000 },
	{ SHARE, false, BOTH, OUTCOME_DONE, 2000 },
	{ BEAT_, false, BEAT("2000"), OUTCOME_DONE, 2000 },
};

START_TEST(test_conflicts)
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
END_TEST

/* The first was delivered twice, and its copy is told no, while the second is
 * on its way: the lease counts from the first. */
START_TEST(test_open_answered_by_its_copy)
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
END_TEST

/* The second took effect; whatever the first does comes later. */
static const struct {
	int kind;
	const char *record;
} done[] = {
	{ ACQUIRE, MINE }, { TAKE, MINE }, { RELEASE, FREE }, { STAYS, THEIRS },
	{ EXTEND, MINE }, { WANT, THEIRS "," WISH }, { UNWANT, THEIRS },
	{ SHARE, BOTH }, { WANT_SHARED, THEIRS "," SHARED_WISH },
	{ UNWANT_SHARED, THEIRS }, { BREAK, BROKEN("40", "us") },
	{ OPEN, "" }, { BEAT_, BEAT("2000") }, { BURY, "" },
	{ KILL, BEAT("990") "," DEAD("us") },
	{ CLOSE, BEAT("990") "," DEAD("self") },
};

START_TEST(test_second_is_acknowledged)
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
END_TEST

/* Two under way at once (a hedge): the answers come in the other order. */
START_TEST(test_first_is_answered_last)
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
END_TEST

/* Only a write without any answer is in doubt when time is up. */
START_TEST(test_given_up)
{
	struct life l;

	life_init(&l, done[_i].kind);
	life_send(&l, 1000);
	(void)life_lose(&l);
	translation_give_up(&l.translation, &l.outcome);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_UNKNOWN);
	ck_assert_int_eq(l.outcome.code, DDBLOCK_E_UNREACHABLE);
	ck_assert(l.outcome.unanswered);
	ck_assert_uint_eq(l.outcome.unanswered_ms, 1000);
	life_done(&l);

	life_init(&l, done[_i].kind);
	life_send(&l, 1000);
	ck_assert_int_eq(life_answer(&l, 0, TRANSLATION_AGAIN,
	    DDBLOCK_E_THROTTLED, NULL), TRANSLATION_LATER);
	translation_give_up(&l.translation, &l.outcome);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_REFUSED);
	ck_assert_int_eq(l.outcome.code, DDBLOCK_E_THROTTLED);
	ck_assert(!l.outcome.unanswered);
	life_done(&l);

	/* Refused now, but the one before may have happened. */
	life_init(&l, done[_i].kind);
	life_send(&l, 1000);
	(void)life_lose(&l);
	life_send(&l, 2000);
	ck_assert_int_eq(life_answer(&l, 1, TRANSLATION_REFUSED,
	    DDBLOCK_E_ACCESS_DENIED, NULL), TRANSLATION_FINAL);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_UNKNOWN);
	ck_assert_int_eq(l.outcome.code, DDBLOCK_E_ACCESS_DENIED);
	ck_assert_str_eq(l.outcome.text, "said so");
	life_done(&l);
}
END_TEST

START_TEST(test_nothing_sent)
{
	struct life l;

	life_init(&l, ACQUIRE);
	translation_give_up(&l.translation, &l.outcome);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_REFUSED);
	ck_assert_int_eq(l.outcome.code, DDBLOCK_E_UNREACHABLE);
	life_done(&l);
}
END_TEST

START_TEST(test_reads)
{
	struct life l;

	life_init(&l, READ);
	life_send(&l, 1000);
	(void)life_lose(&l);
	translation_give_up(&l.translation, &l.outcome);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_UNKNOWN);
	ck_assert(!l.outcome.unanswered);
	life_done(&l);

	life_init(&l, READ);
	life_send(&l, 1000);
	(void)life_lose(&l);
	life_send(&l, 2000);
	ck_assert_int_eq(life_answer(&l, 1, TRANSLATION_OK, 0, "{}"),
	    TRANSLATION_FINAL);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_DONE);
	ck_assert(!l.outcome.lock.exists && !l.outcome.unanswered);
	ck_assert_uint_eq(l.outcome.sent_ms, 2000);
	life_done(&l);

	life_init(&l, READ);
	life_send(&l, 1000);
	ck_assert_int_eq(life_answer(&l, 0, TRANSLATION_OK, 0,
	    "{\"Item\":{\"token\":{\"S\":\"1\"}}}"), TRANSLATION_FINAL);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_REFUSED);
	ck_assert_int_eq(l.outcome.code, DDBLOCK_E_BAD_RECORD);
	ck_assert_ptr_nonnull(strstr(l.outcome.text, "\"token\""));
	life_done(&l);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("translation");
	TCase *tests = tcase_create("translation");

	tcase_add_test(tests, test_open_answered_by_its_copy);
	tcase_add_loop_test(tests, test_conflicts, 0, ROWS(conflicts));
	tcase_add_loop_test(tests, test_second_is_acknowledged, 0, ROWS(done));
	tcase_add_loop_test(tests, test_first_is_answered_last, 0, ROWS(done));
	tcase_add_loop_test(tests, test_given_up, 0, ROWS(done));
	tcase_add_test(tests, test_nothing_sent);
	tcase_add_test(tests, test_reads);
	suite_add_tcase(suite, tests);
	return suite_end(suite);
}

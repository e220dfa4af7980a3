/*
 * The life of one operation over its attempts: what is sent next.
 */
#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#include "ddblock.h"
#include "dialect/json.h"
#include "suite.h"
#include "translation_life.h"

static const char *
value(const struct life *l, const char *expression, char *to, size_t size)
{
	struct json_object *o = json_read_object(NULL, l->request->body.data,
	    l->request->body.length);
	struct json_object *v = json_find(o, expression);

	(void)snprintf(to, size, "%s",
	    v != NULL ? json_object_get_string(v) : "");
	json_object_put(o);
	return to;
}

/* Every attempt of a beat has a number of its own, the others none. */
START_TEST(test_numbers_of_beats)
{
	static const uint64_t sent[] = { 500, 500, 2000, 1500 };
	static const uint64_t numbers[] = { 991, 992, 2000, 2001 };
	struct life l;
	char first[2048];
	char later[2048];

	life_init(&l, BEAT_);
	for (uint32_t i = 0; i < 4; i++) {
		life_send(&l, sent[i]);
		ck_assert_uint_eq(l.translation.attempts[i].what.beat,
		    numbers[i]);
	}
	life_done(&l);

	life_init(&l, ACQUIRE);
	life_send(&l, 1000);
	(void)snprintf(first, sizeof(first), "%s", l.request->body.data);
	(void)life_lose(&l);
	life_send(&l, 5000);
	(void)snprintf(later, sizeof(later), "%s", l.request->body.data);
	ck_assert_str_eq(first, later);
	life_done(&l);
}
END_TEST

/* The form that fits what was seen goes first, the other on conflict. */
START_TEST(test_forms_of_release)
{
	struct life l;
	char text[256];

	life_init(&l, RELEASE);
	life_send(&l, 1000);
	ck_assert_str_eq(value(&l, "ConditionExpression", text, sizeof(text)),
	    "#holders = :them");
	ck_assert_int_eq(life_conflict(&l, BOTH), TRANSLATION_NOW);
	life_send(&l, 1001);
	ck_assert_str_eq(value(&l, "ConditionExpression", text, sizeof(text)),
	    "contains(#holders, :h0) AND #holders <> :them");
	ck_assert_int_eq(life_ok(&l, THEIRS), TRANSLATION_FINAL);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_DONE);
	ck_assert(!l.outcome.unanswered);
	life_done(&l);

	life_init(&l, STAYS);
	life_send(&l, 1000);
	ck_assert_int_eq(life_conflict(&l, MINE), TRANSLATION_NOW);
	life_send(&l, 1001);
	ck_assert_str_eq(value(&l, "ConditionExpression", text, sizeof(text)),
	    "#holders = :them");
	ck_assert_int_eq(life_ok(&l, FREE), TRANSLATION_FINAL);
	life_done(&l);

	/* Never for ever. */
	life_init(&l, RELEASE);
	for (int i = 0; i < TRANSLATION_ATTEMPTS_MAX; i++) {
		life_send(&l, 1000);
		(void)life_conflict(&l, i % 2 == 0 ? BOTH : MINE);
	}
	ck_assert_int_eq(translation_next(&l.translation, 1000, &l.request,
	    &l.attempt), DDBLOCK_E_LIMIT);
	translation_give_up(&l.translation, &l.outcome);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_REFUSED);
	life_done(&l);
}
END_TEST

/* Several at once (the dead of those who share it) go together, or stay. */
START_TEST(test_forms_of_release_of_two)
{
	const struct holder two[] = {
		{ { 0, 1 }, { 0, 2 }, 20000, false },
		{ { 0, 3 }, { 0, 4 }, 20000, false },
	};
	struct life l;
	char text[256];

	life_init(&l, RELEASE);
	l.operation.holders = two;
	l.operation.n_holders = 2;
	life_send(&l, 1000);
	ck_assert_int_eq(life_conflict(&l, SHARED(ME "\",\"" OTHER "\",\""
	    THIRD)), TRANSLATION_NOW);
	life_send(&l, 1001);
	ck_assert_str_eq(value(&l, "ConditionExpression", text, sizeof(text)),
	    "contains(#holders, :h0) AND contains(#holders, :h1) AND "
	    "#holders <> :them");
	/* The third left in between. */
	ck_assert_int_eq(life_conflict(&l, BOTH), TRANSLATION_NOW);
	life_send(&l, 1002);
	ck_assert_str_eq(value(&l, "ConditionExpression", text, sizeof(text)),
	    "#holders = :them");
	/* Somebody else took one of the two out. */
	ck_assert_int_eq(life_conflict(&l, SHARED(OTHER)), TRANSLATION_FINAL);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_CONFLICT);
	ck_assert_uint_eq(l.outcome.lock.n_holders, 1);
	life_done(&l);
}
END_TEST

/* An endpoint that does not return the record is asked for it. */
START_TEST(test_look)
{
	struct life l;

	life_init(&l, ACQUIRE);
	life_send(&l, 1000);
	(void)life_lose(&l);
	life_send(&l, 2000);
	ck_assert_int_eq(life_answer(&l, 1, TRANSLATION_CONDITION, 0, "{}"),
	    TRANSLATION_NOW);
	life_send(&l, 2001);
	ck_assert_str_eq(l.request->operation, "GetItem");
	ck_assert_int_eq(life_answer(&l, 2, TRANSLATION_AGAIN,
	    DDBLOCK_E_THROTTLED, NULL), TRANSLATION_LATER);
	life_send(&l, 3000);
	ck_assert_str_eq(l.request->operation, "GetItem");
	ck_assert_int_eq(life_answer(&l, 3, TRANSLATION_OK, 0,
	    "{\"Item\":{" MINE "}}"), TRANSLATION_FINAL);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_DONE);
	ck_assert_uint_eq(l.outcome.sent_ms, 1000);
	ck_assert_uint_eq(l.outcome.lock.token, 45);
	life_done(&l);

	life_init(&l, BEAT_);
	life_send(&l, 1000);
	ck_assert_int_eq(life_answer(&l, 0, TRANSLATION_CONDITION, 0, "{}"),
	    TRANSLATION_NOW);
	life_send(&l, 1001);
	ck_assert_int_eq(life_answer(&l, 1, TRANSLATION_OK, 0, "{}"),
	    TRANSLATION_FINAL);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_CONFLICT);
	ck_assert(!l.outcome.session.exists && !l.outcome.unanswered);
	life_done(&l);

	/* The conflict was definite, the look was not. */
	life_init(&l, ACQUIRE);
	life_send(&l, 1000);
	(void)life_answer(&l, 0, TRANSLATION_CONDITION, 0, "{}");
	life_send(&l, 1001);
	(void)life_lose(&l);
	translation_give_up(&l.translation, &l.outcome);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_REFUSED);
	ck_assert(!l.outcome.unanswered);
	life_done(&l);
}
END_TEST

/* A write may be invalid because of what is in the record: let that speak. */
START_TEST(test_invalid)
{
	struct life l;

	life_init(&l, ACQUIRE);
	life_send(&l, 1000);
	ck_assert_int_eq(life_answer(&l, 0, TRANSLATION_INVALID,
	    DDBLOCK_E_BAD_REQUEST, NULL), TRANSLATION_NOW);
	life_send(&l, 1001);
	ck_assert_int_eq(life_answer(&l, 1, TRANSLATION_OK, 0,
	    "{\"Item\":{\"token\":{\"S\":\"1\"}}}"), TRANSLATION_FINAL);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_REFUSED);
	ck_assert_int_eq(l.outcome.code, DDBLOCK_E_BAD_RECORD);
	life_done(&l);

	life_init(&l, ACQUIRE);
	life_send(&l, 1000);
	(void)life_answer(&l, 0, TRANSLATION_INVALID, DDBLOCK_E_BAD_REQUEST,
	    NULL);
	life_send(&l, 1001);
	ck_assert_int_eq(life_answer(&l, 1, TRANSLATION_OK, 0, "{}"),
	    TRANSLATION_FINAL);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_REFUSED);
	ck_assert_int_eq(l.outcome.code, DDBLOCK_E_BAD_REQUEST);
	ck_assert_str_eq(l.outcome.text, "said so");
	life_done(&l);
}
END_TEST

/* Garbage in a success is no answer; a bad record in one is an effect. */
START_TEST(test_unreadable_success)
{
	struct life l;

	life_init(&l, ACQUIRE);
	life_send(&l, 1000);
	ck_assert_int_eq(life_answer(&l, 0, TRANSLATION_OK, 0, "<html>"),
	    TRANSLATION_LATER);
	life_send(&l, 2000);
	ck_assert_int_eq(life_conflict(&l, MINE), TRANSLATION_FINAL);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_DONE);
	ck_assert_uint_eq(l.outcome.sent_ms, 1000);
	life_done(&l);

	life_init(&l, ACQUIRE);
	life_send(&l, 1000);
	ck_assert_int_eq(life_ok(&l, MINE "," N("swait", "1")),
	    TRANSLATION_FINAL);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_UNKNOWN);
	ck_assert_int_eq(l.outcome.code, DDBLOCK_E_BAD_RECORD);
	life_done(&l);
}
END_TEST

START_TEST(test_cannot_be_asked)
{
	struct life l;

	life_init(&l, ACQUIRE);
	l.operation.key = (struct key){ "\xff", 1 };
	ck_assert_int_eq(translation_next(&l.translation, 1000, &l.request,
	    &l.attempt), DDBLOCK_E_BAD_REQUEST);
	translation_give_up(&l.translation, &l.outcome);
	ck_assert_int_eq(l.outcome.kind, OUTCOME_REFUSED);
	ck_assert_int_eq(l.outcome.code, DDBLOCK_E_BAD_REQUEST);
	ck_assert_str_ne(l.outcome.text, "");
	life_done(&l);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		test_numbers_of_beats, test_forms_of_release,
		test_forms_of_release_of_two, test_look, test_invalid,
		test_unreadable_success, test_cannot_be_asked, NULL,
	};

	return suite_run("translation_next", tests);
}

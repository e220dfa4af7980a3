/*
 * The life of one operation over its attempts: what is sent next.
 */
#include <stdio.h>
#include <string.h>

#include "ddblock.h"
#include "test.h"
#include "translation_life.h"

/* Every attempt of a beat has a number of its own, the others none. */
TEST(test_numbers_of_beats)
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

#define ONLY "#holders = :them"
#define ONE_OF "contains(#holders, :h0) AND #holders <> :them"
#define INVALID(sent_ms)                                                       \
	{ (sent_ms), NULL, TRANSLATION_INVALID, DDBLOCK_E_BAD_REQUEST, NULL,   \
	    TRANSLATION_NOW }
#define SILENT(sent_ms)	/* a conflict without its record */                   \
	{ (sent_ms), NULL, TRANSLATION_CONDITION, 0, "{}", TRANSLATION_NOW }

static const struct life_course courses[] = {
	/* First the form that fits the seen record, on conflict the other. */
	{ RELEASE, {
	    { 1000, ONLY, TRANSLATION_CONDITION, 0, SHOWS(BOTH),
		TRANSLATION_NOW },
	    { 1001, ONE_OF, TRANSLATION_OK, 0, ATTRIBUTES(THEIRS),
		TRANSLATION_FINAL } },
	    OUTCOME_DONE, 0, 1001, 0 },
	{ STAYS, {
	    { 1000, ONE_OF, TRANSLATION_CONDITION, 0, SHOWS(MINE),
		TRANSLATION_NOW },
	    { 1001, ONLY, TRANSLATION_OK, 0, ATTRIBUTES(FREE),
		TRANSLATION_FINAL } },
	    OUTCOME_DONE, 0, 1001, 0 },
	/* An endpoint that does not return the record is asked for it. */
	{ ACQUIRE, {
	    LOST(1000), SILENT(2000),
	    { 2001, "GetItem", TRANSLATION_AGAIN, DDBLOCK_E_THROTTLED, NULL,
		TRANSLATION_LATER },
	    { 3000, "GetItem", TRANSLATION_OK, 0, SHOWS(MINE),
		TRANSLATION_FINAL } },
	    OUTCOME_DONE, 0, 1000, 1000 },
	{ BEAT_, {
	    SILENT(1000),
	    { 1001, "GetItem", TRANSLATION_OK, 0, "{}", TRANSLATION_FINAL } },
	    OUTCOME_CONFLICT, 0, 0, 0 },
	/* The conflict was definite, the look was not. */
	{ ACQUIRE, { SILENT(1000), LOST(1001) },
	    OUTCOME_REFUSED, DDBLOCK_E_UNREACHABLE, 0, 0 },
	/* A write may be invalid because of the record's content: read the
	 * record. */
	{ ACQUIRE, {
	    INVALID(1000),
	    { 1001, "GetItem", TRANSLATION_OK, 0, BAD_ITEM,
		TRANSLATION_FINAL } },
	    OUTCOME_REFUSED, DDBLOCK_E_BAD_RECORD, 0, 0 },
	{ ACQUIRE, {
	    INVALID(1000),
	    { 1001, "GetItem", TRANSLATION_OK, 0, "{}", TRANSLATION_FINAL } },
	    OUTCOME_REFUSED, DDBLOCK_E_BAD_REQUEST, 0, 0 },
	/* Garbage in a success is no answer; a bad record in one is an
	 * effect. */
	{ ACQUIRE, {
	    { 1000, NULL, TRANSLATION_OK, 0, "<html>", TRANSLATION_LATER },
	    { 2000, NULL, TRANSLATION_CONDITION, 0, SHOWS(MINE),
		TRANSLATION_FINAL } },
	    OUTCOME_DONE, 0, 1000, 1000 },
	{ ACQUIRE, {
	    { 1000, NULL, TRANSLATION_OK, 0,
		ATTRIBUTES(MINE "," N("swait", "1")), TRANSLATION_FINAL } },
	    OUTCOME_UNKNOWN, DDBLOCK_E_BAD_RECORD, 0, 0 },
};

TEST_ROWS(test_courses, courses)
{
	struct life l;

	life_play(&l, &courses[_i]);
	if (courses[_i].code == DDBLOCK_E_BAD_REQUEST)
		ck_assert_str_eq(l.outcome.text, "said so");
	life_done(&l);
}

/* The other form, and the first again: never for ever. */
TEST(test_forms_have_an_end)
{
	struct life l;

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

/* Several elements (of dead sharers) are removed together, or stay: here the
 * third leaves in between, and another host removes one of the two. */
TEST(test_forms_of_release_of_two)
{
	static const struct life_course course = { ALONG, {
	    { 1000, ONLY, TRANSLATION_CONDITION, 0,
		SHOWS(SHARED(ME "\",\"" OTHER "\",\"" THIRD)),
		TRANSLATION_NOW },
	    { 1001, "contains(#holders, :h0) AND contains(#holders, :h1) AND "
		"#holders <> :them", TRANSLATION_CONDITION, 0, SHOWS(BOTH),
		TRANSLATION_NOW },
	    { 1002, ONLY, TRANSLATION_CONDITION, 0, SHOWS(SHARED(OTHER)),
		TRANSLATION_FINAL } },
	    OUTCOME_CONFLICT, 0, 0, 0 };
	struct life l;

	life_play(&l, &course);
	ck_assert_uint_eq(l.outcome.lock.n_holders, 1);
	life_done(&l);
}

TEST(test_cannot_be_asked)
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

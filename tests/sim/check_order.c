/*
 * The order of a lock's history: which histories have an order.
 */
#include <string.h>

#include "judge_state.h"
#include "suite.h"

struct order_case {
	const char *what;
	bool guilty;
	struct judge_turn turns[5];
};

#define TURN(token, asked, granted, kind, left, answered)		\
	LATER(0, token, asked, granted, kind, left, answered)
#define LATER(age_, token_, asked, granted, kind, left, answered)	\
	{ .age = (age_), .token = (token_), .asked_ms = (asked),	\
	    .granted_ms = (granted),					\
	    .end = (kind), .end_ms = (left), .ended_ms = (answered) }
#define SHARED(limit_, token_, asked, granted, kind, left, answered)	\
	{ .shared = true, .limit = (limit_), .token = (token_),		\
	    .asked_ms = (asked), .granted_ms = (granted),		\
	    .end = (kind), .end_ms = (left), .ended_ms = (answered) }

static const struct order_case orders[] = {
	{ "one after the other", false, {
	    TURN(1, 0, 10, END_RELEASED, 20, 30),
	    TURN(2, 5, 25, END_LOST, 40, 40),
	    TURN(3, 39, 50, END_OPEN, 0, 0) } },
	{ "two at once", true, {
	    TURN(1, 0, 10, END_RELEASED, 30, 40),
	    TURN(2, 5, 25, END_LOST, 50, 50) } },
	{ "told later than it was written", false, {
	    TURN(2, 0, 100, END_RELEASED, 110, 120),
	    TURN(1, 0, 20, END_RELEASED, 30, 90) } },
	{ "a lower token later", true, {
	    TURN(2, 0, 10, END_RELEASED, 20, 30),
	    TURN(1, 31, 40, END_RELEASED, 50, 60) } },
	{ "but not when the record was deleted by hand", false, {
	    TURN(2, 0, 10, END_RELEASED, 20, 30),
	    LATER(1, 1, 31, 40, END_RELEASED, 50, 60) } },
	{ "a deletion comes after what was before it", true, {
	    LATER(1, 3, 0, 10, END_RELEASED, 20, 30),
	    TURN(4, 31, 40, END_RELEASED, 50, 60) } },
	{ "the first that asked is not the first that got it", false, {
	    TURN(3, 0, 60, END_OPEN, 0, 0),
	    TURN(2, 1, 40, END_DESERTED, 50, 50),
	    TURN(1, 2, 20, END_RELEASED, 30, 35) } },
	{ "a third between two that touch", true, {
	    TURN(1, 0, 10, END_RELEASED, 20, 30),
	    TURN(2, 0, 30, END_OPEN, 0, 0),
	    TURN(3, 0, 40, END_OPEN, 0, 0) } },
	{ "a release whose answer never comes", false, {
	    TURN(1, 0, 10, END_RELEASED, 20, JUDGE_NEVER),
	    TURN(2, 0, 500, END_OPEN, 0, 0) } },
	{ "many share it", false, {
	    SHARED(0, 1, 0, 10, END_RELEASED, 50, 60),
	    SHARED(0, 3, 0, 20, END_RELEASED, 30, 40),
	    SHARED(0, 1, 0, 25, END_OPEN, 0, 0),
	    SHARED(0, 2, 0, 30, END_OPEN, 0, 0) } },
	{ "one of them alone", true, {
	    SHARED(0, 1, 0, 10, END_RELEASED, 50, 60),
	    TURN(3, 0, 20, END_RELEASED, 30, 40) } },
	{ "when they have left", false, {
	    SHARED(0, 1, 0, 10, END_RELEASED, 50, 60),
	    SHARED(0, 2, 0, 20, END_RELEASED, 40, 70),
	    TURN(3, 0, 50, END_RELEASED, 80, 90),
	    SHARED(0, 4, 0, 80, END_OPEN, 0, 0) } },
	{ "before one of them has left", true, {
	    SHARED(0, 1, 0, 10, END_RELEASED, 50, 60),
	    SHARED(0, 2, 0, 20, END_RELEASED, 51, 70),
	    TURN(3, 0, 50, END_RELEASED, 80, 90) } },
	{ "one who shares it with a token of before", true, {
	    TURN(3, 0, 10, END_RELEASED, 20, 30),
	    SHARED(0, 3, 30, 40, END_OPEN, 0, 0) } },
	{ "a semaphore up to its limit", false, {
	    SHARED(2, 1, 0, 10, END_RELEASED, 50, 60),
	    SHARED(2, 2, 0, 20, END_RELEASED, 30, 40),
	    SHARED(2, 4, 0, 50, END_OPEN, 0, 0),
	    SHARED(2, 3, 0, 30, END_OPEN, 0, 0) } },
	{ "and beyond it", true, {
	    SHARED(2, 1, 0, 10, END_RELEASED, 50, 60),
	    SHARED(2, 2, 0, 20, END_RELEASED, 30, 40),
	    SHARED(2, 4, 0, 49, END_OPEN, 0, 0),
	    SHARED(2, 3, 0, 30, END_OPEN, 0, 0) } },
	{ "another limit beside it", true, {
	    SHARED(2, 1, 0, 10, END_RELEASED, 50, 60),
	    SHARED(3, 2, 0, 20, END_RELEASED, 30, 40) } },
	{ "another limit after it", false, {
	    SHARED(2, 1, 0, 10, END_RELEASED, 50, 60),
	    SHARED(3, 2, 0, 50, END_OPEN, 0, 0) } },
};

static void
order_judge(struct judge *j, const struct judge_turn *turns, size_t n)
{
	struct judge_lock *l = judge_lock_get(j, 0, "x");

	l->turns = judge_alloc(n * sizeof(*turns));
	memcpy(l->turns, turns, n * sizeof(*turns));
	l->n_turns = l->turns_size = n;
	(void)judge_end(j, 1000);
}

START_TEST(test_order)
{
	const struct judge_rules rules = { .lease_ms = 20000 };

	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		const struct order_case *c = &orders[i];
		struct judge *j = judge_new(&rules, 1);
		size_t n = 0;

		while (n < 5 && c->turns[n].token > 0)
			n++;
		order_judge(j, c->turns, n);
		ck_assert_msg((judge_finding(j) != NULL) == c->guilty,
		    "%s: %s", c->what, judge_finding(j) == NULL ? "passed" :
		    judge_finding(j)->text);
		if (c->guilty)
			ck_assert_str_eq(judge_finding(j)->invariant, "order");
		judge_free(j);
	}
}
END_TEST

/* A thousand clients that all asked at once get it in another order. */
START_TEST(test_order_of_many)
{
	enum { MANY = 1000 };
	const struct judge_rules rules = { .lease_ms = 20000 };
	struct judge_turn *turns = judge_alloc(MANY * sizeof(*turns));

	for (uint64_t i = 0; i < MANY; i++) {
		uint64_t place = i * 7 % MANY;

		turns[i] = (struct judge_turn)TURN(place + 1, i % 10,
		    100 + place * 10, END_RELEASED, 105 + place * 10,
		    109 + place * 10);
	}
	for (int guilty = 0; guilty < 2; guilty++) {
		struct judge *j = judge_new(&rules, 1);

		turns[MANY / 2].end_ms += guilty ? 20 : 0;
		turns[MANY / 2].ended_ms += guilty ? 20 : 0;
		order_judge(j, turns, MANY);
		ck_assert_msg((judge_finding(j) != NULL) == (guilty == 1),
		    "%s", guilty ? "passed" : judge_finding(j)->text);
		judge_free(j);
	}
	free(turns);
}
END_TEST

/* A thousand clients that all asked at once; four hold it at a time. */
START_TEST(test_order_of_a_semaphore)
{
	enum { MANY = 1000 };
	const struct judge_rules rules = { .lease_ms = 20000 };
	struct judge_turn *turns = judge_alloc(MANY * sizeof(*turns));

	for (uint64_t i = 0; i < MANY; i++) {
		uint64_t place = i * 7 % MANY;

		turns[i] = (struct judge_turn)SHARED(4, place % 4 + 1, i % 10,
		    100 + place * 10, END_RELEASED, 135 + place * 10,
		    139 + place * 10);
	}
	for (int guilty = 0; guilty < 2; guilty++) {
		struct judge *j = judge_new(&rules, 1);

		turns[MANY / 2].end_ms += guilty ? 20 : 0;
		turns[MANY / 2].ended_ms += guilty ? 20 : 0;
		order_judge(j, turns, MANY);
		ck_assert_msg((judge_finding(j) != NULL) == (guilty == 1),
		    "%s", guilty ? "passed" : judge_finding(j)->text);
		judge_free(j);
	}
	free(turns);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		test_order,
		test_order_of_many,
		test_order_of_a_semaphore,
		NULL,
	};

	return suite_run("order", tests);
}

/*
 * What can be said of an operation and a record by themselves.
 */
#include <check.h>
#include <stdlib.h>

#include "core/operation.h"

#define X LOCK_MODE_EXCLUSIVE
#define S LOCK_MODE_SHARED
#define MANY HOLDERS_MAX

static const struct {
	enum operation_kind kind;
	enum lock_mode mode;
	uint64_t limit;
	uint32_t tokens;
	bool sound;
} sounds[] = {
	{ OPERATION_ACQUIRE, X, 0, TOKENS_MAX, true },
	{ OPERATION_ACQUIRE, X, 1, 1, false },
	{ OPERATION_ACQUIRE, S, 0, 1, true },
	{ OPERATION_ACQUIRE, S, MANY, 1, true },
	{ OPERATION_ACQUIRE, S, MANY + 1, 1, false },
	{ OPERATION_ACQUIRE, S, 0, 2, false },
	{ OPERATION_ACQUIRE, S, 0, 0, false },
	{ OPERATION_ACQUIRE, LOCK_MODE_NONE, 0, 1, false },
	{ OPERATION_WANT, X, 0, 0, true },
	{ OPERATION_WANT, S, 0, 0, true },
	{ OPERATION_WANT, LOCK_MODE_NONE, 0, 0, false },
	{ OPERATION_UNWANT, X, 0, 0, true },
	{ OPERATION_UNWANT, S, 0, 0, true },
	{ OPERATION_UNWANT, LOCK_MODE_NONE, 0, 0, false },
	{ OPERATION_READ, LOCK_MODE_NONE, 0, 0, true },
	{ OPERATION_BREAK, LOCK_MODE_NONE, 0, 0, true },
};

START_TEST(test_sound)
{
	struct operation o = {
		.kind = sounds[_i].kind, .mode = sounds[_i].mode,
		.limit = sounds[_i].limit, .tokens = sounds[_i].tokens,
	};

	ck_assert(operation_is_sound(&o) == sounds[_i].sound);
}
END_TEST

START_TEST(test_release)
{
	struct operation o = { .kind = OPERATION_RELEASE };

	ck_assert(!operation_is_sound(&o));
	o.n_holders = RELEASE_MAX;
	ck_assert(operation_is_sound(&o));
	o.n_holders++;
	ck_assert(!operation_is_sound(&o));
}
END_TEST

/* Session 1 asks for grant 1. The holders are grants 2, 3, ... of others. */
static const struct {
	enum lock_mode mode;
	uint64_t limit;
	bool may;
	struct lock_record record;
} entries[] = {
	{ X, 0, true, { .exists = false } },
	{ S, 0, true, { .exists = false } },
	{ X, 0, true, { .mode = X } },
	{ X, 0, false, { .mode = X, .n_shared_wishes = 1 } },
	{ X, 0, true, { .mode = S, .n_shared_wishes = 1 } },
	{ X, 0, true, { .mode = X, .n_exclusive_wishes = 1 } },
	{ X, 0, false, { .mode = X, .n_holders = 1 } },
	{ X, 0, false, { .mode = S, .n_holders = 1 } },
	{ S, 5, true, { .mode = S, .limit = 9 } },
	{ S, 0, true, { .mode = X, .n_exclusive_wishes = 1 } },
	{ S, 0, false, { .mode = S, .n_exclusive_wishes = 1 } },
	/* The second is our own. */
	{ S, 0, true, { .mode = S, .n_exclusive_wishes = 2 } },
	{ S, 0, false, { .mode = X, .n_holders = 1 } },
	{ S, 0, true, { .mode = S, .n_holders = 1 } },
	{ S, 0, true, { .mode = S, .n_holders = 1, .n_shared_wishes = 1 } },
	{ S, 0, false, { .mode = S, .n_holders = 1,
	    .n_exclusive_wishes = 1 } },
	{ S, 0, false, { .mode = S, .n_holders = 1,
	    .n_exclusive_wishes = 2 } },
	{ S, 0, true, { .mode = S, .n_holders = MANY - 1 } },
	{ S, 0, false, { .mode = S, .n_holders = MANY } },
	{ S, 3, true, { .mode = S, .limit = 3, .n_holders = 2 } },
	{ S, 3, false, { .mode = S, .limit = 3, .n_holders = 3 } },
	{ S, 3, false, { .mode = S, .limit = 3, .n_holders = 4 } },
	{ S, 3, false, { .mode = S, .limit = 4, .n_holders = 1 } },
	{ S, 3, false, { .mode = S, .limit = 0, .n_holders = 1 } },
	{ S, 0, false, { .mode = S, .limit = 3, .n_holders = 1 } },
};

static struct holder holders[MANY];

START_TEST(test_enter)
{
	static const struct ident wishes[] = { { 0, 7 }, { 0, 1 } };
	struct lock_record r = entries[_i].record;
	struct operation o = {
		.kind = OPERATION_ACQUIRE, .mode = entries[_i].mode,
		.limit = entries[_i].limit, .tokens = 1,
		.me = { { 0, 1 }, { 0, 1 }, 20000, false },
	};

	for (size_t i = 0; i < MANY; i++)
		holders[i] = (struct holder){
			{ 0, 2 + i }, { 0, 2 + i }, 20000, false,
		};
	r.holders = holders;
	r.exclusive_wishes = wishes;
	r.shared_wishes = wishes;
	ck_assert(operation_may_enter(&o, &r) == entries[_i].may);
	/* Whoever is in need not come in; another of the session may. */
	if (r.n_holders > 0) {
		holders[r.n_holders - 1] = o.me;
		ck_assert(!operation_may_enter(&o, &r));
		holders[r.n_holders - 1].grant = (struct ident){ 0, 9999 };
		ck_assert(operation_may_enter(&o, &r) == entries[_i].may);
	}
}
END_TEST

START_TEST(test_names)
{
	ck_assert_str_eq(operation_kind_name(OPERATION_BREAK), "break");
	ck_assert_str_eq(operation_kind_name(0), "none");
	for (int i = 1; i <= OPERATION_SESSION_CLOSE; i++)
		ck_assert_str_ne(operation_kind_name((enum operation_kind)i),
		    "none");
	ck_assert_str_eq(outcome_kind_name(OUTCOME_UNKNOWN), "unknown");
}
END_TEST

#define ROWS(a) ((int)(sizeof(a) / sizeof((a)[0])))

int
main(void)
{
	Suite *suite = suite_create("operation");
	TCase *tests = tcase_create("operation");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_loop_test(tests, test_sound, 0, ROWS(sounds));
	tcase_add_test(tests, test_release);
	tcase_add_loop_test(tests, test_enter, 0, ROWS(entries));
	tcase_add_test(tests, test_names);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

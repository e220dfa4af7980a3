/*
 * What can be said of an operation by itself.
 */
#include <stdlib.h>

#include "core/operation.h"
#include "test.h"

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
	{ OPERATION_ADD_WAITER, X, 0, 0, true },
	{ OPERATION_ADD_WAITER, S, 0, 0, true },
	{ OPERATION_ADD_WAITER, LOCK_MODE_NONE, 0, 0, false },
	{ OPERATION_REMOVE_WAITER, X, 0, 0, true },
	{ OPERATION_REMOVE_WAITER, S, 0, 0, true },
	{ OPERATION_REMOVE_WAITER, LOCK_MODE_NONE, 0, 0, false },
	{ OPERATION_READ, LOCK_MODE_NONE, 0, 0, true },
	{ OPERATION_BREAK, LOCK_MODE_NONE, 0, 0, true },
	{ OPERATION_RAISE, LOCK_MODE_NONE, 0, 0, true },
	{ OPERATION_RAISE, LOCK_MODE_NONE, 0, TOKENS_RAISED, true },
	{ OPERATION_RAISE, LOCK_MODE_NONE, 0, TOKENS_RAISED + 1, false },
};

TEST_ROWS(test_sound, sounds)
{
	struct operation o = {
		.kind = sounds[_i].kind, .mode = sounds[_i].mode,
		.limit = sounds[_i].limit, .tokens = sounds[_i].tokens,
	};

	ck_assert(operation_is_sound(&o) == sounds[_i].sound);
}

TEST(test_release)
{
	struct operation o = { .kind = OPERATION_RELEASE };

	ck_assert(!operation_is_sound(&o));
	o.n_holders = RELEASE_MAX;
	ck_assert(operation_is_sound(&o));
	o.n_holders++;
	ck_assert(!operation_is_sound(&o));
}

TEST(test_names)
{
	ck_assert_str_eq(operation_kind_name(OPERATION_BREAK), "break");
	ck_assert_str_eq(operation_kind_name(0), "none");
	for (int i = 1; i <= OPERATION_SESSION_CLOSE; i++)
		ck_assert_str_ne(operation_kind_name((enum operation_kind)i),
		    "none");
	ck_assert_str_eq(outcome_kind_name(OUTCOME_UNKNOWN), "unknown");
}

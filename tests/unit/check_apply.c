/*
 * Conditions and effects at their limits, and the effect of a lost answer. That
 * the formats' expressions say the same is for check_apply_native and
 * check_apply_formats.
 */
#include <stdlib.h>

#include "core/apply.h"
#include "ddblock.h"
#include "test.h"

#define X LOCK_MODE_EXCLUSIVE
#define S LOCK_MODE_SHARED
#define MANY HOLDERS_MAX

static const struct apply attempt = { .wall_s = 1000 };

/* A record has room for so many, and no more. */
TEST(test_waiter_marks_have_an_end)
{
	static struct ident waiter_marks[WAITER_MARKS_MAX];
	struct holder holder = { .session = { 1, 1 }, .grant = { 1, 2 } };
	struct lock_record next, old = {
		.exists = true, .token = 7, .holders = &holder,
		.n_holders = 1, .exclusive_waiters = waiter_marks,
	};
	struct operation o = {
		.kind = OPERATION_ADD_WAITER, .session = { 9, 9 }, .mode = X,
	};
	void *memory;

	for (size_t i = 0; i < WAITER_MARKS_MAX; i++)
		waiter_marks[i] = (struct ident){ 2, i + 1 };
	old.n_exclusive_waiters = WAITER_MARKS_MAX - 1;
	memory = malloc(apply_room(&o, &old));
	ck_assert_ptr_nonnull(memory);
	ck_assert_int_eq(apply_lock(&attempt, &o, &old, memory, &next),
	    APPLY_NEW);
	ck_assert_uint_eq(next.n_exclusive_waiters, WAITER_MARKS_MAX);
	free(memory);
	old.n_exclusive_waiters = WAITER_MARKS_MAX;
	ck_assert_int_eq(apply_judge_lock(&attempt, &o, &old),
	    DDBLOCK_E_LIMIT);
}

static uint64_t
first_token(uint64_t wall_s, uint64_t floor)
{
	struct apply a = { .wall_s = wall_s, .token_floor = floor };
	struct lock_record next, old = { .exists = false };
	struct operation o = {
		.kind = OPERATION_ACQUIRE, .tokens = 3, .mode = X,
		.me = { .session = { 1, 1 }, .grant = { 1, 2 } },
	};
	struct holder memory[4];

	ck_assert_uint_le(apply_room(&o, &old), sizeof(memory));
	ck_assert_int_eq(apply_lock(&a, &o, &old, memory, &next), APPLY_NEW);
	return next.token;
}

/* Of a key that has no record any more: above all that was cleaned up. */
TEST(test_tokens_go_on)
{
	ck_assert_uint_eq(first_token(1000, UINT64_C(5) << 40),
	    (UINT64_C(5) << 40) + 3);
	ck_assert_uint_eq(first_token(1000, 0), (UINT64_C(1000) << 20) + 3);
	/* A host's clock is wrong by decades. */
	ck_assert_uint_eq(first_token(UINT64_MAX, 0),
	    (UINT64_C(1) << 52) + 3);
}

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
	{ X, 0, false, { .mode = X, .n_shared_waiters = 1 } },
	{ X, 0, true, { .mode = S, .n_shared_waiters = 1 } },
	{ X, 0, true, { .mode = X, .n_exclusive_waiters = 1 } },
	{ X, 0, false, { .mode = X, .n_holders = 1 } },
	{ X, 0, false, { .mode = S, .n_holders = 1 } },
	{ S, 5, true, { .mode = S, .limit = 9 } },
	{ S, 0, true, { .mode = X, .n_exclusive_waiters = 1 } },
	{ S, 0, false, { .mode = S, .n_exclusive_waiters = 1 } },
	/* The second is our own. */
	{ S, 0, true, { .mode = S, .n_exclusive_waiters = 2 } },
	{ S, 0, false, { .mode = X, .n_holders = 1 } },
	{ S, 0, true, { .mode = S, .n_holders = 1 } },
	{ S, 0, true, { .mode = S, .n_holders = 1, .n_shared_waiters = 1 } },
	{ S, 0, false, { .mode = S, .n_holders = 1,
	    .n_exclusive_waiters = 1 } },
	{ S, 0, false, { .mode = S, .n_holders = 1,
	    .n_exclusive_waiters = 2 } },
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

TEST_ROWS(test_enter, entries)
{
	static const struct ident waiter_marks[] = { { 0, 7 }, { 0, 1 } };
	const int expected = entries[_i].may ? APPLY_NEW : APPLY_CONFLICT;
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
	r.exclusive_waiters = waiter_marks;
	r.shared_waiters = waiter_marks;
	ck_assert_int_eq(apply_judge_lock(&attempt, &o, &r), expected);
	/* Its own work is recognised; another of the session may enter. */
	if (r.n_holders > 0) {
		holders[r.n_holders - 1] = o.me;
		ck_assert_int_eq(apply_judge_lock(&attempt, &o, &r),
		    APPLY_SAME);
		holders[r.n_holders - 1].grant = (struct ident){ 0, 9999 };
		ck_assert_int_eq(apply_judge_lock(&attempt, &o, &r), expected);
	}
}

/*
 * The embedded store's limits, where a whole table would take long to fill.
 */
#include "suite.h"

#include "core/operation.h"
#include "ddblock.h"
#include "store/arena.h"
#include "store/sqlite_apply.h"

static struct arena arena;

static struct sqlite_apply
apply(uint64_t token_floor)
{
	return (struct sqlite_apply){
		.arena = &arena, .wall_s = 1000, .token_floor = token_floor,
	};
}

/* A record has room for so many, and no more. */
START_TEST(test_wishes_have_an_end)
{
	static struct ident wishes[WISHES_MAX];
	struct sqlite_apply a = apply(0);
	struct holder holder = { .session = { 1, 1 }, .grant = { 1, 2 } };
	struct lock_record next, old = {
		.exists = true, .token = 7, .holders = &holder,
		.n_holders = 1, .exclusive_wishes = wishes,
	};
	struct operation o = {
		.kind = OPERATION_WANT, .key = { "k", 1 },
		.session = { 9, 9 }, .mode = LOCK_MODE_EXCLUSIVE,
	};

	for (size_t i = 0; i < WISHES_MAX; i++)
		wishes[i] = (struct ident){ 2, i + 1 };
	old.n_exclusive_wishes = WISHES_MAX - 1;
	ck_assert_int_eq(sqlite_apply_lock(&a, &o, &old, &next),
	    SQLITE_WRITE);
	ck_assert_uint_eq(next.n_exclusive_wishes, WISHES_MAX);
	old.n_exclusive_wishes = WISHES_MAX;
	ck_assert_int_eq(sqlite_apply_lock(&a, &o, &old, &next),
	    DDBLOCK_E_LIMIT);
	arena_done(&arena);
}
END_TEST

/* Of a key that has no record any more: above all that was cleaned up. */
START_TEST(test_tokens_go_on)
{
	struct sqlite_apply a = apply(UINT64_C(5) << 40);
	struct lock_record next, old = { .exists = false };
	struct operation o = {
		.kind = OPERATION_ACQUIRE, .key = { "k", 1 }, .tokens = 3,
		.lease_ms = 20000, .mode = LOCK_MODE_EXCLUSIVE,
		.me = { .session = { 1, 1 }, .grant = { 1, 2 } },
	};

	ck_assert_int_eq(sqlite_apply_lock(&a, &o, &old, &next),
	    SQLITE_WRITE);
	ck_assert_uint_eq(next.token, (UINT64_C(5) << 40) + 3);
	a = apply(0);
	ck_assert_int_eq(sqlite_apply_lock(&a, &o, &old, &next),
	    SQLITE_WRITE);
	ck_assert_uint_eq(next.token, (UINT64_C(1000) << 20) + 3);
	arena_done(&arena);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		test_wishes_have_an_end, test_tokens_go_on, NULL,
	};

	return suite_run("sqlite_apply", tests);
}

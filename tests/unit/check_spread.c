/*
 * Places in time: some at once, the others one after the other.
 */
#include "aws/spread.h"
#include "test.h"

#define NOW_NS UINT64_C(5000000000)

TEST(test_some_at_once)
{
	struct spread s = { 0 };

	for (int i = 0; i < SPREAD_AT_ONCE; i++)
		ck_assert_uint_eq(spread_take_us(&s, NOW_NS), 0);
	for (uint64_t i = SPREAD_AT_ONCE; i < 100; i++)
		ck_assert_uint_eq(spread_take_us(&s, NOW_NS),
		    i * SPREAD_EACH_NS / 1000);
}

/* What was taken is over with its time, and no place is before now. */
TEST(test_again)
{
	struct spread s = { 0 };

	for (int i = 0; i < 100; i++)
		(void)spread_take_us(&s, NOW_NS);
	ck_assert_uint_eq(spread_take_us(&s, NOW_NS + 50 * SPREAD_EACH_NS),
	    50 * SPREAD_EACH_NS / 1000);
	for (int i = 0; i < SPREAD_AT_ONCE; i++)
		ck_assert_uint_eq(spread_take_us(&s, 2 * NOW_NS), 0);
	ck_assert_uint_gt(spread_take_us(&s, 2 * NOW_NS), 0);
}

/*
 * Rates: of one bucket, and of many addresses in bounded memory.
 */
#include "hint_fixture.h"

static const struct hint_rate rate = { .per_second = 10, .at_once = 5 };

static int
take_all(struct hint_bucket *b, uint64_t now_ms)
{
	int n = 0;

	while (n < 1000 && hint_rate_take(b, &rate, now_ms))
		n++;
	return n;
}

TEST(test_bucket)
{
	struct hint_bucket b = { 0 };

	ck_assert_int_eq(take_all(&b, 1000), 5);
	ck_assert_int_eq(take_all(&b, 1000), 0);
	ck_assert_int_eq(take_all(&b, 1099), 0);
	ck_assert_int_eq(take_all(&b, 1100), 1);
	ck_assert_int_eq(take_all(&b, 1400), 3);
	ck_assert_int_eq(take_all(&b, 1000000), 5);
	/* A clock that goes back is no harm. */
	ck_assert_int_eq(take_all(&b, 1000), 0);
}

/* Over a long time it is the rate, whatever the pattern. */
TEST_LOOP(test_long_time, 1, 20)
{
	struct hint_bucket b = { 0 };
	int n = 0;

	for (uint64_t now_ms = 0; now_ms < 100000; now_ms += (uint64_t)_i * 7)
		n += take_all(&b, now_ms);
	ck_assert_int_le(n, 1000 + 5);
	ck_assert_int_ge(n, 990);
}

TEST(test_none)
{
	const struct hint_rate none = { 0, 5 }, never = { 5, 0 };
	struct hint_bucket b = { 0 };

	ck_assert(!hint_rate_take(&b, &none, 1000));
	ck_assert(!hint_rate_take(&b, &never, 1000));
}

static struct hint_targets targets;

static bool
take_target(uint32_t n, uint64_t now_ms)
{
	uint8_t ip[HINT_IP_BYTES] = { [10] = 0xff, 0xff };

	memcpy(ip + HINT_IP_BYTES - sizeof(n), &n, sizeof(n));
	return hint_targets_take(&targets, ip, &rate, now_ms);
}

TEST(test_targets)
{
	memset(&targets, 0, sizeof(targets));
	for (int i = 0; i < 5; i++)
		ck_assert(take_target(7, 1000));
	ck_assert(!take_target(7, 1000));
	ck_assert(take_target(8, 1000));
	ck_assert(take_target(7, 1100));
	ck_assert(!take_target(7, 1100));
}

/* As many as there are places at once, none again too soon, and all again after
 * the time that a bucket takes to be full. */
TEST(test_many_targets)
{
	uint32_t n = 0, again = 0;

	memset(&targets, 0, sizeof(targets));
	for (uint32_t i = 0; i < 100000; i++)
		n += take_target(i, 1000);
	ck_assert_uint_eq(n, HINT_TARGET_SETS * HINT_TARGET_WAYS);
	for (uint32_t i = 100000; i < 200000; i++)
		again += take_target(i, 1099);
	ck_assert_uint_eq(again, 0);
	for (uint32_t i = 200000; i < 300000; i++)
		again += take_target(i, 1100);
	ck_assert_uint_eq(again, n);
}

/* An address that has used its rate up keeps its place among those that have
 * not: no flood of others gives it more. */
TEST(test_place_is_kept)
{
	int got = 0;

	memset(&targets, 0, sizeof(targets));
	while (take_target(7, 1000))
		got++;
	ck_assert_int_eq(got, 5);
	for (uint64_t now_ms = 1000; now_ms < 11000; now_ms += 10) {
		for (uint32_t i = 0; i < 3000; i++)
			(void)take_target(1000 + i, now_ms);
		got += take_target(7, now_ms);
	}
	ck_assert_int_le(got, 5 + 100);
}

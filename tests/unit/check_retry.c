/*
 * When calls are repeated, and the endpoint's clock.
 */

#include "aws/retry.h"
#include "aws/skew.h"
#include "test.h"

#define FAR UINT64_C(1000000000)

static uint64_t
next(struct retry *s, enum aws_class class, uint32_t random)
{
	uint64_t wait_ms = UINT64_MAX;

	ck_assert(retry_next(s, class, 1000, FAR, random, &wait_ms));
	return wait_ms;
}

TEST(test_doubles_from_the_base)
{
	struct retry s;

	/* The largest random number comes to just below the bound. */
	retry_init(&s, RETRY_ATTEMPTS_UNLIMITED, RETRY_CAP_MS);
	ck_assert_uint_eq(next(&s, AWS_CLASS_TRANSIENT, UINT32_MAX), 24);
	ck_assert_uint_eq(next(&s, AWS_CLASS_TRANSIENT, UINT32_MAX), 49);
	ck_assert_uint_eq(next(&s, AWS_CLASS_TRANSIENT, UINT32_MAX), 99);
	ck_assert_uint_eq(next(&s, AWS_CLASS_TRANSIENT, UINT32_MAX / 2), 99);
	ck_assert_uint_eq(next(&s, AWS_CLASS_TRANSIENT, 0), 0);
	/* The base is the class's, the power that of all attempts. */
	ck_assert_uint_eq(next(&s, AWS_CLASS_THROTTLED, UINT32_MAX), 19999);
	for (int i = 0; i < 100; i++)
		ck_assert_uint_lt(next(&s, AWS_CLASS_TRANSIENT, UINT32_MAX),
		    RETRY_CAP_MS);
}

TEST(test_throttling_waits_longer)
{
	struct retry s;

	retry_init(&s, RETRY_ATTEMPTS_MAX, RETRY_CAP_MS);
	ck_assert_uint_eq(next(&s, AWS_CLASS_THROTTLED, UINT32_MAX), 999);
	ck_assert_uint_eq(next(&s, AWS_CLASS_THROTTLED, UINT32_MAX), 1999);
}

TEST(test_attempts_are_counted)
{
	uint64_t wait_ms = 77;
	struct retry s;

	retry_init(&s, RETRY_ATTEMPTS_MAX, RETRY_CAP_MS);
	for (int i = 1; i < RETRY_ATTEMPTS_MAX; i++)
		(void)next(&s, AWS_CLASS_TRANSIENT, 0);
	ck_assert(!retry_next(&s, AWS_CLASS_TRANSIENT, 0, FAR, 0, &wait_ms));
	ck_assert_uint_eq(wait_ms, 77);
}

TEST(test_beats_are_repeated_to_the_deadline)
{
	uint64_t now_ms = 5000, wait_ms, deadline_ms = 19000;
	struct retry s;
	int n = 0;

	retry_init(&s, RETRY_ATTEMPTS_UNLIMITED, RETRY_CAP_SESSION_MS);
	while (retry_next(&s, n % 2 == 0 ? AWS_CLASS_TRANSIENT :
	    AWS_CLASS_THROTTLED, now_ms, deadline_ms, UINT32_MAX, &wait_ms)) {
		ck_assert_uint_lt(wait_ms, RETRY_CAP_SESSION_MS);
		now_ms += wait_ms + 1;
		ck_assert_uint_le(now_ms + RETRY_ROOM_MS, deadline_ms + 1);
		n++;
	}
	ck_assert_int_gt(n, 13);
	ck_assert_uint_ge(now_ms + RETRY_ROOM_MS, deadline_ms);
}

TEST(test_never_beyond_the_deadline)
{
	uint64_t wait_ms;
	struct retry s;

	retry_init(&s, RETRY_ATTEMPTS_UNLIMITED, RETRY_CAP_MS);
	ck_assert(retry_next(&s, AWS_CLASS_THROTTLED, 1000, 1500, UINT32_MAX,
	    &wait_ms));
	ck_assert_uint_lt(1000 + wait_ms, 1500 - RETRY_ROOM_MS);
	ck_assert(!retry_next(&s, AWS_CLASS_TRANSIENT, 1000, 1000, 0,
	    &wait_ms));
	ck_assert(!retry_next(&s, AWS_CLASS_TRANSIENT, 1000, 500, 0,
	    &wait_ms));
	ck_assert(!retry_next(&s, AWS_CLASS_TRANSIENT, 1000,
	    1000 + RETRY_ROOM_MS, 0, &wait_ms));
}

TEST(test_only_what_can_change)
{
	static const enum aws_class final[] = {
		AWS_CLASS_OK, AWS_CLASS_CONDITION, AWS_CLASS_REFUSED,
	};
	uint64_t wait_ms;
	struct retry s;

	retry_init(&s, RETRY_ATTEMPTS_MAX, RETRY_CAP_MS);
	for (size_t i = 0; i < 3; i++)
		ck_assert(!retry_next(&s, final[i], 0, FAR, 0, &wait_ms));
}

TEST(test_wrong_clock_is_mended_at_once)
{
	uint64_t wait_ms;
	struct retry s;

	retry_init(&s, RETRY_ATTEMPTS_UNLIMITED, RETRY_CAP_MS);
	for (int i = 0; i < RETRY_CLOCK_MAX; i++)
		ck_assert_uint_eq(next(&s, AWS_CLASS_CLOCK, UINT32_MAX), 0);
	ck_assert(!retry_next(&s, AWS_CLASS_CLOCK, 0, FAR, 0, &wait_ms));
}

/* ---- skew.h ---- */

#define DATE_S INT64_C(1800000000)
#define DATE_MS (UINT64_C(1800000000) * 1000)

TEST(test_skew_unknown_at_first)
{
	struct skew s = { .known = false };

	ck_assert_uint_eq(skew_wall_ms(&s, 12345), 0);
	skew_learn(&s, 1000, 1010, 0);			/* 1970 */
	skew_learn(&s, 1000, 1010, INT64_C(99999999999));
	skew_learn(&s, 1000, 1010, -5);
	ck_assert_uint_eq(skew_wall_ms(&s, 12345), 0);
	skew_learn(&s, 1000, 1010, DATE_S);
	ck_assert_uint_ge(skew_wall_ms(&s, 1010), DATE_MS);
	ck_assert_uint_le(skew_wall_ms(&s, 1000), DATE_MS + 999);
}

/* True time is boot + DATE_MS; each answer is dated by the whole second. */
TEST(test_skew_narrows)
{
	struct skew s = { .known = false };
	uint64_t boot_ms = 5000, wall_ms;

	for (int i = 0; i < 50; i++) {
		uint64_t at_ms = boot_ms + 3; /* when it was dated */

		skew_learn(&s, boot_ms, boot_ms + 7,
		    (int64_t)((DATE_MS + at_ms) / 1000));
		boot_ms += 1137;
	}
	wall_ms = skew_wall_ms(&s, boot_ms);
	ck_assert_uint_ge(wall_ms + 100, DATE_MS + boot_ms);
	ck_assert_uint_le(wall_ms, DATE_MS + boot_ms + 100);
}

TEST(test_skew_follows_a_clock_that_is_set)
{
	struct skew s = { .known = false };

	skew_learn(&s, 1000, 1010, DATE_S);
	skew_learn(&s, 2000, 2010, DATE_S + 1);
	skew_learn(&s, 3000, 3010, DATE_S + 3600);
	ck_assert_uint_ge(skew_wall_ms(&s, 3010), DATE_MS + 3600000);
	ck_assert_uint_le(skew_wall_ms(&s, 3010), DATE_MS + 3601010);
	skew_learn(&s, 4000, 4010, DATE_S + 3);
	ck_assert_uint_le(skew_wall_ms(&s, 4010), DATE_MS + 4010);
}

/*
 * When credentials are renewed.
 */

#include "identity/identity_refresh.h"
#include "test.h"

#define BOOT UINT64_C(5000000)
#define WALL UINT64_C(1800000000000)
#define HOUR UINT64_C(3600000)

static struct identity_now
at(uint64_t after_ms, uint32_t random)
{
	return (struct identity_now){ BOOT + after_ms, WALL + after_ms,
	    random };
}

TEST(test_none_is_due)
{
	struct refresh f = { .taken = false };
	struct identity_now now = at(0, 0);

	ck_assert_uint_eq(refresh_due_ms(&f, &now), BOOT);
	ck_assert(!refresh_valid(&f, WALL));
}

TEST(test_for_ever)
{
	struct refresh f;
	struct identity_now now = at(0, 0);

	refresh_take(&f, 0, false, &now);
	ck_assert_uint_eq(refresh_due_ms(&f, &now), UINT64_MAX);
	ck_assert(refresh_valid(&f, UINT64_MAX));
	refresh_drop(&f);
	ck_assert_uint_eq(refresh_due_ms(&f, &now), BOOT);
}

/* Of any life, between its half and its last quarter. */
TEST(test_quarter)
{
	static const uint64_t lives[] = {
		60000, 15 * 60000, HOUR, 6 * HOUR, 12 * HOUR, 8760 * HOUR,
	};

	for (size_t i = 0; i < sizeof(lives) / sizeof(lives[0]); i++) {
		struct identity_now early = at(0, UINT32_MAX);
		struct identity_now late = at(0, 0);
		struct refresh f;

		refresh_take(&f, WALL + lives[i], false, &late);
		ck_assert_uint_eq(refresh_due_ms(&f, &late),
		    BOOT + lives[i] / 4 * 3);
		refresh_take(&f, WALL + lives[i], false, &early);
		ck_assert_uint_ge(refresh_due_ms(&f, &early),
		    BOOT + lives[i] / 2);
		ck_assert_uint_le(refresh_due_ms(&f, &early),
		    BOOT + lives[i] / 2 + lives[i] / 100000 + 1);
	}
}

/* The time of waking says the same all the way. */
TEST(test_stays)
{
	struct identity_now now = at(0, 12345678);
	struct refresh f;
	uint64_t due_ms;

	refresh_take(&f, WALL + HOUR, false, &now);
	due_ms = refresh_due_ms(&f, &now);
	for (uint64_t ms = 0; BOOT + ms < due_ms; ms += 1000) {
		struct identity_now later = at(ms, 0);

		ck_assert_uint_eq(refresh_due_ms(&f, &later), due_ms);
	}
}

/* A clock that is set forward makes it due, one that is set back does not
 * make it last. */
TEST(test_clock_is_set)
{
	struct identity_now now = at(0, 0), ahead = at(60000, 0),
	    back = at(60000, 0);
	struct refresh f;

	refresh_take(&f, WALL + HOUR, false, &now);
	ahead.wall_ms += HOUR;
	ck_assert_uint_le(refresh_due_ms(&f, &ahead), ahead.boot_ms);
	ck_assert(!refresh_valid(&f, ahead.wall_ms));
	back.wall_ms -= 10 * HOUR;
	ck_assert_uint_eq(refresh_due_ms(&f, &back), BOOT + HOUR / 4 * 3);
}

/* One that gives the same to the end is not asked ever more often. */
TEST(test_last_seconds)
{
	for (uint64_t life_ms = 1; life_ms < 9000; life_ms += 100) {
		struct identity_now now = at(0, UINT32_MAX / 2);
		struct refresh f;

		refresh_take(&f, WALL + life_ms, true, &now);
		ck_assert_uint_ge(refresh_due_ms(&f, &now),
		    BOOT + REFRESH_AGAIN_MIN_MS);
	}
}

/* Expired when they came: by the metadata service, in 10 to 15 minutes. */
TEST(test_expired)
{
	struct identity_now least = at(0, 0), most = at(0, UINT32_MAX);
	struct refresh f;

	refresh_take(&f, WALL - 1, true, &least);
	ck_assert_uint_eq(refresh_due_ms(&f, &least), BOOT + 600000);
	ck_assert(!refresh_valid(&f, WALL));
	refresh_take(&f, WALL, true, &most);
	ck_assert_uint_ge(refresh_due_ms(&f, &most), BOOT + 899999);
	ck_assert_uint_le(refresh_due_ms(&f, &most), BOOT + 900000);
	refresh_take(&f, WALL - 1, false, &most);
	ck_assert_uint_eq(refresh_due_ms(&f, &most),
	    BOOT + REFRESH_AGAIN_MIN_MS);
}

TEST(test_waits)
{
	struct identity_now most = at(0, UINT32_MAX), least = at(0, 0);
	struct refresh none = { .taken = false }, some;

	/* Doubles to its cap, and never is nothing. */
	for (uint32_t n = 1; n < 100; n++) {
		uint64_t cap = n <= 6 ? UINT64_C(1000) << (n - 1) : 60000;

		ck_assert_uint_le(refresh_wait_ms(&none, n, false, &most),
		    cap);
		ck_assert_uint_ge(refresh_wait_ms(&none, n, false, &most),
		    cap - 1);
		ck_assert_uint_eq(refresh_wait_ms(&none, n, false, &least),
		    cap / 2);
	}
	ck_assert_uint_eq(refresh_wait_ms(&none, 1, true, &least), 7500);
	ck_assert_uint_eq(refresh_wait_ms(&none, 3, true, &least), 30000);
	ck_assert_uint_eq(refresh_wait_ms(&none, UINT32_MAX, true, &least),
	    30000);
	/* While there is time, a tenth of it; at most ten minutes. */
	refresh_take(&some, WALL + HOUR, false, &least);
	ck_assert_uint_eq(refresh_wait_ms(&some, 1, false, &least), 500);
	ck_assert_uint_eq(refresh_wait_ms(&some, 50, false, &least), 180000);
	refresh_take(&some, WALL + 12 * HOUR, false, &least);
	ck_assert_uint_eq(refresh_wait_ms(&some, 50, false, &least), 300000);
	refresh_take(&some, WALL - HOUR, false, &least);
	ck_assert_uint_eq(refresh_wait_ms(&some, 50, false, &least), 30000);
}

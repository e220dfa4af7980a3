/*
 * Times as timers take them.
 */
#include <stdint.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/clock.h"
#include "test.h"

TEST(test_a_moment)
{
	struct timespec t = clock_moment(1234567);

	ck_assert_int_eq(t.tv_sec, 1234);
	ck_assert_int_eq(t.tv_nsec, 567000000);
}

/* Of 32 bits the seconds have no more: they would be negative, and refused. */
TEST(test_for_ever)
{
	static const uint64_t times[] = {
		UINT64_C(2147483647000), UINT64_C(2147483648000),
		UINT64_C(4294967296000), UINT64_MAX,
	};
	int timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
	struct itimerspec left;

	ck_assert_int_ge(timer, 0);
	for (size_t i = 0; i < ROWS(times); i++) {
		struct itimerspec t = { .it_value = clock_moment(times[i]) };

		ck_assert_int_eq(t.it_value.tv_sec, INT32_MAX);
		ck_assert_int_eq(clock_interval(times[i]).tv_sec, INT32_MAX);
		ck_assert_int_eq(timerfd_settime(timer, TFD_TIMER_ABSTIME, &t,
		    NULL), 0);
		ck_assert_int_eq(timerfd_gettime(timer, &left), 0);
		ck_assert_int_gt(left.it_value.tv_sec, 0);
	}
	ck_assert_int_eq(close(timer), 0);
}

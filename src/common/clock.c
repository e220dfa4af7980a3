/*
 * The clocks.
 */
#include "common/clock.h"

#include <assert.h>
#include <errno.h>
#include <sys/timex.h>
#include <time.h>

static uint64_t
clock_read_ns(clockid_t id)
{
	struct timespec t;
	int r = clock_gettime(id, &t);

	assert(r == 0); /* both clocks exist since Linux 2.6.39 */
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t
clock_read_us(clockid_t id)
{
	return clock_read_ns(id) / 1000;
}

uint64_t
clock_boot_us(void)
{
	return clock_read_us(CLOCK_BOOTTIME);
}

uint64_t
clock_monotonic_us(void)
{
	return clock_read_us(CLOCK_MONOTONIC);
}

uint64_t
clock_monotonic_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

uint64_t
clock_boot_ms(void)
{
	return clock_boot_us() / 1000;
}

uint64_t
clock_wall_ms(void)
{
	return clock_read_us(CLOCK_REALTIME) / 1000;
}

uint64_t
clock_cpu_ms(void)
{
	return clock_read_us(CLOCK_PROCESS_CPUTIME_ID) / 1000;
}

static time_t
clock_seconds(uint64_t ms)
{
	return ms / 1000 < INT32_MAX ? (time_t)(ms / 1000) : INT32_MAX;
}

struct timeval
clock_interval(uint64_t ms)
{
	return (struct timeval){
		.tv_sec = clock_seconds(ms),
		.tv_usec = (suseconds_t)(ms % 1000 * 1000),
	};
}

struct timespec
clock_moment(uint64_t ms)
{
	return (struct timespec){
		.tv_sec = clock_seconds(ms),
		.tv_nsec = (long)(ms % 1000 * 1000000),
	};
}

int
clock_is_synchronised(void)
{
	struct timex t = { .modes = 0 };	/* only look */
	int state = adjtimex(&t);

	if (state < 0)
		return -errno;
	return state != TIME_ERROR && (t.status & STA_UNSYNC) == 0;
}

/*
 * clock_gettime() for this program and its libraries, libevent too: an input
 * that took an hour once takes it again, at once. The time of day is real, for
 * libFuzzer measures itself by it.
 */
#include "clock.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static uint64_t fuzz_now_ms = FUZZ_BOOT_MS;

void
fuzz_reset_clock(void)
{
	fuzz_now_ms = FUZZ_BOOT_MS;
}

void
fuzz_advance(uint64_t ms)
{
	fuzz_now_ms += ms;
}

int
clock_gettime(clockid_t id, struct timespec *ret)
{
	if (id == CLOCK_REALTIME)
		return (int)syscall(SYS_clock_gettime, id, ret);
	ret->tv_sec = (time_t)(fuzz_now_ms / 1000);
	ret->tv_nsec = (long)(fuzz_now_ms % 1000) * 1000000;
	return 0;
}

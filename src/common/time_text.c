/*
 * Durations for people. Pure.
 */
#include "common/time_text.h"

#include <inttypes.h>
#include <stdio.h>

const char *
time_text(uint64_t ms, uint64_t tenths_below_ms, char to[TIME_TEXT_MAX])
{
	const uint64_t s = ms / 1000, m = s / 60, h = m / 60, d = h / 24;

	if (ms < tenths_below_ms)
		(void)snprintf(to, TIME_TEXT_MAX, "%" PRIu64 ".%" PRIu64 "s",
		    s, ms % 1000 / 100);
	else if (m == 0)
		(void)snprintf(to, TIME_TEXT_MAX, "%" PRIu64 "s", s);
	else if (h == 0)
		(void)snprintf(to, TIME_TEXT_MAX, "%" PRIu64 "m%02" PRIu64 "s",
		    m, s % 60);
	else if (d == 0)
		(void)snprintf(to, TIME_TEXT_MAX, "%" PRIu64 "h%02" PRIu64 "m",
		    h, m % 60);
	else
		(void)snprintf(to, TIME_TEXT_MAX, "%" PRIu64 "d%02" PRIu64 "h",
		    d, h % 24);
	return to;
}

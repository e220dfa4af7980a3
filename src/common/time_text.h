/*
 * Durations for people. Pure.
 */
#ifndef DDBLOCKD_COMMON_TIME_TEXT_H
#define DDBLOCKD_COMMON_TIME_TEXT_H

#include <stdint.h>

#define TIME_TEXT_MAX 32

/* "5.2s" below @tenths_below_ms, which is a minute at most; then "42s",
 * "12m05s", "3h05m", "2d04h". Returns @to. */
const char *time_text(uint64_t ms, uint64_t tenths_below_ms,
    char to[TIME_TEXT_MAX]);

#endif

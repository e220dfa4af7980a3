/*
 * Durations counted by size, in fixed buckets: an addition costs a few
 * comparisons, and no memory. What it is added to says with which bounds.
 */
#ifndef DDBLOCKD_COMMON_HISTOGRAM_H
#define DDBLOCKD_COMMON_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_BOUNDS_MAX 14

enum histogram_scale {
	HISTOGRAM_REQUESTS = 0,	/* of a machine: 1 ms to 10 s */
	HISTOGRAM_WORK,		/* of programs and people: 1 ms to a day */
};

/* All zeroes is a good beginning. */
struct histogram {
	uint64_t counts[HISTOGRAM_BOUNDS_MAX + 1];	/* the last: above all
							 * bounds */
	uint64_t sum_ms;
};

/* The upper bounds, which belong to their buckets, rising. */
const uint64_t *histogram_bounds_ms(enum histogram_scale, size_t *ret_count);

void histogram_add(struct histogram *, enum histogram_scale, uint64_t ms);

#endif

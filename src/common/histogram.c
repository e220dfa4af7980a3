/*
 * Durations counted by size.
 */
#include "common/histogram.h"

#define SECOND UINT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const uint64_t histogram_requests[] = {
	1, 2, 5, 10, 20, 50, 100, 200, 500, SECOND, 2 * SECOND, 5 * SECOND,
	10 * SECOND,
};

static const uint64_t histogram_work[] = {
	1, 10, 100, SECOND, 5 * SECOND, 15 * SECOND, MINUTE, 5 * MINUTE,
	15 * MINUTE, HOUR, 4 * HOUR, 24 * HOUR,
};

static const struct {
	const uint64_t *bounds;
	size_t count;
} histogram_scales[] = {
	[HISTOGRAM_REQUESTS] = { histogram_requests,
		COUNT(histogram_requests) },
	[HISTOGRAM_WORK] = { histogram_work, COUNT(histogram_work) },
};

_Static_assert(COUNT(histogram_requests) <= HISTOGRAM_BOUNDS_MAX &&
    COUNT(histogram_work) <= HISTOGRAM_BOUNDS_MAX,
    "HISTOGRAM_BOUNDS_MAX is too small");

const uint64_t *
histogram_bounds_ms(enum histogram_scale scale, size_t *ret_count)
{
	*ret_count = histogram_scales[scale].count;
	return histogram_scales[scale].bounds;
}

void
histogram_add(struct histogram *h, enum histogram_scale scale, uint64_t ms)
{
	const uint64_t *bounds = histogram_scales[scale].bounds;
	const size_t n = histogram_scales[scale].count;
	size_t i = 0;

	while (i < n && ms > bounds[i])
		i++;
	h->counts[i]++;
	h->sum_ms += ms;
}

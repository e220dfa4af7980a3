/*
 * How fast requests may go while the service throttles.
 *
 * The arithmetic is in the order of botocore's (retries/adaptive.py, bucket.py
 * and throttling.py), so that a test can compare the two to the last digits.
 */
#include "aws/rate_limit.h"

#include <math.h>

#define RATE_LIMIT_BUCKETS 2.0	/* per second, of the measurement */
#define RATE_LIMIT_ABOVE 2.0	/* times what is measured at the most */

static double
rate_limit_time(uint64_t now_ms)
{
	return (double)now_ms / 1000.0;
}

static void
rate_limit_fill(struct rate_limit *l, double now)
{
	double tokens;

	if (now <= l->filled)
		return;
	tokens = l->tokens + (now - l->filled) * l->rate;
	l->tokens = tokens < l->tokens_max ? tokens : l->tokens_max;
	l->filled = now;
}

static void
rate_limit_set_rate(struct rate_limit *l, double rate, double now)
{
	/* What has come in so far came at the old one. */
	rate_limit_fill(l, now);
	l->rate = rate > RATE_LIMIT_MIN ? rate : RATE_LIMIT_MIN;
	l->tokens_max = rate >= 1 ? rate : 1;
	if (l->tokens > l->tokens_max)
		l->tokens = l->tokens_max;
}

void
rate_limit_init(struct rate_limit *l, uint64_t now_ms)
{
	double now = rate_limit_time(now_ms);

	*l = (struct rate_limit){
		.measured_until = floor(now),
		.failed = now,
		.filled = now,
		.free_tokens = RATE_LIMIT_FREE_MAX,
		.free_filled = now,
	};
	rate_limit_set_rate(l, 1, now);
}

static double
rate_limit_measure(struct rate_limit *l, double now)
{
	double bucket = floor(now * RATE_LIMIT_BUCKETS) / RATE_LIMIT_BUCKETS;
	double current;

	l->count++;
	if (bucket > l->measured_until) {
		current = (double)l->count / (bucket - l->measured_until);
		l->measured = current * RATE_LIMIT_SMOOTH +
		    l->measured * (1 - RATE_LIMIT_SMOOTH);
		l->count = 0;
		l->measured_until = bucket;
	}
	return l->measured;
}

static double
rate_limit_on_failure(struct rate_limit *l, double rate, double now)
{
	l->rate_at_fail = rate;
	l->recovery = pow(rate * (1 - RATE_LIMIT_BETA) / RATE_LIMIT_SCALE,
	    1 / 3.0);
	l->failed = now;
	return rate * RATE_LIMIT_BETA;
}

static double
rate_limit_on_success(const struct rate_limit *l, double now)
{
	double apart = now - l->failed - l->recovery;

	return RATE_LIMIT_SCALE * pow(apart, 3) + l->rate_at_fail;
}

void
rate_limit_answered(struct rate_limit *l, bool throttled, uint64_t now_ms)
{
	double now = rate_limit_time(now_ms);
	double measured = rate_limit_measure(l, now);
	double rate;

	if (throttled) {
		rate = l->enabled && l->rate < measured ? l->rate : measured;
		rate = rate_limit_on_failure(l, rate, now);
		l->enabled = true;
	} else {
		rate = rate_limit_on_success(l, now);
	}
	if (rate > RATE_LIMIT_ABOVE * measured)
		rate = RATE_LIMIT_ABOVE * measured;
	rate_limit_set_rate(l, rate, now);
}

static bool
rate_limit_take_free(struct rate_limit *l, double now)
{
	double tokens = l->free_tokens +
	    (now - l->free_filled) * RATE_LIMIT_FREE;

	l->free_tokens = fmin(tokens, RATE_LIMIT_FREE_MAX);
	l->free_filled = now;
	if (l->free_tokens < 1)
		return false;
	l->free_tokens -= 1;
	return true;
}

bool
rate_limit_take(struct rate_limit *l, uint64_t now_ms, uint64_t *ret_wait_ms)
{
	double wait_s, free_s;

	if (rate_limit_time(now_ms) - l->failed > RATE_LIMIT_OVER_S)
		l->enabled = false;
	if (!l->enabled)
		return true;
	rate_limit_fill(l, rate_limit_time(now_ms));
	if (l->tokens >= 1) {
		l->tokens -= 1;
		return true;
	}
	if (rate_limit_take_free(l, rate_limit_time(now_ms)))
		return true;
	wait_s = (1 - l->tokens) / l->rate;
	free_s = (1 - l->free_tokens) / RATE_LIMIT_FREE;
	*ret_wait_ms = (uint64_t)ceil(fmin(wait_s, free_s) * 1000);
	if (*ret_wait_ms == 0)
		*ret_wait_ms = 1;
	return false;
}

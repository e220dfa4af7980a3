/*
 * How an endpoint fares: what became of the requests to it, how long its
 * answers take, and what went wrong last.
 */
#ifndef DDBLOCKD_AWS_HEALTH_H
#define DDBLOCKD_AWS_HEALTH_H

#include <stdint.h>

#include "aws/answer.h"
#include "aws/errors.h"

#define HEALTH_BUCKETS 64
#define HEALTH_HALF_MS UINT64_C(300000)	/* recent: twice this at most */

/*
 * Durations by size: each bucket is a fifth wider than the one before, so a
 * percentile is too long by a fifth at most, from a millisecond to a minute.
 */
struct health_half {
	uint32_t n;
	uint32_t buckets[HEALTH_BUCKETS];
};

struct health {
	uint64_t succeeded;
	uint64_t failed;
	uint64_t failed_ms;	/* when the last did; if any */
	char text[AWS_ERROR_TEXT_MAX];	/* why that was */
	uint64_t half_ms;	/* when the newer half began */
	struct health_half halves[2];	/* the newer first */
};

/* All zeroes is a good beginning. */

/*
 * A request came to its end at @now_ms: @answer, which means @error. What a
 * condition prevented is a success; what was throttled or refused is none,
 * however quickly that was said.
 */
void health_learn(struct health *, const struct aws_answer *answer,
    const struct aws_error *error, uint64_t now_ms);

/*
 * What @percent of 100 recent answers took at most; 0: there was none. Answers
 * that did not come are not among them: see @failed.
 */
uint64_t health_latency_ms(const struct health *, uint32_t percent,
    uint64_t now_ms);

#endif

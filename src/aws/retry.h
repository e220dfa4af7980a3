/*
 * When to repeat a call: exponential back-off with full jitter, inside the
 * deadline of the operation.
 *
 * The figures are those of the AWS SDKs (retry behaviour 2.1): wait =
 * random(0..1) * min(20 s, base * 2^i), with base 25 ms for DynamoDB and 1 s
 * after throttling. Their limit of four attempts is the default here; what a
 * lease depends on is repeated until its deadline instead, with a smaller cap,
 * because there a wait of 20 s is as good as no repetition. Their bucket of
 * tokens, which all operations share, is in retry_budget.h.
 */
#ifndef DDBLOCKD_AWS_RETRY_H
#define DDBLOCKD_AWS_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "aws/errors.h"

#define RETRY_BASE_MS 25
#define RETRY_BASE_THROTTLED_MS 1000
#define RETRY_CAP_MS 20000
#define RETRY_CAP_SESSION_MS 1000	/* for beats and kills */
#define RETRY_ATTEMPTS_MAX 4
#define RETRY_ATTEMPTS_UNLIMITED 0	/* until the deadline */
#define RETRY_CLOCK_MAX 2	/* a second wrong clock is no accident */
#define RETRY_AFTER_MAX_MS 5000	/* that a wait grows by on demand */
#define RETRY_ROOM_MS 25	/* what an answer needs at the least */

/* Of one operation. */
struct retry {
	uint32_t attempts_max;
	uint32_t attempts;	/* that failed */
	uint32_t clocks;	/* of these, because of the clock */
	uint64_t cap_ms;
};

/* For most: RETRY_ATTEMPTS_MAX, RETRY_CAP_MS. */
void retry_init(struct retry *, uint32_t attempts_max, uint64_t cap_ms);

/*
 * An attempt ended at @now_ms in @class. True: repeat after *@ret_wait_ms,
 * which ends at least RETRY_ROOM_MS before @deadline_ms. False: give up; the
 * class is not one to repeat, or the attempts or the time are used up.
 * @random: 32 random bits.
 */
bool retry_next(struct retry *, enum aws_class class, uint64_t now_ms,
    uint64_t deadline_ms, uint32_t random, uint64_t *ret_wait_ms);

/*
 * The endpoint asked for a wait of @asked_ms (x-amz-retry-after; 0: it did
 * not), where ours is @wait_ms: not less than ours, and so much more at most as
 * the SDKs grant, and this operation can bear.
 */
uint64_t retry_heed(const struct retry *, uint64_t wait_ms, uint64_t asked_ms,
    uint64_t now_ms, uint64_t deadline_ms);

/* The longest wait that there is for this operation. */
uint64_t retry_longest(const struct retry *, uint64_t now_ms,
    uint64_t deadline_ms);

#endif

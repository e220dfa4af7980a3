/*
 * How many repetitions the operations of one store may have together (pure).
 * What one operation does is in retry.h; here a trouble that is everybody's is
 * kept from becoming a storm.
 *
 * The bucket is that of the AWS SDKs (retry behaviour 2.1): 500 tokens, of
 * which a repetition costs 14, after throttling 5; a success at the first
 * attempt gives 1 back, one after a repetition what that repetition cost. When
 * it is empty, an operation is not repeated: some 36 failures in a row suffice.
 * Unlike there, a condition that failed is a success: the service did its work,
 * and it is an everyday answer to a waiter.
 *
 * Operations that leases depend on have a reserve of their own: when the bucket
 * is empty, its repetitions are paid from there, and it fills with time,
 * because a lease runs out with time. So the one beat that gets through an
 * outage is sent whatever all others did before. The reserve ends too, for a
 * host may give back many locks at once: beyond it nothing is refused, but
 * waits the longest wait of its policy instead of a random part of it. So a
 * store sends at most the reserve, what fills it, and one request per
 * RETRY_CAP_SESSION_MS for each beat or release that is under way.
 */
#ifndef DDBLOCKD_AWS_RETRY_BUDGET_H
#define DDBLOCKD_AWS_RETRY_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define RETRY_BUDGET_MAX 500
#define RETRY_BUDGET_COST 14
#define RETRY_BUDGET_COST_THROTTLED 5
#define RETRY_BUDGET_REFUND 1
#define RETRY_RESERVE_MAX 50	/* repetitions */
#define RETRY_RESERVE_MS 200	/* until there is one more */

struct retry_budget {
	uint32_t left;
	uint32_t reserve;
	uint64_t filled_ms;	/* up to when the reserve was filled */
};

enum retry_leave {
	RETRY_REFUSED,		/* not again */
	RETRY_GRANTED,
	RETRY_SLOWLY,		/* again, after the longest wait */
};

void retry_budget_init(struct retry_budget *, uint64_t now_ms);

/*
 * May an operation be repeated? @lease: one that leases depend on. *@ret_cost,
 * if it is granted, is what retry_budget_succeeded() is to be told.
 */
enum retry_leave retry_budget_take(struct retry_budget *, bool throttled,
    bool lease, uint64_t now_ms, uint32_t *ret_cost);

/* The service did its work. @cost: of the last repetition; 0: there was none,
 * or it was paid from the reserve. */
void retry_budget_succeeded(struct retry_budget *, uint32_t cost);

#endif

/*
 * How many repetitions the operations of one store may have together.
 */
#include "aws/retry_budget.h"

#include <assert.h>

void
retry_budget_init(struct retry_budget *b, uint64_t now_ms)
{
	*b = (struct retry_budget){
		.left = RETRY_BUDGET_MAX,
		.reserve = RETRY_RESERVE_MAX,
		.filled_ms = now_ms,
	};
}

static void
retry_budget_fill(struct retry_budget *b, uint64_t now_ms)
{
	uint64_t more;

	if (now_ms <= b->filled_ms)
		return;
	more = (now_ms - b->filled_ms) / RETRY_RESERVE_MS;
	if (more >= RETRY_RESERVE_MAX - b->reserve) {
		b->reserve = RETRY_RESERVE_MAX;
		b->filled_ms = now_ms;
	} else {
		b->reserve += (uint32_t)more;
		b->filled_ms += more * RETRY_RESERVE_MS;
	}
}

enum retry_leave
retry_budget_take(struct retry_budget *b, bool throttled, bool lease,
    uint64_t now_ms, uint32_t *ret_cost)
{
	uint32_t cost = throttled ?
	    RETRY_BUDGET_COST_THROTTLED : RETRY_BUDGET_COST;

	assert(b->left <= RETRY_BUDGET_MAX && b->reserve <= RETRY_RESERVE_MAX);
	if (b->left >= cost) {
		b->left -= cost;
		*ret_cost = cost;
		return RETRY_GRANTED;
	}
	if (!lease)
		return RETRY_REFUSED;
	*ret_cost = 0;
	retry_budget_fill(b, now_ms);
	if (b->reserve == 0)
		return RETRY_SLOWLY;
	b->reserve--;
	return RETRY_GRANTED;
}

void
retry_budget_succeeded(struct retry_budget *b, uint32_t cost)
{
	uint32_t more = cost > 0 ? cost : RETRY_BUDGET_REFUND;

	b->left = more < RETRY_BUDGET_MAX - b->left ?
	    b->left + more : RETRY_BUDGET_MAX;
}

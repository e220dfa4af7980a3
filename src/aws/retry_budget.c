/*
 * How many repetitions the operations of one store may have together.
 */
#include "aws/retry_budget.h"

#include <assert.h>
#include <stddef.h>

#include "common/share.h"

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

/* ---- who owes what is not left ----------------------------------------- */

static struct retry_debt *
retry_debt_of(struct retry_budget *b, uint32_t user)
{
	for (uint32_t i = 0; i < b->n_debts; i++) {
		if (b->debts[i].user == user)
			return &b->debts[i];
	}
	return NULL;
}

static struct retry_debt *
retry_debt_greatest(struct retry_budget *b)
{
	struct retry_debt *greatest = &b->debts[0];

	for (uint32_t i = 1; i < b->n_debts; i++) {
		if (b->debts[i].owes > greatest->owes)
			greatest = &b->debts[i];
	}
	return greatest;
}

/* It takes what is left: there is a place, for each who owes has taken
 * something. */
static void
retry_budget_owe(struct retry_budget *b, uint32_t user, uint32_t cost)
{
	struct retry_debt *d = retry_debt_of(b, user);

	b->left -= cost;
	if (d == NULL) {
		assert(b->n_debts < RETRY_BUDGET_MAX);
		d = &b->debts[b->n_debts++];
		*d = (struct retry_debt){ .user = user };
	}
	d->owes += cost;
}

/* Of so much; what remains? */
static uint32_t
retry_debt_pay(struct retry_budget *b, struct retry_debt *d, uint32_t amount)
{
	if (amount < d->owes) {
		d->owes -= amount;
		return 0;
	}
	amount -= d->owes;
	*d = b->debts[--b->n_debts];
	return amount;
}

static void
retry_budget_pay(struct retry_budget *b, uint32_t user, uint32_t amount)
{
	struct retry_debt *own = retry_debt_of(b, user);

	b->left += amount;
	if (own != NULL)
		amount = retry_debt_pay(b, own, amount);
	while (amount > 0 && b->n_debts > 0)
		amount = retry_debt_pay(b, retry_debt_greatest(b), amount);
}

/* ---- repetitions -------------------------------------------------------- */

static bool
retry_budget_has(struct retry_budget *b, uint32_t user, uint32_t cost)
{
	const struct retry_debt *d = retry_debt_of(b, user);

	return b->left >= cost && (user == RETRY_NOBODY ||
	    share_allows(d == NULL ? 0 : d->owes, RETRY_BUDGET_MAX - b->left,
	    RETRY_BUDGET_MAX));
}

enum retry_leave
retry_budget_take(struct retry_budget *b, uint32_t user, bool throttled,
    bool lease, uint64_t now_ms, uint32_t *ret_cost)
{
	uint32_t cost = throttled ?
	    RETRY_BUDGET_COST_THROTTLED : RETRY_BUDGET_COST;

	assert(b->left <= RETRY_BUDGET_MAX && b->reserve <= RETRY_RESERVE_MAX);
	if (retry_budget_has(b, user, cost)) {
		retry_budget_owe(b, user, cost);
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
retry_budget_succeeded(struct retry_budget *b, uint32_t user, uint32_t cost)
{
	uint32_t more = cost > 0 ? cost : RETRY_BUDGET_REFUND;

	if (more > RETRY_BUDGET_MAX - b->left)
		more = RETRY_BUDGET_MAX - b->left;
	retry_budget_pay(b, user, more);
}

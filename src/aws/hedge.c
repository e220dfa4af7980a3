/*
 * When a renewal whose answer is late is sent a second time.
 */
#include "aws/hedge.h"

void
hedge_init(struct hedge *h)
{
	h->credit = HEDGE_CREDIT_MAX;
}

uint64_t
hedge_delay_ms(const struct health *health, uint64_t now_ms)
{
	uint64_t ms = health_latency_ms(health, HEDGE_PERCENT, now_ms);

	if (ms == 0 || health->halves[0].n + health->halves[1].n <
	    HEDGE_SAMPLES_MIN)
		return HEDGE_UNKNOWN_MS;
	return ms > HEDGE_MIN_MS ? ms : HEDGE_MIN_MS;
}

void
hedge_earn(struct hedge *h)
{
	if (h->credit < HEDGE_CREDIT_MAX)
		h->credit++;
}

bool
hedge_take(struct hedge *h)
{
	if (h->credit < HEDGE_COST)
		return false;
	h->credit -= HEDGE_COST;
	return true;
}

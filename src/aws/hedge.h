/*
 * When a renewal whose answer is late is sent a second time, over another
 * connection, while the first is still under way (pure).
 *
 * Late is what 99 of 100 recent answers are not (health.h): so a connection
 * that hangs costs a lease milliseconds, not the time after which an attempt is
 * given up. If everything is late, a second request would only add to it: so
 * at most one renewal in twenty has one, but for a few in store.
 */
#ifndef DDBLOCKD_AWS_HEDGE_H
#define DDBLOCKD_AWS_HEDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "aws/health.h"

#define HEDGE_PERCENT 99
#define HEDGE_MIN_MS 20		/* sooner is no use */
#define HEDGE_UNKNOWN_MS 500	/* as long as nothing is measured, */
#define HEDGE_SAMPLES_MIN 20	/* or less than so many answers are */
#define HEDGE_COST 20		/* renewals for each */
#define HEDGE_CREDIT_MAX (5 * HEDGE_COST)

struct hedge {
	uint32_t credit;
};

/* A few at once, from the start. */
void hedge_init(struct hedge *);

/* When an answer is late: so long after its request. */
uint64_t hedge_delay_ms(const struct health *, uint64_t now_ms);

/* A renewal was sent, the first attempt of it. */
void hedge_earn(struct hedge *);

/* May there be another one? Then it is paid for. */
bool hedge_take(struct hedge *);

#endif

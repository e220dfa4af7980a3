/*
 * When to renew credentials.
 */
#include "identity/identity_refresh.h"

#define REFRESH_DOUBLINGS_MAX 10	/* beyond any cap */

/* A number from @low to below @high. */
static uint64_t
refresh_between(uint64_t low, uint64_t high, uint32_t random)
{
	uint64_t range = high - low;

	/* Of long lives the lower bits do not matter. */
	return low + (range >> 32) * random + ((range & UINT32_MAX) *
	    (uint64_t)random >> 32);
}

static uint64_t
refresh_left_ms(const struct refresh *f, uint64_t wall_ms)
{
	return f->taken && f->expires_ms > wall_ms ?
	    f->expires_ms - wall_ms : 0;
}

void
refresh_take(struct refresh *f, uint64_t expires_ms, bool outlives,
    const struct identity_now *now)
{
	uint64_t life_ms, wait_ms;

	*f = (struct refresh){ .taken = true, .expires_ms = expires_ms };
	if (expires_ms == 0)
		return;
	life_ms = refresh_left_ms(f, now->wall_ms);
	f->lead_ms = refresh_between(life_ms / 4, life_ms / 2, now->random);
	wait_ms = life_ms - f->lead_ms;
	if (life_ms == 0 && outlives)
		wait_ms = refresh_between(REFRESH_EXTENSION_MIN_MS,
		    REFRESH_EXTENSION_MAX_MS, now->random);
	if (wait_ms < REFRESH_AGAIN_MIN_MS) {
		/* A source that returns the same ones until they expire is not
		 * asked more and more often. */
		wait_ms = REFRESH_AGAIN_MIN_MS;
		f->lead_ms = 0;
	}
	f->due_ms = now->boot_ms + wait_ms;
}

void
refresh_drop(struct refresh *f)
{
	f->taken = false;
}

uint64_t
refresh_due_ms(const struct refresh *f, const struct identity_now *now)
{
	uint64_t left_ms = refresh_left_ms(f, now->wall_ms), by_wall_ms;

	if (!f->taken)
		return now->boot_ms;
	if (f->expires_ms == 0)
		return UINT64_MAX;
	if (f->lead_ms == 0)
		return f->due_ms;
	by_wall_ms = now->boot_ms + (left_ms > f->lead_ms ?
	    left_ms - f->lead_ms : 0);
	return by_wall_ms < f->due_ms ? by_wall_ms : f->due_ms;
}

bool
refresh_valid(const struct refresh *f, uint64_t wall_ms)
{
	return f->taken && (f->expires_ms == 0 || wall_ms < f->expires_ms);
}

uint64_t
refresh_wait_ms(const struct refresh *f, uint32_t failures, bool refused,
    const struct identity_now *now)
{
	uint64_t cap_ms = refresh_left_ms(f, now->wall_ms) / 10, wait_ms;
	uint32_t doublings = failures - 1;

	if (cap_ms < REFRESH_WAIT_MAX_MS)
		cap_ms = REFRESH_WAIT_MAX_MS;
	if (cap_ms > REFRESH_WAIT_FAR_MS)
		cap_ms = REFRESH_WAIT_FAR_MS;
	if (doublings > REFRESH_DOUBLINGS_MAX)
		doublings = REFRESH_DOUBLINGS_MAX;
	wait_ms = (refused ? (uint64_t)REFRESH_WAIT_REFUSED_MS :
	    (uint64_t)REFRESH_WAIT_MIN_MS) << doublings;
	if (wait_ms > cap_ms)
		wait_ms = cap_ms;
	/* Half of it by chance: never at once, and not together. */
	return refresh_between(wait_ms / 2, wait_ms, now->random);
}

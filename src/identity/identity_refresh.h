/*
 * When to renew credentials (pure).
 *
 * Well before they expire, at a time that is chosen by chance within a quarter
 * of their life: between its half and its last quarter. So an outage of their
 * source for a quarter of their life has no effect; hosts that started together
 * do not ask together; and what lives for a few minutes only works like what
 * lives for hours. (The SDKs have fixed times, 15 or 10 minutes before;
 * credentials of 15 minutes are then old when they are new.)
 *
 * Expiry is in wall time, which may be set; the times to act are in boot time.
 * What is due by either is due.
 */
#ifndef DDBLOCKD_IDENTITY_IDENTITY_REFRESH_H
#define DDBLOCKD_IDENTITY_IDENTITY_REFRESH_H

#include <stdbool.h>
#include <stdint.h>

#include "identity/identity.h"

/* Between failures. */
#define REFRESH_WAIT_MIN_MS 1000
#define REFRESH_WAIT_MAX_MS 60000	/* near expiry, or with nothing */
#define REFRESH_WAIT_FAR_MS 600000	/* at most, while there is time */
#define REFRESH_WAIT_REFUSED_MS 15000	/* at least, after a refusal */
/* Nothing lives shorter than makes sense to ask for. */
#define REFRESH_AGAIN_MIN_MS 5000
/* Until the next look at what was expired when it was new (refresh_take()). */
#define REFRESH_EXTENSION_MIN_MS 600000
#define REFRESH_EXTENSION_MAX_MS 900000

/* Of some credentials. Zeroed: there are none, which is due at once. */
struct refresh {
	bool taken;
	uint64_t expires_ms;	/* wall; 0: never */
	uint64_t lead_ms;	/* so long before */
	uint64_t due_ms;	/* boot */
};

/*
 * There are new ones that expire at @expires_ms. @outlives: they may be used
 * beyond (source.h); if they are expired already, their source has an outage
 * itself, and is asked again in 10 to 15 minutes only.
 */
void refresh_take(struct refresh *, uint64_t expires_ms, bool outlives,
    const struct identity_now *);

/* They are no good, whatever their expiry. */
void refresh_drop(struct refresh *);

/* The boot time at which to get others; UINT64_MAX: never. */
uint64_t refresh_due_ms(const struct refresh *, const struct identity_now *);

/* There are some, and they are not beyond their expiry. */
bool refresh_valid(const struct refresh *, uint64_t wall_ms);

/*
 * How long to wait after @failures (at least 1) in a row. @refused: we were
 * told no, rather than nothing.
 */
uint64_t refresh_wait_ms(const struct refresh *, uint32_t failures,
    bool refused, const struct identity_now *);

#endif

/*
 * How many requests a second the clients of a namespace may cause its store
 * (request_rate), and the share of each user.
 *
 * Requests have places in time, one after the other, at the pace of the user's
 * share: a place that is taken is not before the last one. Who has not asked
 * for a while has a second's places at once. With n users that ask, each has
 * one of n + 1 parts, so that there is room for one more; an administrator has
 * the whole rate. A user who has a limit of its own (core_user_limits.rate)
 * goes at that pace if it is the slower one, or the namespace has none.
 *
 * Renewals have no places, and nothing that ends a hold waits for one; but what
 * a release costs is taken from what its user may ask next.
 */
#ifndef DDBLOCKD_CORE_RATE_H
#define DDBLOCKD_CORE_RATE_H

#include "core/state.h"

/* A user's requests to the store of one namespace. */
struct rate {
	UT_hash_handle hh;	/* in ns->rates, by @user */
	struct rate *prev, *next;	/* in ns->rates_in_line */
	uint32_t user;
	uint64_t next_us;	/* the next place */
};

/* Has it a limit of its own, whatever the namespace has? */
bool rate_is_limited(const struct namespace *, uint32_t user);

static inline bool
rate_is_bound(const struct namespace *ns, uint32_t user)
{
	return user != USER_NONE && (ns->settings.request_rate > 0 ||
	    (ns->core->had_rates && rate_is_limited(ns, user)));
}

/* Is that what holds it back, and not its share? */
bool rate_is_own(const struct namespace *, uint32_t user);

/* When the user's next place is, at the earliest now. */
uint64_t rate_next_place_ms(const struct core *, const struct namespace *,
    uint32_t user);

static inline uint64_t
rate_next_ms(const struct core *core, const struct namespace *ns,
    uint32_t user)
{
	return rate_is_bound(ns, user) ? rate_next_place_ms(core, ns, user) :
	    core->now_ms;
}

/* It takes @n places, from that on; when was that? */
uint64_t rate_take_places(struct core *, struct namespace *, uint32_t user,
    uint64_t n);

static inline uint64_t
rate_take(struct core *core, struct namespace *ns, uint32_t user, uint64_t n)
{
	return rate_is_bound(ns, user) ?
	    rate_take_places(core, ns, user, n) : core->now_ms;
}

void rate_free_all(struct namespace *);

#endif

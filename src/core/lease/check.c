/*
 * What must be true of leases, sessions and writes in doubt after each step.
 * Sessions are few; a record's lease is checked with its lock.
 */
#include "core/lease/room.h"

#include <assert.h>

static void
lease_check_session(const struct core *core, const struct lease *l)
{
	const struct core_namespace *t = &l->ns->settings;
	uint64_t danger_ms = l->sent_ms + t->danger_ms;
	uint64_t until_ms = l->sent_ms + t->lease_ms - t->margin_ms;
	bool valid = l->state == LEASE_VALID;

	assert(l->state >= LEASE_OPENING && l->state <= LEASE_CLOSING);
	assert(l->good_until_ms == (valid ? until_ms : 0));
	assert(!valid || core->now_ms < l->good_until_ms);
	assert(!valid || l->danger == (core->now_ms >= danger_ms));
	assert(valid || l->renewals == NULL);
	assert((l->grants == NULL) == (l->n_grants == 0));
}

void
lease_check(const struct core *core)
{
	assert(core->n_observations <= core->limits.observations_max);
	for (uint32_t i = 0; i < core->n_namespaces; i++) {
		const struct namespace *ns = &core->namespaces[i];
		const struct lease *s;

		assert(ns->n_in_doubt <= ns->n_in_doubt_allocated);
		assert(ns->n_in_doubt_allocated <= core->limits.in_doubt_max);
		DL_FOREACH(ns->sessions, s)
		{
			lease_check_session(core, s);
		}
	}
}

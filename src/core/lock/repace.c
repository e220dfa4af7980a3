/*
 * Other times, or no new grants: what was begun goes by that.
 */
#include "core/lock/room.h"

void
lock_pace(struct core *core, struct lock *l)
{
	uint64_t last_ms = core->now_ms + lock_poll_ms(l);

	/* Who stands back for others does that as it began. */
	if (core->now_ms >= l->back_ms) {
		if (l->hold_off_ms > last_ms)
			lock_hold_off_poll(core, l);
		if (l->due_ms > last_ms)
			l->due_ms = core->now_ms +
			    random_jitter(&core->random, lock_poll_ms(l));
	}
	lock_advance(core, l);
}

static void
lease_pace(struct core *core, struct lease *lease)
{
	uint64_t until_ms = core->now_ms + lease->ns->settings.idle_ms;
	struct grant *g, *next;

	DL_FOREACH_SAFE2(lease->grants, g, next, lease_next)
	{
		struct lock *l = g->lock;

		if (g->uses != NULL || l->queue != NULL)
			continue;
		if (core->now_ms >= l->back_ms && l->due_ms > until_ms)
			l->due_ms = until_ms;
		lock_advance(core, l);
	}
}

void
lock_pace_namespace(struct core *core, struct namespace *ns)
{
	struct lease *lease, *next;

	DL_FOREACH_SAFE(ns->sessions, lease, next)
	{
		lease_pace(core, lease);
	}
	DL_FOREACH_SAFE(ns->record_leases, lease, next)
	{
		lease_pace(core, lease);
	}
}

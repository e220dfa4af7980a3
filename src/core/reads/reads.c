/*
 * What this room remembers of a namespace.
 */
#include "core/reads/room.h"

#include <stdlib.h>

#include "ddblock.h"

#define READS_TIMERS 3	/* of audit, turns and poll */

int
reads_new(struct core *core, struct namespace *ns)
{
	struct reads *reads = calloc(1, sizeof(*reads));

	if (reads == NULL)
		return DDBLOCK_E_NOMEM;
	ns->reads = reads;
	reads->ns = ns;
	reads->audit.timer.kind = TIMER_AUDIT;
	reads->turns.timer.kind = TIMER_LISTING;
	reads->poll.timer.kind = TIMER_WATCHES;
	for (int i = 0; i < READS_TIMERS; i++) {
		if (heap_reserve(&core->heap) < 0)
			return DDBLOCK_E_NOMEM;
	}
	reads->audit.started_ms = core->now_ms + ns->settings.audit_ms;
	heap_set(&core->heap, &reads->audit.timer, reads->audit.started_ms);
	return 0;
}

void
reads_pace(struct core *core, struct namespace *ns)
{
	audit_pace(core, ns);
	listing_pace(core, ns);
	watch_poll_pace(core, ns);
}

void
reads_unset(struct core *core, struct namespace *ns)
{
	if (ns->reads != NULL)
		heap_unset(&core->heap, &ns->reads->audit.timer);
}

void
reads_free(struct namespace *ns)
{
	free(ns->reads);
}

/*
 * Fail-closed grants. Such an element is removed only by its holder's
 * release or by a break; so it needs no session and no lease:
 *
 *  1. It belongs to no session here (its element names the one under which it
 *     was asked for). Whatever becomes of that, it is asked for, held, settled
 *     and released all the same.
 *  2. An outage is danger and never loss. It is out of danger when a session
 *     of its namespace is good again.
 *  3. A client that leaves without a release leaves it held. It is forgotten
 *     here then: only the record shows it, as to every other host.
 *  4. One that no client was told of is given back, if need be for ever: it
 *     dies with nothing else.
 *  5. One that was inherited is ours, in any state, after a look at its record.
 *     That counts only if each session that was inherited is ours, whether it
 *     lives or is over: a new one, opened since, shows nothing of another
 *     process that has the same.
 */
#include "core/lock/room.h"

#include <assert.h>

/* Its client has left. What is unknown of its attempts is no reason to take it
 * out, unless it is seen to be gone and comes back. */
void
fail_closed_leave(struct core *core, struct grant *g)
{
	struct lock *l = g->lock;

	assert(g->state == GRANT_HELD && g->uses == NULL);
	in_doubt_left_held(core, &l->in_doubt_list, g->id);
	grant_enter(core, g, GRANT_NONE, NULL);
	record_forget_sight(l);
	l->view = VIEW_STALE;
	l->due_ms = core->now_ms;
	lock_advance(core, l);
}

bool
fail_closed_is_settled(const struct namespace *ns)
{
	const struct grant *g;

	DL_FOREACH2(ns->closed, g, lease_next)
	{
		if (g->state != GRANT_HELD || g->uses == NULL)
			return false;
	}
	return true;
}

struct grant *
fail_closed_next_to_audit(struct namespace *ns)
{
	return grant_next_in(&ns->closed, ns->audit_round);
}

void
fail_closed_await_proof(struct core *core, struct grant *g)
{
	if (!session_awaits_proof(g->lock->ns) && lock_may_send(core, g->lock))
		(void)submission_send(core, g->lock, OPERATION_READ, NULL);
}

/* Its record was seen. */
void
fail_closed_looked(struct grant *g)
{
	g->unproven = g->unproven && session_awaits_proof(g->lock->ns);
}

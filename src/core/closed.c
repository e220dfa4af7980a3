/*
 * Fail-closed grants. Nobody takes such an element out but who holds it, or a
 * break; so no session and no lease is needed to have it:
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
 */
#include "core/internal.h"

#include <assert.h>

/* @g is in the list of its namespace from when it is asked for to its end. */
void
closed_enter(struct core *core, struct grant *g, enum grant_state state)
{
	struct namespace *ns = g->lock->ns;
	struct session *s, *next;

	assert(g->session == NULL);
	if (g->state == GRANT_NONE)
		DL_APPEND2(ns->closed, g, session_previous, session_next);
	g->state = state;
	if (state != GRANT_NONE)
		return;
	DL_DELETE2(ns->closed, g, session_previous, session_next);
	if (!core->stopping)
		return;
	DL_FOREACH_SAFE(ns->sessions, s, next)
	{
		session_unused(core, s);
	}
}

/* All of them hear of danger, and of its end, once. */
void
closed_say(struct core *core, struct namespace *ns, bool danger)
{
	const struct grant *g;
	struct hold *h;

	if (ns->closed_danger == danger)
		return;
	ns->closed_danger = danger;
	DL_FOREACH2(ns->closed, g, session_next)
	{
		DL_FOREACH2(g->holds, h, grant_next)
		{
			action_notice(core, h,
			    danger ? CORE_IN_DANGER : CORE_SAFE);
		}
	}
}

/* Its client has left. What is unknown of its attempts is no reason to take it
 * out, unless it is seen to be gone and comes back. */
void
closed_leave(struct core *core, struct grant *g)
{
	struct lock *l = g->lock;
	struct doubt *d;

	assert(g->state == GRANT_HELD && g->holds == NULL);
	DL_FOREACH(l->doubts, d)
	{
		if (ident_equal(d->grant, g->id))
			d->left = true;
	}
	grant_enter(core, g, GRANT_NONE, NULL);
	record_forget_sight(l);
	l->view = VIEW_STALE;
	l->due_ms = core->now_ms;
	lock_advance(core, l);
}

/* Nothing is to be written for any of them. */
bool
closed_is_settled(const struct namespace *ns)
{
	const struct grant *g;

	DL_FOREACH2(ns->closed, g, session_next)
	{
		if (g->state != GRANT_HELD || g->holds == NULL)
			return false;
	}
	return true;
}

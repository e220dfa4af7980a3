/*
 * A grant's life: its making, its states and its end, when its users are told,
 * and its waiting requests are answered.
 */
#include "core/lock/room.h"

#include <assert.h>
#include <stdlib.h>

#include "ddblock.h"

void
downgrade_free(struct downgrade *downgrade)
{
	if (downgrade == NULL)
		return;
	free(downgrade->owner);
	free(downgrade);
}

void
grant_free(struct grant *g)
{
	downgrade_free(grant_downgrade(g));
	if (g->extras != NULL)
		free(g->extras->token_text);
	free(g->extras);
	g->extras = NULL;
	if (g != &g->lock->first)
		free(g);
}

/* ---- what it lives by ------------------------------------------------- */

static void
grant_join_lease(struct grant *g)
{
	DL_APPEND2(g->lease->grants, g, lease_previous, lease_next);
	g->lease->n_grants++;
}

static void
grant_leave_lease(struct grant *g)
{
	DL_DELETE2(g->lease->grants, g, lease_previous, lease_next);
	g->lease->n_grants--;
}

/* Where each record has a lease of its own, so has the grant. */
static bool
grant_begin_lease(struct core *core, struct grant *g)
{
	if (!g->lock->ns->renews_records)
		return true;
	g->lease = record_lease_new(core, g->lock->ns, g->id);
	if (g->lease == NULL)
		return false;
	grant_join_lease(g);
	return true;
}

static struct ident
grant_new_id(struct core *core, const struct namespace *ns)
{
	struct ident id = random_ident(&core->random);

	return ns->has_sessions ? id : ident_renewable(id);
}

/* NULL: no memory. It is in the lock's list, in NONE, until grant_enter(). */
struct grant *
grant_new(struct core *core, struct lock *l, bool extras)
{
	struct grant *g = &l->first;

	if (g->state != GRANT_NONE) {
		g = calloc(1, sizeof(*g));
		if (g == NULL)
			return NULL;
	}
	*g = (struct grant){
		.lock = l,
		.id = grant_new_id(core, l->ns),
		.user = USER_NONE,
	};
	if ((extras && grant_extras(g) == NULL) ||
	    !grant_begin_lease(core, g)) {
		grant_free(g);
		return NULL;
	}
	LL_APPEND(l->grants, g);
	return g;
}

/* ---- its states ------------------------------------------------------- */

/* @g is in the list of its namespace from when it is asked for to its end. */
static void
fail_closed_enter(struct core *core, struct grant *g, enum grant_state state)
{
	struct namespace *ns = g->lock->ns;

	assert(g->lease == NULL);
	if (g->state == GRANT_NONE)
		DL_APPEND2(ns->closed, g, lease_previous, lease_next);
	g->state = state;
	if (state != GRANT_NONE)
		return;
	DL_DELETE2(ns->closed, g, lease_previous, lease_next);
	if (core->stopping)
		session_all_unused(core, ns);
}

/* NONE is the end of @g. A state without a session: it was lost while a write
 * for it is under way. */
void
grant_enter(struct core *core, struct grant *g, enum grant_state state,
    struct lease *lease)
{
	struct lease *old = g->lease;

	if (g->fail_closed)
		fail_closed_enter(core, g, state);
	g->state = state;
	if (old != NULL)
		grant_leave_lease(g);
	g->lease = g->fail_closed ? NULL : lease;
	if (g->lease != NULL)
		grant_join_lease(g);
	saved_touch(core, &g->saved, SAVED_GRANT);
	if (state == GRANT_NONE) {
		assert(g->uses == NULL && g->releasing == NULL);
		saved_end(core, &g->saved);
		LL_DELETE(g->lock->grants, g);
		grant_free(g);
	}
	if (old != NULL && old != lease)
		lease_unused(core, old);
}

/* ---- its former uses ------------------------------------------------------
 * */

/* Others may have longer. */
void
grant_leave_gap(struct core *core, struct grant *g, uint64_t working_ms)
{
	uint64_t gap_ms = core->now_ms + g->lock->ns->settings.margin_ms;

	update_lose(core, g);
	if (working_ms > gap_ms)
		gap_ms = working_ms;
	if (gap_ms > g->gap_ms)
		g->gap_ms = gap_ms;
	saved_touch(core, &g->saved, SAVED_GRANT);
}

void
grant_end_gap(struct core *core, struct grant *g)
{
	g->gap_ms = 0;
	saved_touch(core, &g->saved, SAVED_GRANT);
}

static void
grant_lose_uses(struct core *core, struct grant *g, enum core_loss loss)
{
	while (g->uses != NULL)
		core->lock_events->lost(core, g->uses, loss);
}

/* ---- the requests that wait for its end
 * -------------------------------------------- */

/* The request that asked for the release gets its answer, with the last of
 * those that it waits for; what went wrong first is said. */
void
grant_released(struct core *core, struct grant *g, int code, int cause,
    const char *text)
{
	struct waiter *w = g->releasing;

	if (w == NULL)
		return;
	if (w->released_code == 0) {
		w->released_code = code;
		w->released_cause = cause;
	}
	LL_DELETE2(w->grants, g, releasing_next);
	g->releasing = NULL;
	if (w->grants != NULL)
		return;
	core->lock_events->answered(core, w, w->released_code,
	    w->released_cause, code == w->released_code ? text : NULL);
}

void
grant_await_release(struct core *core, struct grant *g, struct waiter *w)
{
	/* A release that waits has succeeded: the grant was used by others
	 * since. */
	grant_released(core, g, 0, 0, NULL);
	if (w == NULL)
		return;
	g->releasing = w;
	LL_APPEND2(w->grants, g, releasing_next);
}

void
grant_stop_awaiting(struct waiter *w)
{
	while (w->grants != NULL) {
		struct grant *g = w->grants;

		LL_DELETE2(w->grants, g, releasing_next);
		g->releasing = NULL;
	}
}

/* It is over: it happened, it did not, or the grant ends. */
void
downgrade_end(struct core *core, struct grant *g, int code, int cause,
    const char *text)
{
	struct downgrade *downgrade = grant_downgrade(g);

	if (downgrade == NULL)
		return;
	if (downgrade->waiter != NULL)
		core->lock_events->answered(core, downgrade->waiter, code,
		    cause, text);
	g->extras->downgrade = NULL;
	saved_touch(core, &g->saved, SAVED_GRANT);
	downgrade_free(downgrade);
}

/* ---- its end ---------------------------------------------------------- */

/*
 * The grant is ours no more, or no longer protected by a lease. What is under
 * way for it is dealt with when its outcome comes (outcome.c). The caller
 * advances the lock, once this was done to each grant that it befell.
 */
void
grant_lose(struct core *core, struct grant *g, enum core_loss loss)
{
	struct lock *l = g->lock;
	const struct submission *s = l->submission;

	grant_lose_uses(core, g, loss);
	grant_released(core, g, DDBLOCK_E_LOCK_LOST, 0, NULL);
	update_lose(core, g);
	downgrade_end(core, g, DDBLOCK_E_LOCK_LOST, 0, NULL);
	if ((g->state == GRANT_ASKING || g->state == GRANT_RELEASING) &&
	    s != NULL && ident_equal(s->holder.grant, g->id)) {
		grant_enter(core, g, g->state, NULL);
		return;
	}
	grant_enter(core, g, GRANT_NONE, NULL);
	record_forget_sight(l);
	l->view = VIEW_STALE;
	l->due_ms = core->now_ms;
}

/*
 * Its own lease is over: its holders are told. What is in the record is theirs
 * for a margin yet, and is released then. The caller advances the lock.
 */
void
grant_expire(struct core *core, struct grant *g)
{
	grant_lose_uses(core, g, CORE_LOSS_EXPIRED);
	grant_released(core, g, DDBLOCK_E_LOCK_LOST, 0, NULL);
	grant_leave_gap(core, g, 0);
	grant_enter(core, g, GRANT_RELEASING, g->lease);
}

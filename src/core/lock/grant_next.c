/*
 * What to do next with a grant of ours: pass it on, keep it, ask for more
 * tokens, give it back, or settle what is unknown of it.
 */
#include "core/lock/room.h"

#include "ddblock.h"

static void
grant_give_back(struct core *core, struct grant *g)
{
	struct lock *l = g->lock;

	if (lock_may_send(core, l))
		(void)submission_send(core, l, OPERATION_RELEASE, g);
}

/* Another host waits for exclusive use, and a client here would join: when the
 * last holder has left, or that host waits no more. */
static void
grant_watch_marks(struct core *core, struct grant *g)
{
	struct lock *l = g->lock;

	if (lock_may_send(core, l))
		lock_poll(core, l);
}

/* Is the record known that an extension follows? In formats without sessions
 * not after one whose answer never came. */
static bool
grant_knows_record(const struct lock *l)
{
	return l->ns->has_sessions || l->version != NULL;
}

/* There is a waiter, but the run is over or the block is used up. */
static void
grant_renew_run(struct core *core, struct grant *g)
{
	struct lock *l = g->lock;
	bool yield = lock_run_is_over(core, l) && l->foreign_mark_seen;

	if (yield || g->lease->retiring) {
		if (g->uses != NULL) {
			grant_watch_marks(core, g);
			return;
		}
		l->stand_back = yield;
		grant_give_back(core, g);
		return;
	}
	grant_released(core, g, 0, 0, NULL);
	if (!lock_may_send(core, l))
		return;
	if (!grant_has_token(g) && grant_knows_record(l))
		(void)submission_send(core, l, OPERATION_EXTEND, g);
	else
		(void)submission_send(core, l, OPERATION_READ, NULL);
}

/* May it stay ours without a client? Where other hosts wait for it, too, only
 * if it is likely to be asked for here, and to the end of its run; and if the
 * record says so. */
static bool
grant_may_stay(struct core *core, const struct grant *g)
{
	const struct lock *l = g->lock;

	if (l->ns->settings.idle_ms == 0 || g->lease->retiring ||
	    namespace_refusal(l->ns) != 0 || l->queue != NULL ||
	    (g->extras != NULL && grant_every(g) != NULL))
		return false;
	return l->ns->settings.keeps_idle ||
	    (g->mode == LOCK_MODE_EXCLUSIVE &&
	    !(lock_is_awaited(l) && lock_run_is_over(core, l)) &&
	    kept_is_habit(core, l) && g->stays);
}

/* Until the end of idleness, or the next look for others' marks. */
static void
grant_stay(struct core *core, struct lock *l)
{
	const struct core_namespace *t = &l->ns->settings;
	uint64_t seen_ms = core->now_ms -
	    ((uint32_t)core->now_ms - l->run_started_ms);
	uint64_t look_ms = seen_ms + t->poll_ms;

	if (!t->hints || t->keeps_idle || lock_is_awaited(l) ||
	    look_ms >= l->due_ms)
		heap_set(&core->later, &l->timer, l->due_ms);
	else if (core->now_ms < look_ms)
		heap_set(&core->later, &l->timer, look_ms);
	else if (lock_may_send(core, l))
		(void)submission_send(core, l, OPERATION_READ, NULL);
}

/* There is no waiter here: it is kept for a while, or given back. */
static void
grant_idle(struct core *core, struct grant *g)
{
	struct lock *l = g->lock;
	bool keep = grant_may_stay(core, g);

	if (keep) {
		grant_released(core, g, 0, 0, NULL);
		kept_hurry(core, l);
	}
	if (!keep || core->now_ms >= l->due_ms)
		grant_give_back(core, g);
	else
		grant_stay(core, l);
}

/* More tokens, unless something else comes before. */
static void
grant_extend(struct core *core, struct grant *g)
{
	struct lock *l = g->lock;

	if (lock_may_send(core, l))
		(void)submission_send(core, l, OPERATION_EXTEND, g);
}

/* While a client has it and others wait: tokens for them beforehand. */
static void
grant_prefetch(struct core *core, struct grant *g)
{
	struct lock *l = g->lock;
	uint64_t left = g->token_last + 1 - g->token_next;

	/* A token of another format belongs to the acquisition that it is
	 * for, which has not come yet. */
	if (g->mode != LOCK_MODE_EXCLUSIVE || l->submission != NULL ||
	    !l->ns->has_sessions || !grant_suits(g, l->queue) ||
	    left > grant_tokens(g) / 4 ||
	    (lock_run_is_over(core, l) && l->foreign_mark_seen))
		return;
	grant_extend(core, g);
}

/* What its holder asked for comes before what others want of it. */
static bool
grant_advance_asked(struct core *core, struct grant *g)
{
	if (update_is_owed(g))
		return true; /* see update_advance() */
	if (grant_downgrade(g) == NULL)
		return false;
	downgrade_advance(core, g);
	return true;
}

/* Clients have it. */
static void
grant_advance_used(struct core *core, struct grant *g)
{
	struct lock *l = g->lock;

	if ((g->uses->is_multi && grant_lacks_tokens(core, g) > 0) ||
	    tokens_are_behind(g)) {
		/* It is told when the record has the token that is told; and
		 * that one is there again before another host can have it. */
		grant_extend(core, g);
		return;
	}
	if (g->releasing != NULL)
		grant_released(core, g, 0, 0, NULL);
	if (l->leftovers != NULL && lock_remove_stale_mark(core, l))
		return;
	if (l->queue == NULL)
		return;
	/* It would have joined them. */
	if (grant_fits(core, g, l->queue))
		grant_renew_run(core, g);
	else
		grant_prefetch(core, g);
}

static void
grant_advance_held(struct core *core, struct grant *g)
{
	struct waiter *w = g->lock->queue;

	if (!grant_is_good(core, g))
		return; /* its timer says so to all of them */
	if ((g->extras != NULL || g->releasing != NULL) &&
	    grant_advance_asked(core, g))
		return;
	if (g->uses != NULL) {
		grant_advance_used(core, g);
	} else if (grant_is_taken(core, g)) {
		return; /* lock_await_gaps() */
	} else if (g->fail_closed) {
		/* It has no holder: if this daemon died now, nothing else would
		 * end it. The next waiter here stands back, because the waiter
		 * marks of other hosts were not read. */
		g->lock->stand_back = w != NULL && grant_suits(g, w) &&
		    !g->lock->ns->settings.no_foreign_waiters;
		grant_give_back(core, g);
	} else if (w != NULL && grant_suits(g, w)) {
		grant_renew_run(core, g);
	} else {
		grant_idle(core, g);
	}
}

static void
grant_settle(struct core *core, struct grant *g)
{
	struct lock *l = g->lock;

	if (core->now_ms < g->gap_ms || !lock_may_send(core, l))
		return;
	if (g->state == GRANT_UNSURE || g->unsettled)
		(void)submission_send(core, l, OPERATION_READ, NULL);
	else
		(void)submission_send(core, l, OPERATION_RELEASE, g);
}

void
grant_advance(struct core *core, struct grant *g)
{
	/* It was inherited, and may be another's: nothing is written for it
	 * before it is known that it is not. */
	if (!grant_is_proven(g)) {
		if (g->fail_closed)
			fail_closed_await_proof(core, g);
		return;
	}
	switch (g->state) {
	case GRANT_HELD:
		grant_advance_held(core, g);
		return;
	case GRANT_UNSURE:
	case GRANT_RELEASING:
		grant_settle(core, g);
		return;
	case GRANT_NONE:
	case GRANT_ASKING:
		return;
	}
}

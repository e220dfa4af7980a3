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

/* Another host wishes for it alone, and somebody here would join: when the last
 * of those who have it has left, or that host wishes no more. */
static void
grant_watch_wish(struct core *core, struct grant *g)
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
	return namespace_has_sessions(l->ns) || l->version != NULL;
}

/* Somebody waits for it, but the run is over or the block is used up. */
static void
grant_renew_run(struct core *core, struct grant *g)
{
	struct lock *l = g->lock;
	bool yield = lock_run_is_over(core, l) && l->wish_seen;

	if (yield || g->lease->retiring) {
		if (g->uses != NULL) {
			grant_watch_wish(core, g);
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

/* Nobody here wants it. Where no other host can, it is kept for a while. */
static void
grant_idle(struct core *core, struct grant *g)
{
	struct lock *l = g->lock;
	bool keep = l->ns->settings.idle_ms > 0 && !g->lease->retiring &&
	    !core->stopping && l->queue == NULL;

	if (keep)
		grant_released(core, g, 0, 0, NULL);
	if (keep && core->now_ms < l->due_ms)
		heap_set(&core->heap, &l->timer, l->due_ms);
	else
		grant_give_back(core, g);
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
	    !namespace_has_sessions(l->ns) || l->queue == NULL ||
	    !grant_suits(g, l->queue) ||
	    left > grant_tokens(g) / 4 ||
	    (lock_run_is_over(core, l) && l->wish_seen))
		return;
	grant_extend(core, g);
}

static void
grant_advance_held(struct core *core, struct grant *g)
{
	struct waiter *w = g->lock->queue;

	if (!grant_is_good(core, g))
		return; /* its timer says so to all of them */
	if (update_is_owed(g))
		return; /* see update_advance() */
	if (grant_downgrade(g) != NULL) {
		downgrade_advance(core, g);
		return;
	}
	if (grant_lacks_tokens(core, g) > 0) {
		/* It is told when the record has the token that is told. */
		grant_extend(core, g);
	} else if (g->uses != NULL) {
		grant_released(core, g, 0, 0, NULL);
		if (lock_rid_of_stale_wish(core, g->lock))
			return;
		/* It would have joined them. */
		if (w != NULL && grant_fits(core, g, w))
			grant_renew_run(core, g);
		else
			grant_prefetch(core, g);
	} else if (grant_is_taken(core, g)) {
		return; /* lock_await_gaps() */
	} else if (g->fail_closed) {
		/* It is nobody's: were this daemon to die now, nothing else
		 * would end it. Who would have had it here next stands back:
		 * nobody has looked whether others wish for it. */
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

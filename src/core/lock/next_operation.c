/*
 * What to ask of the store for the first in line, and what of ours in the
 * record is to be put right before.
 */
#include "core/lock/room.h"

#include <assert.h>
#include <stdlib.h>

#include "ddblock.h"

/* ---- waiter marks and leftovers ---------------------------------------------
 * */

bool
lock_remove_stale_mark(struct core *core, struct lock *l)
{
	return l->leftovers != NULL &&
	    !ident_is_none(l->leftovers->stale_mark) &&
	    lock_may_send(core, l) &&
	    submission_send(core, l, OPERATION_REMOVE_WAITER, NULL);
}

static bool
lock_clean(struct core *core, struct lock *l)
{
	const struct leftovers *left = l->leftovers;
	bool stray = left != NULL && !ident_is_none(left->own_mark);

	/* A session that is gone takes its waiter marks with it. */
	if (l->ns->session == NULL)
		l->own_mark_mode = LOCK_MODE_NONE;
	if (left != NULL && !ident_is_none(left->orphan.grant))
		return submission_send(core, l, OPERATION_RELEASE, NULL);
	if (stray || (l->own_mark_mode != LOCK_MODE_NONE &&
	    l->own_mark_mode != lock_mark_mode(l)))
		return submission_send(core, l, OPERATION_REMOVE_WAITER, NULL);
	if (l->mark_due != MARK_NONE)
		return submission_send(core, l, OPERATION_MARK, NULL);
	if (l->read_due ||
	    (l->watched != NULL && core->lock_events->wants_read(l)))
		return submission_send(core, l, OPERATION_READ, NULL);
	return false;
}

/* A waiter mark costs a write or two: not for a try or a very short wait. */
static bool
lock_should_mark(const struct core *core, const struct lock *l)
{
	const struct core_namespace *t = &l->ns->settings;

	if (t->no_foreign_waiters || !l->ns->has_sessions ||
	    kept_is_brief(core, l, l->queue))
		return false;
	if (!line_is_kept(l))
		return l->own_mark_mode == LOCK_MODE_NONE;
	return line_has_room(l) || l->line->unmarked;
}

/* ---- seeking a grant -------------------------------------------------- */

/* Look, if it is time to; or then. */
void
lock_poll(struct core *core, struct lock *l)
{
	if (core->now_ms >= l->due_ms)
		(void)submission_send(core, l, OPERATION_READ, NULL);
	else
		heap_set(&core->later, &l->timer, l->due_ms);
}

/* It is full, and some of its holders are dead. */
static bool
lock_may_drop(const struct lock *l)
{
	const struct waiter *w = l->queue;

	return lock_is_shared_alike(l, w) &&
	    l->sight->n_holders >= lock_places(w) &&
	    record_dead(l, 1, NULL) > 0;
}

/* Another host keeps it. One that came after the last look makes that known by
 * an acquire; then there is a hint, or a look when the time is up. */
static void
lock_await_kept(struct core *core, struct lock *l)
{
	uint64_t until_ms = kept_until_ms(l, l->queue);

	if (l->queue->asked_ms > l->sight->seen_ms) {
		(void)submission_send(core, l, OPERATION_ACQUIRE, NULL);
		return;
	}
	if (l->due_ms > until_ms)
		l->due_ms = until_ms;
	lock_poll(core, l);
}

/* Others hold it. */
static void
lock_contend(struct core *core, struct lock *l)
{
	bool dead = l->sight->blocked.on == NULL && record_block(core, l);
	bool open = lock_has_room(l, l->queue) && !l->refused;

	if (dead && record_awaits_turn(core, l))
		dead = false;
	/* No client joins while any mark for exclusive use stands, and none
	 * that is in no line takes it while there is one. */
	if ((dead ? l->line != NULL : open) && lock_remove_stale_mark(core, l))
		return;
	if (dead || open) {
		(void)submission_send(core, l, OPERATION_ACQUIRE, NULL);
		return;
	}
	if (lock_may_drop(l)) {
		(void)submission_send(core, l, OPERATION_RELEASE, NULL);
		return;
	}
	if (lock_should_mark(core, l))
		(void)submission_send(core, l, OPERATION_ADD_WAITER, NULL);
	else if (lock_awaits_kept(core, l, l->queue))
		lock_await_kept(core, l);
	else
		lock_poll(core, l);
}

/* Would one more grant help the first in line? Beside others of ours only if
 * it is one more of a semaphore's. */
static bool
lock_needs_grant(const struct core *core, const struct lock *l)
{
	const struct waiter *w = l->queue;
	const struct grant *g;
	uint32_t n = 0;

	if (w == NULL || w->asked)
		return false;
	LL_FOREACH(l->grants, g)
	{
		n++;
		if (g->state != GRANT_HELD || g->mode != w->mode ||
		    g->limit != w->limit || !grant_is_taken(core, g))
			return false;
	}
	return n == 0 || (w->limit == 0 ? lock_may_add(l, w) :
	    n < w->limit);
}

/* It is free, and others' turn. (A mark that our place lacks has time until it
 * is held: of a free lock it would be refused.) */
static void
lock_stand_in_line(struct core *core, struct lock *l)
{
	if (l->line != NULL && line_is_kept(l) && line_has_room(l) &&
	    lock_should_mark(core, l))
		(void)submission_send(core, l, OPERATION_ADD_WAITER, NULL);
	else
		lock_poll(core, l);
}

/* The holders here need not observe the others. */
static void
lock_look_away(struct lock *l)
{
	if (l->grants == NULL || l->sight == NULL)
		return;
	record_forget_sight(l);
	l->view = VIEW_NEW;
}

/* It was freed, as another host says: the store may be asked, as if nothing
 * were known but our place. */
static void
lock_follow_hint(struct lock *l)
{
	l->hint = HINT_FOLLOWED;
	l->hindered = l->refused = false;
	record_forget_sight(l);
	l->view = VIEW_NEW;
}

/* Work for a lock without an exclusive grant here. */
void
lock_seek(struct core *core, struct lock *l)
{
	/* A waiter that has gone by then needs no mark. */
	if (l->queue == NULL && core->now_ms < l->hold_off_ms)
		l->mark_due = MARK_NONE;
	if (!lock_may_send(core, l) || lock_clean(core, l))
		return;
	if (!lock_needs_grant(core, l)) {
		lock_look_away(l);
		return;
	}
	if (l->ns->has_sessions && (!lease_is_good(core, l->ns->session) ||
	    l->ns->session->unproven))
		return;
	if (core->now_ms < l->back_ms) {
		heap_set(&core->later, &l->timer, l->back_ms);
		return;
	}
	if ((l->ns->settings.request_rate > 0 || core->had_rates) &&
	    !lock_has_place(core, l))
		return;
	if (l->hint == HINT_HEARD)
		lock_follow_hint(l);
	switch (l->view) {
	case VIEW_NEW:
	case VIEW_FREE:
		if (lock_remove_stale_mark(core, l))
			return;
		if (l->hindered)
			lock_stand_in_line(core, l);
		else if (l->queue->only_if_exists && !l->queue->exists)
			(void)submission_send(core, l, OPERATION_READ, NULL);
		else if (!l->queue->is_multi ||
		    !core->lock_events->ask_multi(core, l))
			(void)submission_send(core, l, OPERATION_ACQUIRE,
			    NULL);
		return;
	case VIEW_STALE:
		lock_poll(core, l);
		return;
	case VIEW_FOREIGN:
		lock_contend(core, l);
		return;
	}
}

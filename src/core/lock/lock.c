/*
 * One lock: our grants in its record (grant.c), its waiters (queue.c), and what
 * to do next.
 *
 *  1. One operation per lock is under way at a time (l->submission).
 *  2. The first waiter here is served first, whatever the use: exclusive and
 *     shared use take turns.
 *  3. After handover_max local grants or one lease, a fresh record decides: if
 *  another host has a waiter mark, the grants here are released, as soon as
 *  their holders have left, and the local queue stands back for two poll
 *     periods.
 *
 * lock_advance() looks at all that is known and submits the one operation that
 * is due, if any. It is called after everything that happens to the lock.
 */
#include "core/lock/room.h"

#include <assert.h>
#include <stdlib.h>

/* ---- giving ----------------------------------------------------------- */

void
lock_gave(struct grant *g, uint32_t user)
{
	struct lock *l = g->lock;

	g->user = user;
	if (l->run < UINT16_MAX)
		l->run++;
	if (g->passed)
		l->ns->counters.handed_over++;
	g->passed = true;
}

struct use *
lock_first_use(const struct lock *l)
{
	const struct grant *g;

	LL_FOREACH(l->grants, g)
	{
		if (g->uses != NULL)
			return g->uses;
	}
	return NULL;
}

/* By which grant can the first in line have it at once? Rather by an unused one
 * than by one that others wait for, too. */
static struct grant *
lock_find_gift(const struct core *core, const struct lock *l)
{
	struct grant *g, *used = NULL;

	LL_FOREACH(l->grants, g)
	{
		if (!grant_can_give(core, g, l->queue))
			continue;
		if (!g->passed)
			return g;
		if (used == NULL)
			used = g;
	}
	return used;
}

/* The first waiter gets it, and the next ones, as long as they fit. */
static void
lock_give(struct core *core, struct lock *l)
{
	struct grant *g;

	while (l->queue != NULL && !l->queue->put_off &&
	    (g = lock_find_gift(core, l)) != NULL) {
		enum update update = update_look(core, g, l->queue);

		if (update == UPDATE_LATER)
			return;
		if (update == UPDATE_READY) {
			uint32_t user = l->queue->user;

			l->taken_ms = l->queue->asked_ms;
			core->lock_events->granted(core, g);
			lock_gave(g, user);
		}
	}
}

/*
 * Is the last sight's every holder dead, or about to be declared so? Then a
 * try may wait for it.
 */
bool
lock_takeover_is_near(const struct core *core, const struct lock *l)
{
	if (l->sight == NULL)
		return false;
	for (size_t i = 0; i < l->sight->n_holders; i++) {
		const struct holder *h = &l->sight->holders[i];
		const struct observation *o =
		    observe_holder(l->ns, lock_key(l), h);

		if (h->fail_closed || o == NULL ||
		    !observe_is_near_end(core, o))
			return false;
	}
	return true;
}

/* What a hold left that was lost is looked at again when its gap is over; then
 * a successor need not keep it. */
static void
lock_await_gaps(struct core *core, struct lock *l)
{
	struct grant *g;

	LL_FOREACH(l->grants, g)
	{
		if (g->gap_ms == 0)
			continue;
		if (core->now_ms >= g->gap_ms)
			grant_end_gap(core, g);
		else if (l->timer.position == 0 ||
		    g->gap_ms < l->timer.at_ms)
			heap_set(&core->later, &l->timer, g->gap_ms);
	}
}

/* The next step of the first waiter is certain, and no business of this lock.
 * What follows from that is seen then. */
static bool
lock_is_put_off(const struct lock *l)
{
	return l->queue != NULL && (l->queue->leaving || l->queue->put_off);
}

/* The renewals that are due, or that a client asked for. */
static void
lock_renew(struct core *core, struct lock *l)
{
	struct grant *g;

	LL_FOREACH(l->grants, g)
	{
		if (l->submission == NULL &&
		    record_lease_is_due(core, g->lease))
			(void)submission_send(core, l, OPERATION_REFRESH, g);
	}
}

void
lock_touch(struct core *core, struct lock *l)
{
	if (l->watched != NULL)
		core->lock_events->touched(core, l);
}

/* The record has elements or marks of ours that must be removed. */
static bool
lock_is_littered(const struct lock *l)
{
	return l->leftovers != NULL &&
	    (!ident_is_none(l->leftovers->orphan.grant) ||
		!ident_is_none(l->leftovers->own_mark));
}

/* A mark of ours is there, or on its way, or an element that should not be. */
static bool
lock_is_to_be_righted(const struct lock *l)
{
	const struct submission *s = l->submission;

	return l->own_mark_mode != LOCK_MODE_NONE || lock_is_littered(l) ||
	    (s != NULL &&
		(s->submit.operation.kind == OPERATION_ADD_WAITER ||
		s->cleaning));
}

static bool
lock_is_noted(const struct lock *l)
{
	return l->saved.place != 0 || l->saved.due != 0;
}

/* For the next process: it may have something of ours to put right. */
static void
lock_note(struct core *core, struct lock *l)
{
	if (lock_is_to_be_righted(l) == lock_is_noted(l))
		return;
	if (lock_is_noted(l))
		saved_end(core, &l->saved);
	else
		saved_touch(core, &l->saved, SAVED_LOCK);
}

void
lock_save_righting(struct core *core, struct lock *l)
{
	if (lock_is_to_be_righted(l))
		saved_touch(core, &l->saved, SAVED_LOCK);
}

void
lock_advance(struct core *core, struct lock *l)
{
	struct grant *g, *next;

	if (lock_is_put_off(l))
		return;
	LL_FOREACH_SAFE(l->grants, g, next)
	{
		/* Most holders have asked for nothing. */
		if (g->extras != NULL || g->releasing != NULL)
			update_advance(core, g);
	}
	lock_give(core, l);
	if (lock_is_put_off(l))
		return;
	LL_FOREACH_SAFE(l->grants, g, next)
	{
		grant_advance(core, g);
	}
	if (l->ns->renews_records)
		lock_renew(core, l);
	if (l->grants == NULL || lock_may_seek(l))
		lock_seek(core, l);
	lock_await_gaps(core, l);
	lock_note(core, l);
	lock_touch(core, l);
	lock_check(core, l);
	lock_free_if_unused(core, l);
}

/* Many may have a reason to at one time: in this step or a next one. */
void
lock_advance_soon(struct core *core, struct lock *l)
{
	heap_set(&core->later, &l->timer, core->now_ms);
}

void
lock_timer(struct core *core, struct timer *timer)
{
	lock_advance(core, CONTAINER_OF(timer, struct lock, timer));
}

void
lock_release(struct core *core, struct lock *l)
{
	l->due_ms = core->now_ms + lock_idle_ms(l);
	lock_advance(core, l);
}

/* ---- what the lease room tells ---------------------------------------- */

/* A session of ours is lost, and all that was granted under it: the caller's
 * lock first, then the next. */
void
lock_lease_lost(struct core *core, struct lease *lease, enum core_loss loss)
{
	while (lease->grants != NULL) {
		struct lock *l = lease->grants->lock;
		struct grant *g, *next;

		LL_FOREACH_SAFE(l->grants, g, next)
		{
			if (g->lease == lease)
				grant_lose(core, g, loss);
		}
		lock_advance(core, l);
	}
}

void
lock_record_lost(struct core *core, struct lease *lease)
{
	struct grant *g = lease->grants;
	struct lock *l = g->lock;

	/* What may be another's is not taken out of the record. */
	if (g->state == GRANT_HELD && lease->unproven) {
		in_doubt_left_held(core, &l->in_doubt_list, g->id);
		grant_lose(core, g, CORE_LOSS_EXPIRED);
	} else if (g->state == GRANT_HELD) {
		grant_expire(core, g);
	}
	lock_advance(core, l);
}

void
lock_record_due(struct core *core, struct lease *lease)
{
	lock_advance(core, lease->grants->lock);
}

struct lock *
lock_blocked(const struct blocked *b)
{
	return CONTAINER_OF(b, struct sight, blocked)->lock;
}

void
lock_unblocked(struct core *core, struct blocked *b)
{
	lock_advance_soon(core, lock_blocked(b));
}

static struct lock *
lock_of_in_doubt_list(const struct in_doubt_list *all)
{
	return CONTAINER_OF(all, struct lock, in_doubt_list);
}

void
lock_read_in_doubt(struct core *core, struct in_doubt_list *all)
{
	struct lock *l = lock_of_in_doubt_list(all);

	l->read_due = true;
	lock_advance(core, l);
}

static void
lock_wake_all(struct core *core, struct grant *first)
{
	struct grant *g;

	DL_FOREACH2(first, g, lease_next)
	{
		lock_advance_soon(core, g->lock);
	}
}

void
lock_lease_proven(struct core *core, struct lease *lease)
{
	lock_wake_all(core, lease->grants);
	lock_wake_all(core, lease->ns->closed);
}

/* False: it has none of that session. A poll of an unreadable record never
 * ends, so it ends with the last doubt. */
static bool
lock_forget_doubts(struct core *core, struct lock *l, struct ident session,
    bool stale)
{
	if (!in_doubt_forget_session(core, &l->in_doubt_list, session, stale))
		return false;
	if (l->in_doubt_list.first == NULL)
		l->read_due = false;
	return true;
}

/* What is fail-closed and was inherited is another's, too, whatever its state.
 */
void
lock_stale(struct core *core, struct namespace *ns, struct ident session)
{
	struct grant *g, *next;
	struct lock *l;

	DL_FOREACH_SAFE2(ns->closed, g, next, lease_next)
	{
		if (!g->unproven)
			continue;
		lock_advance_soon(core, g->lock);
		grant_lose(core, g, CORE_LOSS_STOLEN);
	}
	for (l = lock_next(ns, NULL); l != NULL; l = lock_next(ns, l)) {
		if (lock_forget_doubts(core, l, session, true))
			lock_advance_soon(core, l);
	}
}

struct key
lock_key_of_in_doubt(const struct in_doubt_list *all)
{
	return lock_key(lock_of_in_doubt_list(all));
}

bool
lock_has_live(const struct in_doubt_list *all, struct ident grant)
{
	return grant_find(lock_of_in_doubt_list(all), grant) != NULL;
}

void
lock_session_closed(struct core *core, struct namespace *ns,
    struct ident session)
{
	struct lock *l, *next;

	for (l = lock_next(ns, NULL); l != NULL; l = next) {
		next = lock_next(ns, l);
		if (lock_forget_doubts(core, l, session, false))
			lock_free_if_unused(core, l);
	}
}

/* ---- the end ---------------------------------------------------------- */

/* A lock is remembered only while something of ours depends on it. */
void
lock_free_if_unused(struct core *core, struct lock *l)
{
	if (l->grants != NULL || l->queue != NULL || l->references > 0 ||
	    l->submission != NULL || l->watched != NULL || l->read_due ||
	    l->mark_due != MARK_NONE || l->own_mark_mode != LOCK_MODE_NONE ||
	    l->in_doubt_list.first != NULL || lock_is_littered(l))
		return;
	saved_end(core, &l->saved);
	record_forget_sight(l);
	free(l->line);
	free(l->leftovers);
	free(l->version);
	lock_take_out(core, l);
	heap_release(&core->later, &l->timer);
	core->n_locks--;
	free(l);
}

void
lock_unref(struct core *core, struct lock *l)
{
	assert(l->references > 0);
	l->references--;
	lock_free_if_unused(core, l);
}

/* Whatever it is in the middle of. */
static void
lock_free(struct core *core, struct lock *l)
{
	struct grant *g, *next;

	LL_FOREACH_SAFE(l->grants, g, next)
	{
		grant_free(g);
	}
	submission_drop(core, l);
	record_forget_sight(l);
	in_doubt_free_all(core, &l->in_doubt_list);
	free(l->line);
	free(l->leftovers);
	free(l->version);
	free(l);
}

void
lock_free_all(struct core *core, struct namespace *ns)
{
	struct lock *l, *next;

	if (ns->settings.hints)
		hint_done(core, ns);
	for (l = lock_next(ns, NULL); l != NULL; l = next) {
		next = lock_next(ns, l);
		lock_free(core, l);
	}
	hash_done(&ns->locks);
}

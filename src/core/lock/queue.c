/*
 * The waiters for a lock here: first come, first served, one queue per key; and
 * what is known of how long they have to.
 */
#include "core/lock/room.h"

#include <assert.h>

/*
 * In the order of asking, which is the end; but a request for several locks
 * joins the queues of all but the first of them later.
 */
void
queue_join(struct lock *l, struct waiter *w)
{
	struct rank *place = w->is_multi ?
	    rank_after(l->places, w->serial) : NULL;

	w->lock = l;
	if (place != NULL) {
		struct waiter *after = CONTAINER_OF(place, struct waiter,
		    place);

		DL_PREPEND_ELEM2(l->queue, after, w, previous, next);
	} else {
		DL_APPEND2(l->queue, w, previous, next);
	}
	rank_add(&l->places, &w->place, w->serial);
	l->n_overdue += w->overdue;
	l->ns->n_waiting++;
}

/* Out of this queue; the caller advances the lock. */
void
queue_part(struct waiter *w)
{
	struct lock *l = w->lock;

	assert(l->n_overdue >= w->overdue);
	rank_remove(&l->places, &w->place);
	DL_DELETE2(l->queue, w, previous, next);
	l->n_overdue -= w->overdue;
	l->ns->n_waiting--;
	w->lock = NULL;
}

void
queue_set_overdue(struct waiter *w)
{
	w->lock->n_overdue += !w->overdue;
	w->overdue = true;
}

/* How many are before this one. */
uint32_t
queue_ahead(const struct waiter *w)
{
	return rank_below(w->lock->places, w->serial);
}

/* Does a grant here wait for this request, the first in line? Perhaps it does
 * so after the look at the record which is due when a run is over. */
static bool
queue_is_served(const struct core *core, const struct lock *l,
    const struct waiter *w)
{
	const struct grant *g;

	if (l->foreign_mark_seen && lock_run_is_over(core, l))
		return false;
	LL_FOREACH(l->grants, g)
	{
		if (g->state == GRANT_HELD && grant_is_usable(g) &&
		    grant_fits(core, g, w))
			return true;
	}
	return false;
}

/* Does what clients here hold keep this request, the first in line, from the
 * lock? Not yet, while there may be room for one more of a semaphore's. */
static bool
queue_is_hindered_here(const struct core *core, const struct lock *l,
    const struct waiter *w)
{
	const struct grant *g;
	uint32_t n = 0;
	bool held = false;

	LL_FOREACH(l->grants, g)
	{
		n++;
		if (g->state != GRANT_HELD)
			return false;
		if (grant_is_taken(core, g))
			held = true;
	}
	return held && (l->grants->mode != w->mode ||
	    l->grants->limit != w->limit ||
	    (w->limit == 0 ? !lock_may_add(l, w) :
	    n >= w->limit));
}

/* Is it known that this request does not get that lock at once? */
bool
queue_would_wait(const struct core *core, const struct lock *l,
    const struct waiter *w)
{
	if (l->queue != NULL && l->queue != w)
		return true;
	if (queue_is_served(core, l, w))
		return false;
	if (queue_is_hindered_here(core, l, w))
		return true;
	if (!lock_may_seek(l))
		return false;
	if (lock_awaits_kept(core, l, w))
		return false;
	if (l->view == VIEW_FREE)
		return l->hindered;
	return l->view == VIEW_FOREIGN && !lock_takeover_is_near(core, l) &&
	    !(lock_has_room(l, w) && !l->refused);
}

/* Is anybody known to have what this one waits for, or to be before it? That a
 * lock is waited for proves neither: the store may not have been asked. */
bool
queue_is_others(const struct core *core, const struct lock *l,
    const struct waiter *w)
{
	const struct grant *g;

	if (l->queue != NULL && l->queue != w)
		return true;
	LL_FOREACH(l->grants, g)
	{
		if (grant_is_taken(core, g))
			return true;
	}
	return l->view == VIEW_FOREIGN || l->hindered ||
	    core->now_ms < l->back_ms;
}

bool
lock_finds_limit(const struct lock *l, const struct waiter *w,
    uint32_t *ret_limit)
{
	const struct use *u = lock_first_use(l);

	if (u == NULL) {
		*ret_limit = l->limit_seen;
		return l->sight != NULL && lock_has_other_limit(l, w);
	}
	*ret_limit = u->grant->limit;
	return w->mode == LOCK_MODE_SHARED &&
	    u->grant->mode == LOCK_MODE_SHARED && *ret_limit != w->limit;
}

/* ---- without waiting -------------------------------------------------- */

bool
lock_is_open(const struct core *core, const struct lock *l)
{
	return l->grants == NULL && l->queue == NULL &&
	    l->submission == NULL && l->leftovers == NULL && !l->read_due &&
	    l->own_mark_mode == LOCK_MODE_NONE &&
	    core->now_ms >= l->hold_off_ms &&
	    core->now_ms >= l->back_ms && (l->view == VIEW_NEW ||
	    (l->view == VIEW_FREE && !l->hindered));
}

struct grant *
lock_find_grant(const struct core *core, const struct lock *l,
    const struct waiter *w)
{
	struct grant *g;

	if (l->queue != NULL)
		return NULL;
	LL_FOREACH(l->grants, g)
	{
		if (grant_can_give(core, g, w))
			return g;
	}
	return NULL;
}

uint64_t
lock_submitted_ms(const struct lock *l)
{
	return l->submission == NULL ? CORE_FOREVER :
	    l->submission->submit.operation.submitted_ms;
}

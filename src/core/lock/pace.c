/*
 * What a lock's own state says: when the store may be asked again, and whether
 * there is room.
 */
#include "core/lock/room.h"

#include "core/rate.h"

#define AWAITED_IDLE_MS 2	/* less than a request to the store */
#define PLACE_AHEAD_MS 10000	/* so that few of them stay unused */

uint64_t
lock_poll_ms(const struct lock *l)
{
	uint64_t poll_ms = l->ns->settings.poll_ms;

	if (l->queue == NULL || l->queue->poll_ms == 0)
		return poll_ms;
	/* A host with a waiter mark polls at the default period or faster. */
	if (l->own_mark_mode != LOCK_MODE_NONE && l->queue->poll_ms > poll_ms)
		return poll_ms;
	return l->queue->poll_ms;
}

/* Do other hosts wait for it, as far as we know? */
bool
lock_is_awaited(const struct lock *l)
{
	return l->wanted || l->foreign_mark_seen;
}

/* How long it is kept without a client. Where other hosts may wait, and cannot
 * say so, no longer than they would have to before they see it free; where they
 * do, for a client that has just released it and goes on at once. */
uint64_t
lock_idle_ms(const struct lock *l)
{
	const struct core_namespace *t = &l->ns->settings;
	uint64_t most_ms = !t->hints ? t->poll_ms :
	    lock_is_awaited(l) ? AWAITED_IDLE_MS : UINT64_MAX;

	return t->keeps_idle || t->idle_ms < most_ms ? t->idle_ms : most_ms;
}

/* No store operation for this lock for (about) @period_ms. */
void
lock_hold_off(struct core *core, struct lock *l, uint64_t period_ms)
{
	l->hold_off_ms =
	    core->now_ms + random_jitter(&core->random, period_ms);
}

/* There was no memory for what is due: again soon. */
void
lock_try_later(struct core *core, struct lock *l)
{
	lock_hold_off(core, l, RETRY_MS);
	heap_set(&core->later, &l->timer, l->hold_off_ms);
}

bool
lock_must_wait(struct core *core, struct lock *l)
{
	if (core->now_ms >= l->hold_off_ms)
		return false;
	heap_set(&core->later, &l->timer, l->hold_off_ms);
	return true;
}

bool
lock_may_send(struct core *core, struct lock *l)
{
	return l->submission == NULL && !lock_must_wait(core, l);
}

/* Has the first in line a place among the requests of its user, and is it that
 * time? If not, the timer is set to it. */
bool
lock_has_place(struct core *core, struct lock *l)
{
	uint32_t user = l->queue->user;
	uint64_t last_ms = core->now_ms + PLACE_AHEAD_MS;

	if (!l->has_place || l->place_user != user) {
		l->has_place = rate_next_ms(core, l->ns, user) <= last_ms;
		l->place_user = user;
		l->place_ms = l->has_place ?
		    rate_take(core, l->ns, user, 1) : last_ms;
	}
	if (l->place_ms <= core->now_ms)
		return true;
	heap_set(&core->later, &l->timer, l->place_ms);
	return false;
}

/* A request for it is sent, which takes a place. */
void
lock_take_place(struct core *core, struct lock *l, uint32_t user)
{
	bool has_it = l->has_place && l->place_user == user &&
	    l->place_ms <= core->now_ms;

	if (has_it)
		l->has_place = false;
	else
		(void)rate_take(core, l->ns, user, 1);
}

uint64_t
lock_place_ms(const struct core *core, const struct lock *l)
{
	return l->submission == NULL && l->queue != NULL &&
	    l->place_user == l->queue->user && l->place_ms > core->now_ms ?
	    l->place_ms : 0;
}

void
lock_hold_off_poll(struct core *core, struct lock *l)
{
	lock_hold_off(core, l, lock_poll_ms(l));
}

static uint32_t
lock_run_ms(const struct core *core, const struct lock *l)
{
	return (uint32_t)core->now_ms - l->run_started_ms;
}

/* Was no other host seen to wait, and could none that came since have noticed
 * yet that the lock is free, if it were? */
bool
lock_is_alone(const struct core *core, const struct lock *l)
{
	return !lock_is_awaited(l) &&
	    lock_run_ms(core, l) < l->ns->settings.poll_ms;
}

/* Must a fresh record decide whether it goes on? */
bool
lock_run_is_over(const struct core *core, const struct lock *l)
{
	const struct core_namespace *t = &l->ns->settings;

	if (t->no_foreign_waiters)
		return false;
	return lock_run_ms(core, l) >= t->lease_ms ||
	    (l->run >= t->handover_max && !lock_is_alone(core, l));
}

/* Is it shared within another limit than this request's? */
bool
lock_has_other_limit(const struct lock *l, const struct waiter *w)
{
	return w->mode == LOCK_MODE_SHARED && l->shared_seen &&
	    l->limit_seen != w->limit;
}

/* The waiter mark that tells the others what the first waiter waits for: one
 * for another limit can only wait for all of them to leave. */
enum lock_mode
lock_mark_mode(const struct lock *l)
{
	const struct waiter *w = l->queue;

	if (w == NULL)
		return LOCK_MODE_NONE;
	return lock_has_other_limit(l, w) ? LOCK_MODE_EXCLUSIVE :
	    w->mode;
}

/* Is it shared as this request would share it? */
bool
lock_is_shared_alike(const struct lock *l, const struct waiter *w)
{
	return w->mode == LOCK_MODE_SHARED && l->shared_seen &&
	    l->limit_seen == w->limit;
}

/* For how many is there room in the record? */
size_t
lock_places(const struct waiter *w)
{
	return w->limit != 0 ? w->limit : HOLDERS_MAX;
}

/* Is there room besides the sharers that were seen? */
bool
lock_has_room(const struct lock *l, const struct waiter *w)
{
	const struct sight *sight = l->sight;

	return sight != NULL && lock_is_shared_alike(l, w) && !l->hindered &&
	    sight->n_holders < lock_places(w);
}

/* Can one more grant of ours share it, for this waiter? Of a semaphore; or a
 * fail-closed one; or since nothing new is given under a session that retires.
 * */
bool
lock_may_add(const struct lock *l, const struct waiter *w)
{
	const struct grant *g;

	LL_FOREACH(l->grants, g)
	{
		if (g->mode != LOCK_MODE_SHARED || (grant_is_common(g) &&
		    !w->fail_closed &&
		    (g->lease == NULL || grant_is_usable(g))))
			return false;
	}
	return true;
}

/* Nothing of ours is exclusive, or on its way. */
bool
lock_may_seek(const struct lock *l)
{
	const struct grant *g;

	LL_FOREACH(l->grants, g)
	{
		if (g->state != GRANT_HELD || g->mode != LOCK_MODE_SHARED)
			return false;
	}
	return true;
}

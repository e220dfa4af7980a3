/*
 * One lock: what of ours is in its record (grant.c), who waits for it
 * (queue.c), and what to do next.
 *
 *  1. One operation per lock is under way at a time (l->submission).
 *  2. Who asked first here is served first, whatever the use: exclusive and
 *     shared use take turns.
 *  3. After handover_max local grants or one lease, a fresh record decides: if
 *     another host wishes for the lock, what is here is released, as soon as
 *     its holders have left, and the local queue stands back for two poll
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
lock_gave(struct grant *g)
{
	struct lock *l = g->lock;

	if (l->run < UINT16_MAX)
		l->run++;
	if (g->passed)
		l->ns->handed_over++;
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

/* Not while its client is leaving: nobody would hear of it, and it might
 * linger. */
bool
grant_can_give(const struct core *core, const struct grant *g,
    const struct waiter *w)
{
	return !w->leaving &&
	    g->state == GRANT_HELD && grant_downgrade(g) == NULL &&
	    grant_is_usable(g) && grant_is_good(core, g) &&
	    grant_has_token(g) &&
	    grant_fits(core, g, w) && !update_is_owed(g) &&
	    !lock_run_is_over(core, g->lock);
}

/* By which grant can the first in line have it at once? Rather by one that
 * nobody had yet than by one that others wait for, too. */
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

/* Who is first in line gets it, and the next, as long as they fit. */
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
			core->lock_events->granted(core, g);
			lock_gave(g);
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

/* What a hold left that was lost is looked at again when its gap is over. */
static void
lock_await_gaps(struct core *core, struct lock *l)
{
	const struct grant *g;

	LL_FOREACH(l->grants, g)
	{
		if (core->now_ms < g->gap_ms && (l->timer.position == 0 ||
		    g->gap_ms < l->timer.at_ms))
			heap_set(&core->heap, &l->timer, g->gap_ms);
	}
}

/* What becomes of the first in line next is certain, and no business of this
 * lock. What follows from that is seen then. */
static bool
lock_is_put_off(const struct lock *l)
{
	return l->queue != NULL && (l->queue->leaving || l->queue->put_off);
}

/* The renewal that is due, or that a client asked for. */
static void
lock_renew(struct core *core, struct grant *g)
{
	struct lock *l = g->lock;

	if (l->submission == NULL && record_lease_is_due(core, g->lease))
		(void)submission_send(core, l, OPERATION_REFRESH, g);
}

void
lock_touch(struct core *core, struct lock *l)
{
	if (l->watched != NULL)
		core->lock_events->touched(core, l);
}

static void
lock_check(const struct core *core, const struct lock *l)
{
	const struct grant *g;
	uint32_t n_common = 0;

	LL_FOREACH(l->grants, g)
	{
		grant_check(core, g);
		assert(g->mode == l->grants->mode &&
		    g->limit == l->grants->limit);
		if (grant_is_common(g) && grant_is_usable(g))
			n_common++;
	}
	assert(n_common <= 1);
	assert((l->view == VIEW_FOREIGN) == (l->sight != NULL));
	assert((l->queue == NULL) == (l->n_waiting == 0));
	assert(l->queue == NULL || l->gaps ||
	    l->queue->previous->place - l->queue->place + 1 ==
	    l->n_waiting);
}

void
lock_advance(struct core *core, struct lock *l)
{
	struct grant *g, *next;

	if (lock_is_put_off(l))
		return;
	LL_FOREACH_SAFE(l->grants, g, next)
	{
		update_advance(core, g);
	}
	lock_give(core, l);
	if (lock_is_put_off(l))
		return;
	LL_FOREACH_SAFE(l->grants, g, next)
	{
		grant_advance(core, g);
	}
	LL_FOREACH_SAFE(l->grants, g, next)
	{
		lock_renew(core, g);
	}
	if (lock_may_seek(l))
		lock_seek(core, l);
	lock_await_gaps(core, l);
	lock_touch(core, l);
	lock_check(core, l);
	lock_free_if_unused(core, l);
}

void
lock_timer(struct core *core, struct timer *timer)
{
	lock_advance(core, CONTAINER_OF(timer, struct lock, timer));
}

void
lock_release(struct core *core, struct lock *l)
{
	l->due_ms = core->now_ms + l->ns->settings.idle_ms;
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

	if (g->state == GRANT_HELD)
		grant_expire(core, g);
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
	lock_advance(core, lock_blocked(b));
}

static struct lock *
lock_of_doubts(const struct doubts *all)
{
	return CONTAINER_OF(all, struct lock, doubts);
}

void
lock_doubted(struct core *core, struct doubts *all)
{
	struct lock *l = lock_of_doubts(all);

	l->read_due = true;
	lock_advance(core, l);
}

bool
lock_has_live(const struct doubts *all, struct ident grant)
{
	return grant_find(lock_of_doubts(all), grant) != NULL;
}

void
lock_session_closed(struct core *core, struct namespace *ns,
    struct ident session)
{
	struct lock *l, *next;

	for (l = lock_next(ns, NULL); l != NULL; l = next) {
		next = lock_next(ns, l);
		if (!doubt_forget_session(core, &l->doubts, session))
			continue;
		/* A look at a record that nobody can read never ends. */
		if (l->doubts.first == NULL)
			l->read_due = false;
		lock_free_if_unused(core, l);
	}
}

/* ---- the end ---------------------------------------------------------- */

/* Something of ours is in the record that must not stay there. */
static bool
lock_is_littered(const struct lock *l)
{
	return l->leftovers != NULL &&
	    (!ident_is_none(l->leftovers->orphan.grant) ||
		!ident_is_none(l->leftovers->own_wish));
}

/* A lock is remembered only while something of ours depends on it. */
void
lock_free_if_unused(struct core *core, struct lock *l)
{
	if (l->grants != NULL || l->queue != NULL || l->references > 0 ||
	    l->submission != NULL || l->watched != NULL || l->read_due ||
	    l->mark_due != MARK_NONE || l->wanted != LOCK_MODE_NONE ||
	    l->doubts.first != NULL || lock_is_littered(l))
		return;
	record_forget_sight(l);
	free(l->leftovers);
	free(l->version);
	hash_remove(&l->ns->locks, &l->link);
	heap_release(&core->heap, &l->timer);
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
	doubt_free_all(core, &l->doubts);
	free(l->leftovers);
	free(l->version);
	free(l);
}

void
lock_free_all(struct core *core, struct namespace *ns)
{
	struct lock *l, *next;

	for (l = lock_next(ns, NULL); l != NULL; l = next) {
		next = lock_next(ns, l);
		lock_free(core, l);
	}
	hash_done(&ns->locks);
}

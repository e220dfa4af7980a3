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
#include "core/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

struct key
lock_key(const struct lock *l)
{
	return (struct key){ l->key, l->key_length };
}

static uint32_t
lock_hash_key(struct key key)
{
	uint32_t hash;

	HASH_JEN(key.bytes, (unsigned)key.length, hash);
	return hash;
}

uint32_t
lock_hash(const struct hash_link *link)
{
	return lock_hash_key(lock_key((const struct lock *)link));
}

struct lock *
lock_find(const struct namespace *ns, struct key key)
{
	struct hash_link *link = hash_chain(&ns->locks, lock_hash_key(key));

	while (link != NULL && !key_equal(lock_key((struct lock *)link), key))
		link = link->next;
	return (struct lock *)link;
}

/* After @l, or first of all if that is NULL, in no order. */
struct lock *
lock_next(const struct namespace *ns, const struct lock *l)
{
	return (struct lock *)hash_next(&ns->locks,
	    l == NULL ? NULL : &l->link);
}

int
lock_new(struct core *core, struct namespace *ns, struct key key,
    struct lock **ret)
{
	struct lock *l;

	if (core->n_locks >= core->limits.locks_max)
		return DDBLOCK_E_LIMIT;
	l = calloc(1, sizeof(*l) + key.length);
	if (l == NULL)
		return DDBLOCK_E_NOMEM;
	if (heap_reserve(&core->heap) < 0) {
		free(l);
		return DDBLOCK_E_NOMEM;
	}
	l->ns = ns;
	l->timer.kind = TIMER_LOCK;
	l->key_length = (uint16_t)key.length;
	memcpy(l->key, key.bytes, key.length);
	hash_add(&ns->locks, &l->link);
	core->n_locks++;
	*ret = l;
	return 0;
}

struct hold *
lock_first_hold(const struct lock *l)
{
	const struct grant *g;

	LL_FOREACH(l->grants, g)
	{
		if (g->holds != NULL)
			return g->holds;
	}
	return NULL;
}

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
	    lock_is_littered(l))
		return;
	record_forget_sight(l);
	free(l->leftovers);
	free(l->version);
	hash_remove(&l->ns->locks, &l->link);
	heap_release(&core->heap, &l->timer);
	core->n_locks--;
	free(l);
}

uint64_t
lock_poll_ms(const struct lock *l)
{
	uint64_t poll_ms = l->ns->settings.poll_ms;

	if (l->queue == NULL || l->queue->poll_ms == 0)
		return poll_ms;
	/* A host that wishes polls at the default period or faster. */
	if (l->wanted != LOCK_MODE_NONE && l->queue->poll_ms > poll_ms)
		return poll_ms;
	return l->queue->poll_ms;
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
	heap_set(&core->heap, &l->timer, l->hold_off_ms);
}

bool
lock_must_wait(struct core *core, struct lock *l)
{
	if (core->now_ms >= l->hold_off_ms)
		return false;
	heap_set(&core->heap, &l->timer, l->hold_off_ms);
	return true;
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

bool
lock_run_is_over(const struct core *core, const struct lock *l)
{
	const struct core_namespace *t = &l->ns->settings;

	return !t->no_foreign_waiters &&
	    (l->run >= t->handover_max ||
		core->now_ms - l->run_started_ms >= t->lease_ms);
}

/* ---- wishes and leftovers --------------------------------------------- */

/* Is it shared within another limit than this request's? */
bool
lock_has_other_limit(const struct lock *l, const struct request *r)
{
	return r->terms.mode == LOCK_MODE_SHARED && l->shared_seen &&
	    l->limit_seen != r->terms.limit;
}

/* Which wish tells the others what the first in line waits for: one for
 * another limit can only wait for all of them to leave. */
enum lock_mode
lock_wish_mode(const struct lock *l)
{
	const struct request *r = l->queue;

	if (r == NULL)
		return LOCK_MODE_NONE;
	return lock_has_other_limit(l, r) ? LOCK_MODE_EXCLUSIVE :
	    r->terms.mode;
}

bool
lock_rid_of_stale_wish(struct core *core, struct lock *l)
{
	return l->submission == NULL && l->leftovers != NULL &&
	    !ident_is_none(l->leftovers->stale_wish) &&
	    !lock_must_wait(core, l) &&
	    submission_send(core, l, OPERATION_UNWANT, NULL);
}

static bool
lock_clean(struct core *core, struct lock *l)
{
	const struct leftovers *left = l->leftovers;
	bool stray = left != NULL && !ident_is_none(left->own_wish);

	/* A session that is gone takes its wishes with it. */
	if (l->ns->session == NULL)
		l->wanted = LOCK_MODE_NONE;
	if (left != NULL && !ident_is_none(left->orphan.grant))
		return submission_send(core, l, OPERATION_RELEASE, NULL);
	if (stray || (l->wanted != LOCK_MODE_NONE &&
	    l->wanted != lock_wish_mode(l)))
		return submission_send(core, l, OPERATION_UNWANT, NULL);
	if (l->mark_due != MARK_NONE)
		return submission_send(core, l, OPERATION_MARK, NULL);
	if (l->read_due || watch_wants_look(l))
		return submission_send(core, l, OPERATION_READ, NULL);
	return false;
}

/* A wish costs a write or two: not for a try or a very short wait. */
static bool
lock_should_wish(const struct core *core, const struct lock *l)
{
	const struct core_namespace *t = &l->ns->settings;

	return !t->no_foreign_waiters && t->life == LOCK_LIFE_SESSION &&
	    l->wanted == LOCK_MODE_NONE && !l->queue->overdue &&
	    l->queue->deadline_ms - core->now_ms > t->poll_ms;
}

/* ---- seeking a grant -------------------------------------------------- */

/* Look, if it is time to; or then. */
void
lock_poll(struct core *core, struct lock *l)
{
	if (core->now_ms >= l->due_ms)
		(void)submission_send(core, l, OPERATION_READ, NULL);
	else
		heap_set(&core->heap, &l->timer, l->due_ms);
}

/* Is it shared as this request would share it? */
static bool
lock_is_shared_alike(const struct lock *l, const struct request *r)
{
	return r->terms.mode == LOCK_MODE_SHARED && l->shared_seen &&
	    l->limit_seen == r->terms.limit;
}

/* For how many is there room in the record? */
static size_t
lock_room(const struct request *r)
{
	return r->terms.limit != 0 ? r->terms.limit : HOLDERS_MAX;
}

/* Is there room beside those that were seen to share it? */
bool
lock_is_open(const struct lock *l, const struct request *r)
{
	const struct sight *sight = l->sight;

	return sight != NULL && lock_is_shared_alike(l, r) && !l->hindered &&
	    sight->n_holders < lock_room(r);
}

/* It is full, and not all who hold it live. */
static bool
lock_may_drop(const struct lock *l)
{
	const struct request *r = l->queue;

	return lock_is_shared_alike(l, r) &&
	    l->sight->n_holders >= lock_room(r) && record_dead(l, 1, NULL) > 0;
}

/* Others hold it. */
static void
lock_contend(struct core *core, struct lock *l)
{
	bool dead = l->sight->blocked_on == NULL && record_block(core, l);
	bool open = lock_is_open(l, l->queue) && !l->refused;

	/* Nobody joins while any wish for exclusive use stands. */
	if (open && !dead && lock_rid_of_stale_wish(core, l))
		return;
	if (dead || open) {
		(void)submission_send(core, l, OPERATION_ACQUIRE, NULL);
		return;
	}
	if (lock_may_drop(l)) {
		(void)submission_send(core, l, OPERATION_RELEASE, NULL);
		return;
	}
	if (lock_should_wish(core, l)) {
		(void)submission_send(core, l, OPERATION_WANT, NULL);
		return;
	}
	lock_poll(core, l);
}

/* Can one more grant of ours stand beside those that share it, for this one? Of
 * a semaphore; or a fail-closed one; or since nothing new is given under a
 * session that retires. */
bool
lock_may_add(const struct lock *l, const struct request *r)
{
	const struct grant *g;

	LL_FOREACH(l->grants, g)
	{
		if (g->mode != LOCK_MODE_SHARED || (grant_is_common(g) &&
		    !r->terms.fail_closed &&
		    (g->session == NULL || grant_is_usable(g))))
			return false;
	}
	return true;
}

/* Would one more grant help the first in line? Beside others of ours only if
 * it is one more of a semaphore's. */
static bool
lock_needs_grant(const struct core *core, const struct lock *l)
{
	const struct request *r = l->queue;
	const struct grant *g;
	uint32_t n = 0;

	if (r == NULL || joint_is_asked(r))
		return false;
	LL_FOREACH(l->grants, g)
	{
		n++;
		if (g->state != GRANT_HELD || g->mode != r->terms.mode ||
		    g->limit != r->terms.limit || !grant_is_taken(core, g))
			return false;
	}
	return n == 0 || (r->terms.limit == 0 ? lock_may_add(l, r) :
	    n < r->terms.limit);
}

/* Who has what is here need not watch the others. */
static void
lock_look_away(struct lock *l)
{
	if (l->grants == NULL || l->sight == NULL)
		return;
	record_forget_sight(l);
	l->view = VIEW_NEW;
}

/* What only a lock needs of which nothing here is exclusive. */
static void
lock_seek(struct core *core, struct lock *l)
{
	/* Who has gone by then needs no mark. */
	if (l->queue == NULL && core->now_ms < l->hold_off_ms)
		l->mark_due = MARK_NONE;
	if (l->submission != NULL || lock_must_wait(core, l) ||
	    lock_clean(core, l))
		return;
	if (!lock_needs_grant(core, l)) {
		lock_look_away(l);
		return;
	}
	if (l->ns->settings.life == LOCK_LIFE_SESSION &&
	    !session_is_good(core, l->ns->session))
		return;
	if (core->now_ms < l->back_ms) {
		heap_set(&core->heap, &l->timer, l->back_ms);
		return;
	}
	switch (l->view) {
	case VIEW_NEW:
	case VIEW_FREE:
		if (lock_rid_of_stale_wish(core, l))
			return;
		if (l->hindered)
			lock_poll(core, l);
		else if (l->queue->only_if_exists && !l->queue->exists)
			(void)submission_send(core, l, OPERATION_READ, NULL);
		else if (!together_send(core, l))
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

/* ---- all of it -------------------------------------------------------- */

/* One more has it by this grant. */
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

	while (l->queue != NULL && !joint_is_due(l->queue) &&
	    (g = lock_find_gift(core, l)) != NULL) {
		enum keep keep = keep_look(core, g, l->queue);

		if (keep == KEEP_LATER)
			return;
		if (keep == KEEP_READY) {
			queue_grant(core, g);
			lock_gave(g);
		}
	}
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
 * lock: it is dropped, or has something due (joint.c). What follows from that
 * is seen then. */
static bool
lock_is_put_off(const struct lock *l)
{
	return l->queue != NULL &&
	    (l->queue->client->leaving || joint_is_due(l->queue));
}

void
lock_advance(struct core *core, struct lock *l)
{
	struct grant *g, *next;

	if (lock_is_put_off(l))
		return;
	LL_FOREACH_SAFE(l->grants, g, next)
	{
		keep_advance(core, g);
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
		refresh_advance(core, g);
	}
	if (lock_may_seek(l))
		lock_seek(core, l);
	lock_await_gaps(core, l);
	watch_touch(core, l);
	lock_check(core, l);
	lock_free_if_unused(core, l);
}

/* A session of ours is lost, and all that was granted under it. */
void
lock_lose(struct core *core, struct lock *l, const struct session *s,
    enum core_loss loss)
{
	struct grant *g, *next;

	LL_FOREACH_SAFE(l->grants, g, next)
	{
		if (g->session == s)
			grant_lose(core, g, loss);
	}
	lock_advance(core, l);
}

void
lock_timer(struct core *core, struct lock *l)
{
	lock_advance(core, l);
}

/* A grant has no holder any more: the next one, or nobody. */
void
lock_release(struct core *core, struct lock *l)
{
	l->due_ms = core->now_ms + l->ns->settings.idle_ms;
	lock_advance(core, l);
}

void
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
	    l->queue->queue_previous->place - l->queue->place + 1 ==
	    l->n_waiting);
}

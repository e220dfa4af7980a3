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
#include "core/state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

struct key
lock_key(const struct lock *l)
{
	return (struct key){ l->key, l->hh.keylen };
}

struct lock *
lock_find(const struct namespace *ns, struct key key)
{
	struct lock *l;

	HASH_FIND(hh, ns->locks, key.bytes, (unsigned)key.length, l);
	return l;
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
	memcpy(l->key, key.bytes, key.length);
	HASH_ADD_KEYPTR(hh, ns->locks, l->key, (unsigned)key.length, l);
	if (l->hh.tbl == NULL) {
		heap_release(&core->heap, &l->timer);
		free(l);
		return DDBLOCK_E_NOMEM;
	}
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
	    l->submission != NULL || l->read_due ||
	    l->wanted != LOCK_MODE_NONE || lock_is_littered(l))
		return;
	record_forget_sight(l);
	free(l->leftovers);
	HASH_DEL(l->ns->locks, l);
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

/* No store operation for this lock for (about) @period_ms, and none before what
 * was said earlier: that may be the gap which a loss leaves its holder. */
void
lock_hold_off(struct core *core, struct lock *l, uint64_t period_ms)
{
	uint64_t until_ms =
	    core->now_ms + random_jitter(&core->random, period_ms);

	if (until_ms > l->hold_off_ms)
		l->hold_off_ms = until_ms;
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
		const struct observation *o = observe_find(l->ns, h->session);

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

	return !t->host_only &&
	    (l->run >= t->handover_max ||
		core->now_ms - l->run_started_ms >= t->lease_ms);
}

/* ---- wishes and leftovers --------------------------------------------- */

/* Is it shared within another limit than this request's? */
bool
lock_has_other_limit(const struct lock *l, const struct request *r)
{
	return r->mode == LOCK_MODE_SHARED && l->shared_seen &&
	    l->limit_seen != r->limit;
}

/* Which wish tells the others what the first in line waits for: one for
 * another limit can only wait for all of them to leave. */
enum lock_mode
lock_wish_mode(const struct lock *l)
{
	const struct request *r = l->queue;

	if (r == NULL)
		return LOCK_MODE_NONE;
	return lock_has_other_limit(l, r) ? LOCK_MODE_EXCLUSIVE : r->mode;
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
	if (l->read_due)
		return submission_send(core, l, OPERATION_READ, NULL);
	return false;
}

/* A wish costs a write or two: not for a try or a very short wait. */
static bool
lock_should_wish(const struct core *core, const struct lock *l)
{
	const struct core_namespace *t = &l->ns->settings;

	return !t->host_only && l->wanted == LOCK_MODE_NONE &&
	    !l->queue->overdue &&
	    l->queue->deadline_ms - core->now_ms > t->poll_ms;
}

/* ---- seeking a grant -------------------------------------------------- */

static void
lock_poll(struct core *core, struct lock *l)
{
	if (core->now_ms >= l->due_ms)
		(void)submission_send(core, l, OPERATION_READ, NULL);
	else
		heap_set(&core->heap, &l->timer, l->due_ms);
}

/* Is there room beside those that were seen to share it? */
bool
lock_is_open(const struct lock *l, const struct request *r)
{
	const struct sight *sight = l->sight;

	return sight != NULL && r->mode == LOCK_MODE_SHARED &&
	    l->shared_seen && l->limit_seen == r->limit && !l->hindered &&
	    (r->limit == 0 || sight->n_holders < r->limit);
}

/* A semaphore is full, and not all who hold it live. */
static bool
lock_may_drop(const struct lock *l)
{
	const struct request *r = l->queue;

	return r->mode == LOCK_MODE_SHARED && l->shared_seen &&
	    l->limit_seen == r->limit && r->limit > 0 &&
	    l->sight->n_holders >= r->limit && record_dead(l, NULL) > 0;
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

/* Can one more grant of ours stand beside those that share it? Of a semaphore;
 * or since nothing new is given under a session that retires. */
bool
lock_may_add(const struct lock *l)
{
	const struct grant *g;

	LL_FOREACH(l->grants, g)
	{
		if (g->mode != LOCK_MODE_SHARED || (g->limit == 0 &&
		    (g->session == NULL || !g->session->retiring)))
			return false;
	}
	return true;
}

/* Would one more grant help the first in line? Beside others of ours only if
 * it is one more of a semaphore's. */
static bool
lock_needs_grant(const struct lock *l)
{
	const struct request *r = l->queue;
	const struct grant *g;
	uint32_t n = 0;

	if (r == NULL)
		return false;
	LL_FOREACH(l->grants, g)
	{
		n++;
		if (g->state != GRANT_HELD || g->mode != r->mode ||
		    g->limit != r->limit || g->holds == NULL)
			return false;
	}
	return n == 0 || (r->limit == 0 ? lock_may_add(l) : n < r->limit);
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
	if (l->submission != NULL || lock_must_wait(core, l) ||
	    lock_clean(core, l))
		return;
	if (!lock_needs_grant(l)) {
		lock_look_away(l);
		return;
	}
	if (!session_is_good(core, l->ns->session))
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
		else
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

/* Who is first in line gets it, and the next, as long as they fit. */
static void
lock_give(struct core *core, struct lock *l)
{
	struct grant *g = l->grants;

	while (g != NULL && l->queue != NULL) {
		if (!grant_can_give(core, g, l->queue)) {
			g = g->next;
			continue;
		}
		queue_grant(core, g);
		if (l->run < UINT16_MAX)
			l->run++;
		if (g->passed)
			l->ns->handed_over++;
		g->passed = true;
		/* The next in line may fit an earlier one. */
		g = l->grants;
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

void
lock_advance(struct core *core, struct lock *l)
{
	struct grant *g, *next;

	lock_give(core, l);
	LL_FOREACH_SAFE(l->grants, g, next)
	{
		grant_advance(core, g);
	}
	if (lock_may_seek(l))
		lock_seek(core, l);
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

	LL_FOREACH(l->grants, g)
	{
		grant_check(core, g);
		assert(g->mode == l->grants->mode &&
		    g->limit == l->grants->limit);
		assert(g->next == NULL || g->limit > 0 ||
		    g->session == NULL || g->session->retiring);
	}
	assert((l->view == VIEW_FOREIGN) == (l->sight != NULL));
	assert((l->queue == NULL) == (l->n_waiting == 0));
	assert(l->queue == NULL || l->gaps ||
	    l->queue->queue_previous->place - l->queue->place + 1 ==
	    l->n_waiting);
}

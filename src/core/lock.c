/*
 * One lock: what of ours is in its record, and what to do next.
 *
 *             acquire sent         done
 *      NONE ---------------> ASKING ---> HELD <--+ hand-over: the next
 *       ^ ^                   |  |        |  +---+ local client, the
 *       | +---- conflict -----+  |unknown |        next token
 *       |       refused          v        | nobody here wants it,
 *       |                      UNSURE     | or others' turn
 *       |      a read shows      |        v
 *       +------- it is not ------+     RELEASING --+ unknown: a read
 *       |        there      it is|there   |   ^----+ settles it
 *       |                        +-> HELD |
 *       +---------------------------------+ done
 *
 *    From every state, when the session is lost, or when the record shows
 *    that somebody took our grant out: NONE, and the client is told.
 *
 *  1. A client holds the lock only in HELD, under a session that is good.
 *  2. One operation per lock is under way at a time (l->submission).
 *  3. A grant, once a release of it was submitted, is never given to anybody.
 *  4. UNSURE is neither failure nor success: only a consistent read tells.
 *  5. A token is given once; a new one comes from a block that is already in
 *     the record.
 *  6. After handover_max local grants or one lease, a fresh record decides: if
 *     another host wishes for the lock, it is released and the local queue
 *     stands back for two poll periods.
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
	if (l->state != LOCK_NONE || l->queue != NULL || l->references > 0 ||
	    l->submission != NULL || l->releasing != NULL || l->read_due ||
	    l->wanted || lock_is_littered(l))
		return;
	record_forget_sight(l);
	free(l->leftovers);
	HASH_DEL(l->ns->locks, l);
	heap_release(&core->heap, &l->timer);
	core->n_locks--;
	free(l);
}

void
lock_enter(struct core *core, struct lock *l, enum lock_state state,
    struct session *session)
{
	struct session *old = l->session;

	l->state = state;
	if (state == LOCK_NONE)
		session = NULL;
	if (old == session)
		return;
	if (old != NULL) {
		DL_DELETE2(old->locks, l, session_previous, session_next);
		old->n_locks--;
	}
	if (session != NULL) {
		DL_APPEND2(session->locks, l, session_previous, session_next);
		session->n_locks++;
	}
	l->session = session;
	if (old != NULL)
		session_unused(core, old);
}

uint64_t
lock_poll_ms(const struct lock *l)
{
	uint64_t poll_ms = l->ns->settings.poll_ms;

	if (l->queue == NULL || l->queue->poll_ms == 0)
		return poll_ms;
	/* A host that wishes polls at the default period or faster. */
	if (l->wanted && l->queue->poll_ms > poll_ms)
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

static bool
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

/* ---- nothing of ours in the record ---- */

static bool
lock_clean(struct core *core, struct lock *l)
{
	const struct leftovers *left = l->leftovers;
	bool stray = left != NULL && !ident_is_none(left->own_wish);

	/* A session that is gone takes its wishes with it. */
	if (l->ns->session == NULL)
		l->wanted = false;
	if (left != NULL && !ident_is_none(left->orphan.grant))
		return transfer_submit(core, l, OPERATION_RELEASE);
	if (stray || (l->wanted && l->queue == NULL))
		return transfer_submit(core, l, OPERATION_UNWANT);
	if (l->read_due)
		return transfer_submit(core, l, OPERATION_READ);
	return false;
}

static void
lock_poll(struct core *core, struct lock *l)
{
	if (core->now_ms >= l->due_ms)
		(void)transfer_submit(core, l, OPERATION_READ);
	else
		heap_set(&core->heap, &l->timer, l->due_ms);
}

/* A wish costs a write or two: not for a try or a very short wait. */
static bool
lock_should_wish(const struct core *core, const struct lock *l)
{
	const struct core_namespace *t = &l->ns->settings;

	return !t->host_only && !l->wanted && !l->queue->overdue &&
	    l->queue->deadline_ms - core->now_ms > t->poll_ms;
}

static void
lock_contend(struct core *core, struct lock *l)
{
	if (l->sight->blocked_on == NULL && record_block(core, l)) {
		(void)transfer_submit(core, l, OPERATION_ACQUIRE);
		return;
	}
	if (lock_should_wish(core, l)) {
		(void)transfer_submit(core, l, OPERATION_WANT);
		return;
	}
	lock_poll(core, l);
}

static void
lock_advance_none(struct core *core, struct lock *l)
{
	if (l->submission != NULL || lock_must_wait(core, l) ||
	    lock_clean(core, l))
		return;
	if (l->queue == NULL || !session_is_good(core, l->ns->session))
		return;
	switch (l->view) {
	case VIEW_NEW:
	case VIEW_FREE:
		(void)transfer_submit(core, l, OPERATION_ACQUIRE);
		return;
	case VIEW_STALE:
		lock_poll(core, l);
		return;
	case VIEW_FOREIGN:
		lock_contend(core, l);
		return;
	}
}

/* ---- held ---- */

/* The request that asked for the release gets its answer. */
void
lock_released(struct core *core, struct lock *l, int code, int cause,
    const char *text)
{
	if (l->releasing != NULL)
		request_reply(core, l->releasing, code, cause, text);
}

static bool
lock_run_is_over(const struct core *core, const struct lock *l)
{
	const struct core_namespace *t = &l->ns->settings;

	return !t->host_only &&
	    (l->run >= t->handover_max ||
		core->now_ms - l->run_started_ms >= t->lease_ms);
}

static bool
lock_may_grant(const struct core *core, const struct lock *l)
{
	return !l->session->retiring && l->token_next <= l->token_last &&
	    !lock_run_is_over(core, l);
}

static void
lock_grant(struct core *core, struct lock *l)
{
	while (l->hold == NULL && l->queue != NULL &&
	    lock_may_grant(core, l)) {
		queue_grant(core, l);
		if (l->run < UINT16_MAX)
			l->run++;
		if (l->passed)
			l->ns->handed_over++;
		l->passed = true;
	}
}

static void
lock_give_back(struct core *core, struct lock *l)
{
	if (l->submission == NULL && !lock_must_wait(core, l))
		(void)transfer_submit(core, l, OPERATION_RELEASE);
}

/* Somebody waits here, but the run is over or the block is used up. */
static void
lock_renew_run(struct core *core, struct lock *l)
{
	bool yield = lock_run_is_over(core, l) && l->wish_seen;

	if (yield || l->session->retiring) {
		l->stand_back = yield;
		lock_give_back(core, l);
		return;
	}
	lock_released(core, l, 0, 0, NULL);
	if (l->submission != NULL || lock_must_wait(core, l))
		return;
	if (l->token_next > l->token_last)
		(void)transfer_submit(core, l, OPERATION_EXTEND);
	else
		(void)transfer_submit(core, l, OPERATION_READ);
}

/* Nobody here wants it. Where no other host can, it is kept for a while. */
static void
lock_idle(struct core *core, struct lock *l)
{
	bool keep = l->ns->settings.idle_ms > 0 && !l->session->retiring &&
	    !core->stopping;

	if (keep)
		lock_released(core, l, 0, 0, NULL);
	if (keep && core->now_ms < l->due_ms)
		heap_set(&core->heap, &l->timer, l->due_ms);
	else
		lock_give_back(core, l);
}

/* While a client has it and others wait: tokens for them beforehand. */
static void
lock_prefetch(struct core *core, struct lock *l)
{
	uint64_t left = l->token_last + 1 - l->token_next;

	if (l->submission != NULL || l->queue == NULL ||
	    left > l->tokens_asked / 4 ||
	    (lock_run_is_over(core, l) && l->wish_seen) ||
	    lock_must_wait(core, l))
		return;
	(void)transfer_submit(core, l, OPERATION_EXTEND);
}

static bool
lock_rid_of_stale_wish(struct core *core, struct lock *l)
{
	return l->submission == NULL && l->leftovers != NULL &&
	    !ident_is_none(l->leftovers->stale_wish) &&
	    !lock_must_wait(core, l) &&
	    transfer_submit(core, l, OPERATION_UNWANT);
}

static void
lock_advance_held(struct core *core, struct lock *l)
{
	if (!session_is_good(core, l->session))
		return; /* its timer says so to all of them */
	lock_grant(core, l);
	if (l->hold != NULL) {
		lock_released(core, l, 0, 0, NULL);
		if (!lock_rid_of_stale_wish(core, l))
			lock_prefetch(core, l);
	} else if (l->queue != NULL) {
		lock_renew_run(core, l);
	} else {
		lock_idle(core, l);
	}
}

/* ---- all states ---- */

static void
lock_settle(struct core *core, struct lock *l)
{
	if (l->submission != NULL || lock_must_wait(core, l))
		return;
	if (l->state == LOCK_UNSURE || l->unsettled)
		(void)transfer_submit(core, l, OPERATION_READ);
	else
		(void)transfer_submit(core, l, OPERATION_RELEASE);
}

void
lock_advance(struct core *core, struct lock *l)
{
	switch (l->state) {
	case LOCK_NONE:
		lock_advance_none(core, l);
		break;
	case LOCK_HELD:
		lock_advance_held(core, l);
		break;
	case LOCK_UNSURE:
	case LOCK_RELEASING:
		lock_settle(core, l);
		break;
	case LOCK_ASKING:
		break;
	}
	lock_check(core, l);
	lock_free_if_unused(core, l);
}

void
lock_timer(struct core *core, struct lock *l)
{
	lock_advance(core, l);
}

/* The client's hold has ended (l->hold is NULL): the next one, or nobody. */
void
lock_release(struct core *core, struct lock *l)
{
	assert(l->state == LOCK_HELD && l->hold == NULL);
	l->due_ms = core->now_ms + l->ns->settings.idle_ms;
	lock_advance(core, l);
}

/* The record shows our grant alone: the token in it is ours. */
void
lock_adopt(struct core *core, struct lock *l, const struct lock_record *record)
{
	if (record->n_holders == 1 && record->token > l->token_last)
		l->token_last = record->token;
	if (!l->wish_seen) {
		l->run = 0;
		l->run_started_ms = core->now_ms;
	}
}

/*
 * The grant is ours no more, or no longer protected by a lease. What is under
 * way for it is dealt with when its outcome comes (transfer.c).
 */
void
lock_lose(struct core *core, struct lock *l, enum core_loss loss)
{
	struct hold *h = l->hold;

	if (h != NULL) {
		hold_lose(core, h, loss);
		l->hold = NULL;
	}
	lock_released(core, l, DDBLOCK_E_LOCK_LOST, 0, NULL);
	if ((l->state == LOCK_ASKING || l->state == LOCK_RELEASING) &&
	    l->submission != NULL) {
		lock_enter(core, l, l->state, NULL);
		return;
	}
	lock_enter(core, l, LOCK_NONE, NULL);
	l->view = VIEW_STALE;
	l->due_ms = core->now_ms;
	lock_advance(core, l);
}

void
lock_check(const struct core *core, const struct lock *l)
{
	bool ours = l->state != LOCK_NONE;

	assert(ours || l->session == NULL);
	assert(l->hold == NULL || l->state == LOCK_HELD);
	assert(l->hold == NULL || (!l->hold->lost && l->hold->lock == l));
	assert(l->state != LOCK_HELD || l->session->state == SESSION_VALID);
	assert(l->state != LOCK_HELD || l->token_next <= l->token_last + 1);
	assert(l->state != LOCK_ASKING || l->submission != NULL);
	assert(l->state == LOCK_HELD || l->state == LOCK_RELEASING ||
	    l->releasing == NULL);
	assert((l->view == VIEW_FOREIGN && !ours) || l->sight == NULL);
	assert((l->queue == NULL) == (l->n_waiting == 0));
	assert(l->queue == NULL || l->gaps ||
	    l->queue->queue_previous->place - l->queue->place + 1 ==
	    l->n_waiting);
	assert(l->hold == NULL || l->hold->token < l->token_next);
	(void)core;
}

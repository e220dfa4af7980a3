/*
 * One element of ours in a lock's record, from the request for it to the end
 * of its removal. Exclusive use has one at most, sharers of a host have one
 * for all of them, and each local holder of a semaphore has its own.
 *
 *             acquire sent         done
 *      NONE ---------------> ASKING ---> HELD <--+ hand-over: the next
 *       ^ ^                   |  |        |  +---+ local client, with the
 *       | +---- conflict -----+  |unknown |        next token; or one more
 *       |       refused          v        |        sharer
 *       |                      UNSURE     | nobody here wants it,
 *       |      a read shows      |        v or others' turn
 *       +------- it is not ------+     RELEASING --+ unknown: a read
 *       |        there      it is|there   |   ^----+ settles it
 *       |                        +-> HELD |
 *       +---------------------------------+ done
 *
 *    From every state, when the session is lost, or when the record shows
 *    that somebody took our grant out: NONE, and the clients are told.
 *
 *  1. A client holds the lock only in HELD, under a session that is good.
 *  2. A grant, once a release of it was submitted, is never given to anybody.
 *  3. UNSURE is neither failure nor success: only a consistent read tells.
 *  4. A token of exclusive use is given once; a new one comes from a block
 *     that is already in the record. Sharers have the token of their grant.
 */
#include "core/state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

/* NULL: no memory. It is in the lock's list, in NONE, until grant_enter(). */
struct grant *
grant_new(struct core *core, struct lock *l)
{
	struct grant *g = &l->first;

	if (g->state != GRANT_NONE) {
		g = calloc(1, sizeof(*g));
		if (g == NULL)
			return NULL;
	}
	*g = (struct grant){
		.lock = l,
		.id = random_ident(&core->random),
	};
	LL_APPEND(l->grants, g);
	return g;
}

struct grant *
grant_find(const struct lock *l, struct ident id)
{
	struct grant *g;

	LL_FOREACH(l->grants, g)
	{
		if (ident_equal(g->id, id))
			return g;
	}
	return NULL;
}

/* NONE is the end of @g. A state without a session: it was lost while a write
 * for it is under way. */
void
grant_enter(struct core *core, struct grant *g, enum grant_state state,
    struct session *session)
{
	struct session *old = g->session;

	g->state = state;
	if (old != NULL) {
		DL_DELETE2(old->grants, g, session_previous, session_next);
		old->n_grants--;
	}
	if (session != NULL) {
		DL_APPEND2(session->grants, g, session_previous, session_next);
		session->n_grants++;
	}
	g->session = session;
	if (state == GRANT_NONE) {
		assert(g->holds == NULL && g->releasing == NULL);
		LL_DELETE(g->lock->grants, g);
		if (g != &g->lock->first)
			free(g);
	}
	if (old != NULL)
		session_unused(core, old);
}

/* ---- holds ------------------------------------------------------------ */

void
grant_add_hold(struct grant *g, struct hold *h)
{
	h->lock = g->lock;
	h->grant = g;
	DL_APPEND2(g->holds, h, grant_previous, grant_next);
	g->lock->n_holds++;
}

void
grant_drop_hold(struct hold *h)
{
	DL_DELETE2(h->grant->holds, h, grant_previous, grant_next);
	assert(h->lock->n_holds > 0);
	h->lock->n_holds--;
	h->grant = NULL;
}

/* Could this request hold the lock by this grant, now or after its holder? */
static bool
grant_suits(const struct grant *g, const struct request *r)
{
	return g->mode == r->mode && g->limit == r->limit;
}

static bool
grant_is_common(const struct grant *g)
{
	return g->mode == LOCK_MODE_SHARED && g->limit == 0;
}

/* Could it, beside those who hold it? */
bool
grant_fits(const struct grant *g, const struct request *r)
{
	return grant_suits(g, r) && (g->holds == NULL || grant_is_common(g));
}

/* Can the first in line hold the lock by this grant at once? */
bool
grant_can_give(const struct core *core, const struct grant *g,
    const struct request *r)
{
	bool token = g->mode == LOCK_MODE_SHARED ||
	    g->token_next <= g->token_last;

	return g->state == GRANT_HELD && session_is_good(core, g->session) &&
	    !g->session->retiring && token && grant_fits(g, r) &&
	    !lock_run_is_over(core, g->lock);
}

/* The request that asked for the release gets its answer. */
void
grant_released(struct core *core, struct grant *g, int code, int cause,
    const char *text)
{
	if (g->releasing != NULL)
		request_reply(core, g->releasing, code, cause, text);
}

/*
 * The grant is ours no more, or no longer protected by a lease. What is under
 * way for it is dealt with when its outcome comes (transfer.c). The caller
 * advances the lock, once this was done to each grant that it befell.
 */
void
grant_lose(struct core *core, struct grant *g, enum core_loss loss)
{
	struct lock *l = g->lock;
	const struct submission *s = l->submission;

	while (g->holds != NULL) {
		struct hold *h = g->holds;

		hold_lose(core, h, loss);
		grant_drop_hold(h);
	}
	grant_released(core, g, DDBLOCK_E_LOCK_LOST, 0, NULL);
	if ((g->state == GRANT_ASKING || g->state == GRANT_RELEASING) &&
	    s != NULL && ident_equal(s->holder.grant, g->id)) {
		grant_enter(core, g, g->state, NULL);
		return;
	}
	grant_enter(core, g, GRANT_NONE, NULL);
	record_forget_sight(l);
	l->view = VIEW_STALE;
	l->due_ms = core->now_ms;
}

/* The record shows our grant: if it is alone, the token there is ours. */
void
grant_adopt(struct core *core, struct grant *g,
    const struct lock_record *record)
{
	struct lock *l = g->lock;

	if (g->mode == LOCK_MODE_EXCLUSIVE && record->n_holders == 1 &&
	    record->token > g->token_last)
		g->token_last = record->token;
	if (!l->wish_seen) {
		l->run = 0;
		l->run_started_ms = core->now_ms;
	}
}

/* ---- what to do next -------------------------------------------------- */

static void
grant_give_back(struct core *core, struct grant *g)
{
	struct lock *l = g->lock;

	if (l->submission == NULL && !lock_must_wait(core, l))
		(void)submission_send(core, l, OPERATION_RELEASE, g);
}

/* Another host wishes for it alone, and somebody here would join: when the last
 * of those who have it has left, or that host wishes no more. */
static void
grant_watch_wish(struct core *core, struct grant *g)
{
	struct lock *l = g->lock;

	if (l->submission != NULL || lock_must_wait(core, l))
		return;
	if (core->now_ms >= l->due_ms)
		(void)submission_send(core, l, OPERATION_READ, NULL);
	else
		heap_set(&core->heap, &l->timer, l->due_ms);
}

/* Somebody waits for it, but the run is over or the block is used up. */
static void
grant_renew_run(struct core *core, struct grant *g)
{
	struct lock *l = g->lock;
	bool yield = lock_run_is_over(core, l) && l->wish_seen;

	if (yield || g->session->retiring) {
		if (g->holds != NULL) {
			grant_watch_wish(core, g);
			return;
		}
		l->stand_back = yield;
		grant_give_back(core, g);
		return;
	}
	grant_released(core, g, 0, 0, NULL);
	if (l->submission != NULL || lock_must_wait(core, l))
		return;
	if (g->mode == LOCK_MODE_EXCLUSIVE && g->token_next > g->token_last)
		(void)submission_send(core, l, OPERATION_EXTEND, g);
	else
		(void)submission_send(core, l, OPERATION_READ, NULL);
}

/* Nobody here wants it. Where no other host can, it is kept for a while. */
static void
grant_idle(struct core *core, struct grant *g)
{
	struct lock *l = g->lock;
	bool keep = l->ns->settings.idle_ms > 0 && !g->session->retiring &&
	    !core->stopping && l->queue == NULL;

	if (keep)
		grant_released(core, g, 0, 0, NULL);
	if (keep && core->now_ms < l->due_ms)
		heap_set(&core->heap, &l->timer, l->due_ms);
	else
		grant_give_back(core, g);
}

/* While a client has it and others wait: tokens for them beforehand. */
static void
grant_prefetch(struct core *core, struct grant *g)
{
	struct lock *l = g->lock;
	uint64_t left = g->token_last + 1 - g->token_next;

	if (g->mode != LOCK_MODE_EXCLUSIVE || l->submission != NULL ||
	    l->queue == NULL || !grant_suits(g, l->queue) ||
	    left > g->tokens_asked / 4 ||
	    (lock_run_is_over(core, l) && l->wish_seen) ||
	    lock_must_wait(core, l))
		return;
	(void)submission_send(core, l, OPERATION_EXTEND, g);
}

static void
grant_advance_held(struct core *core, struct grant *g)
{
	struct request *r = g->lock->queue;

	if (!session_is_good(core, g->session))
		return; /* its timer says so to all of them */
	if (g->holds != NULL) {
		grant_released(core, g, 0, 0, NULL);
		if (lock_rid_of_stale_wish(core, g->lock))
			return;
		/* It would have joined them. */
		if (r != NULL && grant_fits(g, r))
			grant_renew_run(core, g);
		else
			grant_prefetch(core, g);
	} else if (r != NULL && grant_suits(g, r)) {
		grant_renew_run(core, g);
	} else {
		grant_idle(core, g);
	}
}

static void
grant_settle(struct core *core, struct grant *g)
{
	struct lock *l = g->lock;

	if (l->submission != NULL || lock_must_wait(core, l))
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

void
grant_check(const struct core *core, const struct grant *g)
{
	const struct hold *h;

	assert(g->state != GRANT_NONE);
	assert(g->holds == NULL || g->state == GRANT_HELD);
	assert(g->state != GRANT_HELD || g->session->state == SESSION_VALID);
	assert(g->state != GRANT_ASKING || g->lock->submission != NULL);
	assert(g->state == GRANT_HELD || g->state == GRANT_RELEASING ||
	    g->releasing == NULL);
	assert(g->holds == NULL || g->holds->grant_next == NULL ||
	    grant_is_common(g));
	if (g->mode == LOCK_MODE_EXCLUSIVE) {
		h = g->holds;
		assert(g->limit == 0);
		assert(g->state != GRANT_HELD ||
		    g->token_next <= g->token_last + 1);
		assert(h == NULL || h->token < g->token_next);
	}
	(void)h;
	(void)core;
}

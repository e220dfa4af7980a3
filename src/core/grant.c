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
#include "core/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

/* NULL: no memory. */
struct extras *
grant_extras(struct grant *g)
{
	if (g->extras == NULL)
		g->extras = calloc(1, sizeof(*g->extras));
	return g->extras;
}

/* NULL: it is not being downgraded. */
struct downgrade *
grant_downgrade(const struct grant *g)
{
	return g->extras == NULL ? NULL : g->extras->downgrade;
}

/* What its element says of its session, not when that was lost; what is
 * fail-closed keeps it. */
struct ident
grant_session_id(const struct grant *g)
{
	return g->fail_closed ? g->extras->session : g->session->id;
}

void
grant_free(struct grant *g)
{
	downgrade_free(grant_downgrade(g));
	if (g->extras != NULL)
		free(g->extras->token_text);
	free(g->extras);
	g->extras = NULL;
	if (g != &g->lock->first)
		free(g);
}

/* Where each record has a lease of its own, so has the grant. */
static bool
grant_begin_lease(struct core *core, struct grant *g)
{
	struct session *s;

	if (!refresh_is_per_record(g->lock->ns))
		return true;
	s = refresh_new(core, g->lock, g->id);
	if (s == NULL)
		return false;
	g->session = s;
	DL_APPEND2(s->grants, g, session_previous, session_next);
	s->n_grants++;
	return true;
}

static struct ident
grant_new_id(struct core *core, const struct namespace *ns)
{
	struct ident id = random_ident(&core->random);

	return ns->settings.life == LOCK_LIFE_SESSION ? id :
	    ident_renewable(id);
}

/* NULL: no memory. It is in the lock's list, in NONE, until grant_enter(). */
struct grant *
grant_new(struct core *core, struct lock *l, bool fail_closed)
{
	struct grant *g = &l->first;

	if (g->state != GRANT_NONE) {
		g = calloc(1, sizeof(*g));
		if (g == NULL)
			return NULL;
	}
	*g = (struct grant){
		.lock = l,
		.id = grant_new_id(core, l->ns),
	};
	if ((fail_closed && grant_extras(g) == NULL) ||
	    !grant_begin_lease(core, g)) {
		grant_free(g);
		return NULL;
	}
	LL_APPEND(l->grants, g);
	return g;
}

/* Is this its name, or the one that it may have by now? */
bool
grant_has(const struct grant *g, struct ident id)
{
	return ident_equal(g->id, id) ||
	    (grant_downgrade(g) != NULL &&
		ident_equal(grant_downgrade(g)->id, id));
}

struct grant *
grant_find(const struct lock *l, struct ident id)
{
	struct grant *g;

	LL_FOREACH(l->grants, g)
	{
		if (grant_has(g, id))
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

	if (g->fail_closed)
		closed_enter(core, g, state);
	g->state = state;
	if (old != NULL) {
		DL_DELETE2(old->grants, g, session_previous, session_next);
		old->n_grants--;
	}
	if (session != NULL && !g->fail_closed) {
		DL_APPEND2(session->grants, g, session_previous, session_next);
		session->n_grants++;
	}
	g->session = g->fail_closed ? NULL : session;
	if (state == GRANT_NONE) {
		assert(g->holds == NULL && g->releasing == NULL);
		LL_DELETE(g->lock->grants, g);
		grant_free(g);
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
	h->fail_closed = g->fail_closed;
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

/* Whose client has left, nobody will ask what became of it, unless it lingers
 * or is a process's.
 * (One of several ends with the others; what is only kept for one who asked has
 * no client yet.) */
static void
grant_end_hold(struct core *core, struct hold *h, enum core_loss loss)
{
	hold_lose(core, h, loss);
	grant_drop_hold(h);
	if (hold_joint(h) == NULL && h->client->gone && !linger_keeps(h) &&
	    !process_has(h))
		hold_end(core, h);
}

/* Who had it by @h (NULL: anybody) may be at work for a margin yet; or until
 * its deadline, and a margin, if nobody can tell it. Others may have longer. */
void
grant_leave_gap(struct core *core, struct grant *g, const struct hold *h)
{
	uint64_t gap_ms = core->now_ms + g->lock->ns->settings.margin_ms;

	keep_lose(core, g);
	if (h != NULL && h->terms != NULL && h->terms->working_ms > gap_ms)
		gap_ms = h->terms->working_ms;
	if (gap_ms > g->gap_ms)
		g->gap_ms = gap_ms;
}

/*
 * The hold ends by our own decision, while the lease goes on: the client is
 * told, and what it had is left alone for a margin. The gap is the holder's.
 * The caller advances the lock.
 */
void
grant_lose_hold(struct core *core, struct hold *h, enum core_loss loss)
{
	struct grant *g = h->grant;

	grant_end_hold(core, h, loss);
	grant_leave_gap(core, g, h);
}

/* Does a client have it, or may one that lost it still be working? */
bool
grant_is_taken(const struct core *core, const struct grant *g)
{
	return g->holds != NULL || core->now_ms < g->gap_ms;
}

/* Could this request hold the lock by this grant, now or after its holder? */
static bool
grant_suits(const struct grant *g, const struct request *r)
{
	return g->mode == r->terms.mode && g->limit == r->terms.limit &&
	    g->fail_closed == r->terms.fail_closed;
}

/* Do all clients here that share it have this one? Who is fail-closed may
 * leave, so it has its own. */
bool
grant_is_common(const struct grant *g)
{
	return g->mode == LOCK_MODE_SHARED && g->limit == 0 && !g->fail_closed;
}

/* Could it, beside those who hold it? */
bool
grant_fits(const struct core *core, const struct grant *g,
    const struct request *r)
{
	return grant_suits(g, r) &&
	    (!grant_is_taken(core, g) || grant_is_common(g));
}

/* Which one's renewal tells its holder that the store answers? NULL: none. */
struct session *
grant_session(const struct grant *g)
{
	return g->fail_closed ? g->lock->ns->session : g->session;
}

/* Does nothing but its holder end it now? */
bool
grant_is_good(const struct core *core, const struct grant *g)
{
	return g->fail_closed || session_is_good(core, g->session);
}

/* May anything new be given by it? Not under a session that retires. */
bool
grant_is_usable(const struct grant *g)
{
	return g->fail_closed ||
	    (g->session != NULL && !g->session->retiring);
}

/* Can the first in line hold the lock by this grant at once? Not while its
 * client is leaving: nobody would hear of it, and it might linger. */
bool
grant_can_give(const struct core *core, const struct grant *g,
    const struct request *r)
{
	return !r->client->leaving &&
	    g->state == GRANT_HELD && grant_downgrade(g) == NULL &&
	    grant_is_usable(g) && grant_is_good(core, g) &&
	    grant_has_token(g) &&
	    grant_fits(core, g, r) && !keep_is_owed(g) &&
	    !lock_run_is_over(core, g->lock);
}

/* The request that asked for the release gets its answer, with the last of
 * those that it waits for; what went wrong first is said. */
void
grant_released(struct core *core, struct grant *g, int code, int cause,
    const char *text)
{
	struct request *r = g->releasing;

	if (r == NULL)
		return;
	if (r->released_code == 0) {
		r->released_code = code;
		r->released_cause = cause;
	}
	LL_DELETE2(r->grants, g, releasing_next);
	g->releasing = NULL;
	if (r->grants != NULL)
		return;
	request_reply(core, r, r->released_code, r->released_cause,
	    code == r->released_code ? text : NULL);
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

	while (g->holds != NULL)
		grant_end_hold(core, g->holds, loss);
	grant_released(core, g, DDBLOCK_E_LOCK_LOST, 0, NULL);
	keep_lose(core, g);
	downgrade_end(core, g, DDBLOCK_E_LOCK_LOST, 0, NULL);
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

/*
 * Its own lease is over: its holders are told. What is in the record is theirs
 * for a margin yet, and is released then. The caller advances the lock.
 */
void
grant_expire(struct core *core, struct grant *g)
{
	while (g->holds != NULL)
		grant_end_hold(core, g->holds, CORE_LOSS_EXPIRED);
	grant_released(core, g, DDBLOCK_E_LOCK_LOST, 0, NULL);
	grant_leave_gap(core, g, NULL);
	grant_enter(core, g, GRANT_RELEASING, g->session);
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

	if (l->submission == NULL && !lock_must_wait(core, l))
		lock_poll(core, l);
}

/* Is the record known that an extension follows? In formats without sessions
 * not after one whose answer never came. */
static bool
grant_knows_record(const struct lock *l)
{
	return l->ns->settings.life == LOCK_LIFE_SESSION || l->version != NULL;
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
	bool keep = l->ns->settings.idle_ms > 0 && !g->session->retiring &&
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

	if (l->submission == NULL && !lock_must_wait(core, l))
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
	    l->ns->settings.life != LOCK_LIFE_SESSION || l->queue == NULL ||
	    !grant_suits(g, l->queue) ||
	    left > grant_tokens(g) / 4 ||
	    (lock_run_is_over(core, l) && l->wish_seen))
		return;
	grant_extend(core, g);
}

static void
grant_advance_held(struct core *core, struct grant *g)
{
	struct request *r = g->lock->queue;

	if (!grant_is_good(core, g))
		return; /* its timer says so to all of them */
	if (keep_is_owed(g))
		return; /* see keep_advance() */
	if (grant_downgrade(g) != NULL) {
		downgrade_advance(core, g);
		return;
	}
	if (level_lacks(g) > 0) {
		/* It is told when the record has the token that is told. */
		grant_extend(core, g);
	} else if (g->holds != NULL) {
		grant_released(core, g, 0, 0, NULL);
		if (lock_rid_of_stale_wish(core, g->lock))
			return;
		/* It would have joined them. */
		if (r != NULL && grant_fits(core, g, r))
			grant_renew_run(core, g);
		else
			grant_prefetch(core, g);
	} else if (grant_is_taken(core, g)) {
		return; /* lock_await_gaps() */
	} else if (g->fail_closed) {
		/* It is nobody's: were this daemon to die now, nothing else
		 * would end it. Who would have had it here next stands back:
		 * nobody has looked whether others wish for it. */
		g->lock->stand_back = r != NULL && grant_suits(g, r) &&
		    !g->lock->ns->settings.no_foreign_waiters;
		grant_give_back(core, g);
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

	if (l->submission != NULL || core->now_ms < g->gap_ms ||
	    lock_must_wait(core, l))
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
	assert(g->state != GRANT_HELD || g->fail_closed ||
	    g->session->state == SESSION_VALID);
	assert(g->state == GRANT_HELD || g->extras == NULL ||
	    g->extras->changing == NULL);
	assert(grant_downgrade(g) == NULL || (g->state == GRANT_HELD &&
	    g->mode == LOCK_MODE_EXCLUSIVE));
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
		assert(h == NULL || h->token < g->token_next ||
		    h->token == 0);
	}
	if (g->holds != NULL)
		terms_check_hold(core, g->holds);
}

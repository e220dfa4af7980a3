/*
 * Requests that wait for a lock: first come, first served, one queue per key.
 *
 * A request whose time is up is answered, with one exception: if nothing is
 * known yet of the lock because the first question to the store is still under
 * way, the answer is waited for (request->overdue), for as long as one store
 * operation may take. So a try is a wait of zero, and a short wait is never
 * less than a try.
 */
#include "core/state.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

/* At the end. Utlist's first has the last before it. */
static void
queue_join(struct lock *l, struct request *r)
{
	r->lock = l;
	r->place = l->queue == NULL ? 0 : l->queue->queue_previous->place + 1;
	DL_APPEND2(l->queue, r, queue_previous, queue_next);
	l->n_waiting++;
	l->ns->n_waiting++;
}

/* Out of the queue; the caller advances the lock. */
void
queue_leave(struct core *core, struct request *r)
{
	struct lock *l = r->lock;

	assert(l->n_waiting > 0);
	if (r != l->queue && r->queue_next != NULL)
		l->gaps = true;
	DL_DELETE2(l->queue, r, queue_previous, queue_next);
	HASH_DEL(core->waiting, r);
	l->n_waiting--;
	l->ns->n_waiting--;
	if (l->queue == NULL)
		l->gaps = false;
	r->lock = NULL;
}

/*
 * How many are before this one. Places follow each other, so the first one's
 * tells; who leaves the middle makes a gap, and whoever looks next closes all
 * of them at once. So a listing of the queue costs as much as the queue.
 */
uint32_t
queue_ahead(const struct request *r)
{
	struct lock *l = r->lock;
	struct request *each;
	uint32_t place = 0;

	if (l->gaps) {
		DL_FOREACH2(l->queue, each, queue_next)
		{
			each->place = place++;
		}
		l->gaps = false;
	}
	return r->place - l->queue->place;
}

/* Does a grant here wait for this request, the first in line? Perhaps it does
 * so after the look at the record which is due when a run is over. */
static bool
queue_is_served(const struct core *core, const struct lock *l,
    const struct request *r)
{
	const struct grant *g;

	if (l->wish_seen && lock_run_is_over(core, l))
		return false;
	LL_FOREACH(l->grants, g)
	{
		if (g->state == GRANT_HELD && !g->session->retiring &&
		    grant_fits(g, r))
			return true;
	}
	return false;
}

/* Does what clients here hold keep this request, the first in line, from the
 * lock? Not yet, while there may be room for one more of a semaphore's. */
static bool
queue_is_hindered_here(const struct lock *l, const struct request *r)
{
	const struct grant *g;
	uint32_t n = 0;
	bool held = false;

	LL_FOREACH(l->grants, g)
	{
		n++;
		if (g->state != GRANT_HELD)
			return false;
		if (g->holds != NULL)
			held = true;
	}
	return held && (l->grants->mode != r->mode ||
	    l->grants->limit != r->limit ||
	    (r->limit == 0 ? !lock_may_add(l) : n >= r->limit));
}

/* Is it known that this request does not get the lock at once? */
static bool
queue_must_wait(const struct core *core, const struct request *r)
{
	const struct lock *l = r->lock;

	if (l->queue != r)
		return true;
	if (queue_is_served(core, l, r))
		return false;
	if (queue_is_hindered_here(l, r))
		return true;
	if (!lock_may_seek(l))
		return false;
	if (l->view == VIEW_FREE)
		return l->hindered;
	return l->view == VIEW_FOREIGN && !lock_takeover_is_near(core, l) &&
	    !(lock_is_open(l, r) && !l->refused);
}

static int
queue_cause(const struct request *r)
{
	const struct namespace *ns = r->ns;

	if (r->lock->cause != 0)
		return r->lock->cause;
	return ns->session == NULL || ns->session->state != SESSION_VALID ?
	    ns->cause : 0;
}

/* Is the lock known to be shared now, within a limit that this request does
 * not share? Here, or as it was last seen. */
static bool
queue_finds_limit(const struct request *r, uint32_t *ret_limit)
{
	const struct hold *h = lock_first_hold(r->lock);

	if (h == NULL) {
		*ret_limit = r->lock->limit_seen;
		return r->lock->sight != NULL &&
		    lock_has_other_limit(r->lock, r);
	}
	*ret_limit = h->grant->limit;
	return r->mode == LOCK_MODE_SHARED &&
	    h->grant->mode == LOCK_MODE_SHARED && *ret_limit != r->limit;
}

static void
queue_tell_limits(const struct request *r, uint32_t limit, char *text,
    size_t size)
{
	char in_force[32] = "no limit", asked[32] = "none";

	if (limit > 0)
		(void)snprintf(in_force, sizeof(in_force), "limit=%" PRIu32,
		    limit);
	if (r->limit > 0)
		(void)snprintf(asked, sizeof(asked), "limit=%" PRIu32,
		    r->limit);
	(void)snprintf(text, size, "%s is in force, and %s was asked for",
	    in_force, asked);
}

/* Its time is up. */
static void
queue_expire(struct core *core, struct request *r)
{
	bool busy = queue_must_wait(core, r);
	bool try = r->deadline_ms == r->asked_ms;
	int cause = queue_cause(r);
	int code = try ? DDBLOCK_E_LOCK_BUSY : DDBLOCK_E_ACQUIRE_TIMEOUT;
	char limits[OUTCOME_TEXT_MAX];
	const char *text;
	uint32_t limit;

	if (!busy && cause == 0)
		cause = DDBLOCK_E_UNREACHABLE;
	text = cause != 0 && cause == r->ns->cause ? r->ns->text : NULL;
	if (cause == 0 && queue_finds_limit(r, &limit)) {
		if (try)
			code = DDBLOCK_E_WRONG_LIMIT;
		else
			cause = DDBLOCK_E_WRONG_LIMIT;
		queue_tell_limits(r, limit, limits, sizeof(limits));
		text = limits;
	}
	if (r->client->draining && !try)
		code = DDBLOCK_E_CANCELLED;
	if (!busy && try) {
		request_reply(core, r, cause, 0, text);
		return;
	}
	if (busy) {
		struct core_holder_view *view = calloc(1, sizeof(*view));

		/* Without memory the answer is just shorter. */
		if (view != NULL)
			view_lock(core, r->lock, core->now_ms, view);
		r->holder = view;
		r->reply.holder = view;
	}
	request_reply(core, r, code, cause, text);
}

/* Answer every overdue request whose fate is known by now. */
void
queue_review(struct core *core, struct lock *l)
{
	struct request *r, *next;
	bool overdue = false;

	if (!l->overdue)
		return;
	DL_FOREACH_SAFE2(l->queue, r, next, queue_next)
	{
		if (!r->overdue)
			continue;
		if (queue_must_wait(core, r) || l->cause != 0)
			queue_expire(core, r);
		else
			overdue = true;
	}
	l->overdue = overdue;
}

static void
queue_overdue(struct core *core, struct request *r)
{
	r->overdue = true;
	r->lock->overdue = true;
	heap_set(&core->heap, &r->timer,
	    core->now_ms + r->ns->settings.request_ms);
}

void
queue_timer(struct core *core, struct request *r)
{
	struct lock *l = r->lock;

	if (r->reply.verb == CORE_RENEW || r->reply.verb == CORE_RELEASE) {
		request_reply(core, r, DDBLOCK_E_UNREACHABLE, r->ns->cause,
		    r->ns->text);
		return;
	}
	assert(l != NULL);
	if (!r->overdue && !queue_must_wait(core, r)) {
		queue_overdue(core, r);
		return;
	}
	queue_expire(core, r);
	lock_advance(core, l);
}

/* Answer this request now: it was cancelled, or its client only listens. */
void
queue_drain(struct core *core, struct request *r)
{
	struct lock *l = r->lock;

	if (r->client->draining && !queue_must_wait(core, r)) {
		if (!r->overdue)
			queue_overdue(core, r);
		return;
	}
	request_reply(core, r, DDBLOCK_E_CANCELLED, 0, NULL);
	lock_advance(core, l);
}

/* None of these can have the lock, because of @code. */
void
queue_fail(struct core *core, struct lock *l, int code, const char *text)
{
	while (l->queue != NULL)
		request_reply(core, l->queue, code, 0, text);
}

/* The first in line gets the lock: exclusively with the next token of the
 * block, otherwise with the grant's own. */
void
queue_grant(struct core *core, struct grant *g)
{
	struct lock *l = g->lock;
	struct request *r = l->queue;
	struct client *c = r->client;
	struct hold *h = r->hold;
	struct namespace *ns = l->ns;

	assert(grant_can_give(core, g, r));
	r->hold = NULL;
	h->notice.hold = ++core->hold_serial;
	h->notice.client = c->id;
	h->client = c;
	h->token = g->mode == LOCK_MODE_EXCLUSIVE ? g->token_next++ :
	    g->token_last;
	h->since_ms = core->now_ms & HOLD_SINCE_MAX;
	HASH_ADD(hh, core->holds, notice.hold, sizeof(h->notice.hold), h);
	if (h->hh.tbl == NULL) {
		free(h);
		request_reply(core, r, DDBLOCK_E_NOMEM, 0, NULL);
		return;
	}
	DL_APPEND2(c->holds, h, client_previous, client_next);
	c->n_holds++;
	c->held_in[ns->index]++;
	ns->n_held++;
	ns->granted++;
	grant_add_hold(g, h);

	r->reply.hold = h->notice.hold;
	r->reply.token = h->token;
	r->reply.mode = g->mode;
	r->reply.limit = g->limit;
	r->reply.until_ms = session_until_ms(g->session);
	r->reply.remaining_ms = r->reply.until_ms - core->now_ms;
	r->reply.margin_ms = ns->settings.margin_ms;
	request_reply(core, r, 0, 0, NULL);
	if (g->session->danger)
		action_notice(core, h, CORE_IN_DANGER, 0);
	queue_review(core, l);
}

/* This client's hold of the lock, or NULL. Whichever list is the shorter one
 * tells. */
static const struct hold *
queue_find_hold(const struct lock *l, const struct client *c)
{
	const struct hold *by_client = c->holds, *h;
	const struct grant *g;

	LL_FOREACH(l->grants, g)
	{
		DL_FOREACH2(g->holds, h, grant_next)
		{
			if (h->client == c)
				return h;
			if (by_client == NULL)
				return NULL;
			if (by_client->lock == l && !by_client->lost)
				return by_client;
			by_client = by_client->client_next;
		}
	}
	return NULL;
}

/* Two that share it and both wait to have it alone would wait for ever. */
static const char *
queue_why_held(const struct lock *l, const struct client *c,
    const struct core_request *ask)
{
	const struct hold *h = queue_find_hold(l, c);

	if (h->grant->mode == ask->mode)
		return NULL;
	return h->grant->mode == LOCK_MODE_SHARED ?
	    "this connection shares the lock; release it, then ask for "
	    "exclusive use: two that waited for each other to let go would "
	    "wait for ever" :
	    "this connection holds the lock exclusively; release it, then "
	    "ask to share it";
}

/* Why this request cannot even wait, or 0. */
static int
queue_refuse(const struct core *core, const struct client *c,
    const struct namespace *ns, const struct lock *l,
    const struct core_request *ask)
{
	if (core->stopping)
		return DDBLOCK_E_SHUTTING_DOWN;
	if (ask->key.length == 0 || ask->key.length > KEY_LENGTH_MAX)
		return DDBLOCK_E_BAD_REQUEST;
	if (ask->mode != LOCK_MODE_SHARED &&
	    (ask->mode != LOCK_MODE_EXCLUSIVE || ask->limit != 0))
		return DDBLOCK_E_BAD_REQUEST;
	if (ask->limit > CORE_LIMIT_MAX)
		return DDBLOCK_E_BAD_REQUEST;
	if (l != NULL && queue_find_hold(l, c) != NULL)
		return DDBLOCK_E_ALREADY_HELD;
	if (c->n_holds + c->n_requests > core->limits.holds_per_client_max)
		return DDBLOCK_E_LIMIT;
	if (ns->session == NULL && namespace_code_is_definite(ns->cause))
		return ns->cause;
	return 0;
}

static int
queue_prepare(struct core *core, struct request *r,
    const struct core_request *ask, struct lock **lock)
{
	r->hold = calloc(1, sizeof(*r->hold));
	if (ask->owner != NULL)
		r->owner = strdup(ask->owner);
	if (r->hold == NULL || (ask->owner != NULL && r->owner == NULL))
		return DDBLOCK_E_NOMEM;
	HASH_ADD(hh, core->waiting, serial, sizeof(r->serial), r);
	if (r->hh.tbl == NULL)
		return DDBLOCK_E_NOMEM;
	if (*lock == NULL) {
		int code = lock_new(core, r->ns, ask->key, lock);

		if (code < 0) {
			HASH_DEL(core->waiting, r);
			return code;
		}
	}
	return 0;
}

int
queue_acquire(struct core *core, struct client *c, struct request *r,
    const struct core_request *ask)
{
	struct lock *l = lock_find(r->ns, ask->key);
	int code = queue_refuse(core, c, r->ns, l, ask);
	const char *text = code == r->ns->cause ? r->ns->text : NULL;

	if (code == DDBLOCK_E_ALREADY_HELD)
		text = queue_why_held(l, c, ask);
	if (code < 0) {
		request_reply(core, r, code, 0, text);
		return 0;
	}
	code = queue_prepare(core, r, ask, &l);
	if (code < 0)
		return code;
	r->poll_ms = ask->poll_ms;
	r->mode = ask->mode;
	r->limit = ask->limit;
	r->deadline_ms = ask->wait_ms >= CORE_FOREVER - core->now_ms ?
	    CORE_FOREVER : core->now_ms + ask->wait_ms;
	queue_join(l, r);

	if (ask->wait_ms == 0 && queue_must_wait(core, r)) {
		queue_expire(core, r);
		return 0;
	}
	if (ask->wait_ms == 0)
		queue_overdue(core, r);
	else if (r->deadline_ms != CORE_FOREVER)
		heap_set(&core->heap, &r->timer, r->deadline_ms);
	lock_advance(core, l);
	return 0;
}

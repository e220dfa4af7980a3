/*
 * How long a request waits for a lock, and what it is told then.
 *
 * A request whose time is up is answered, with one exception: if the first
 * operation for the lock is still under way, its answer is waited for
 * (waiter->overdue), until as long has passed since it was asked as a try may
 * take. So a try is a wait of zero, and a short wait is never less than a try.
 * A lock that the store grants after that is given back.
 */
#include "core/client/room.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

/* Which lock is it that is known to be in its way? NULL: none. */
static struct lock *
wait_obstacle(const struct core *core, const struct request *r)
{
	if (r->multi != NULL)
		return multi_obstacle(core, r->multi);
	return queue_would_wait(core, r->waiter.lock, &r->waiter) ?
	    r->waiter.lock : NULL;
}

bool
wait_is_hopeless(const struct core *core, const struct request *r)
{
	return wait_obstacle(core, r) != NULL;
}

static int
wait_cause(const struct request *r)
{
	const struct namespace *ns = r->ns;

	if (r->waiter.lock->cause != 0)
		return r->waiter.lock->cause;
	if (!ns->has_sessions)
		return 0;
	return ns->session == NULL || ns->session->state != LEASE_VALID ?
	    ns->cause : 0;
}

static bool
wait_is_try(const struct request *r)
{
	return r->waiter.deadline_ms == r->waiter.asked_ms;
}

static void
wait_tell_limits(const struct request *r, uint32_t limit, char *text,
    size_t size)
{
	char in_force[32] = "no limit", asked[32] = "none";

	if (limit > 0)
		(void)snprintf(in_force, sizeof(in_force), "limit=%" PRIu32,
		    limit);
	if (r->terms.limit > 0)
		(void)snprintf(asked, sizeof(asked), "limit=%" PRIu32,
		    r->terms.limit);
	(void)snprintf(text, size, "%s is in force, and %s was asked for",
	    in_force, asked);
}

/* Is it the store that leaves this unanswered? What was sent to it a moment
 * before a longer wait ended says nothing about it. A try that it could not be
 * asked for in time is, too, unless somebody is known to hold the lock. */
static bool
wait_awaits_store(const struct core *core, const struct request *r)
{
	const struct namespace *ns = r->ns;
	uint64_t since_ms = lock_submitted_ms(r->waiter.lock);

	if (ns->has_sessions &&
	    (ns->session == NULL || ns->session->state != LEASE_VALID))
		return true;
	if (since_ms == CORE_FOREVER)
		return wait_is_try(r) && !queue_is_others(core,
		    r->waiter.lock, &r->waiter);
	if (r->waiter.overdue)
		since_ms = r->waiter.asked_ms;
	return core->now_ms - since_ms >= ns->settings.try_ms;
}

/* Its time is up. */
void
wait_expire(struct core *core, struct request *r)
{
	struct lock *busy = wait_obstacle(core, r);
	bool try = wait_is_try(r);
	int cause = wait_cause(r);
	int code = try ? DDBLOCK_E_LOCK_BUSY : DDBLOCK_E_ACQUIRE_TIMEOUT;
	uint64_t place_ms = lock_place_ms(core, r->waiter.lock);
	char limits[OUTCOME_TEXT_MAX];
	const char *text;
	uint32_t limit;

	if (busy == NULL && cause == 0 && place_ms > 0)
		cause = DDBLOCK_E_LIMIT;
	else if (busy == NULL && cause == 0 && wait_awaits_store(core, r))
		cause = DDBLOCK_E_UNREACHABLE;
	else if (busy == NULL && cause == 0)
		busy = r->waiter.lock;
	text = cause != 0 && cause == r->ns->text_code ? r->ns->text : NULL;
	if (cause == DDBLOCK_E_LIMIT) {
		share_tell_rate(r, place_ms - core->now_ms, limits,
		    sizeof(limits));
		text = limits;
	}
	if (cause == 0 && lock_finds_limit(busy, &r->waiter, &limit)) {
		if (try)
			code = DDBLOCK_E_WRONG_LIMIT;
		else
			cause = DDBLOCK_E_WRONG_LIMIT;
		wait_tell_limits(r, limit, limits, sizeof(limits));
		text = limits;
	}
	if (r->client->draining && !try)
		code = DDBLOCK_E_CANCELLED;
	if (busy == NULL && try) {
		if (text == NULL && cause == DDBLOCK_E_UNREACHABLE)
			text = REQUEST_UNANSWERED;
		request_reply(core, r, cause, 0, text);
		return;
	}
	if (busy != NULL) {
		struct core_holder_view *view = calloc(1, sizeof(*view));

		/* Without memory the answer is just shorter. */
		if (view != NULL)
			view_lock(core, busy, core->now_ms, view);
		r->holder = view;
		r->reply.holder = view;
		if (r->multi != NULL && r->multi->is_multi)
			r->reply.key = lock_key(busy);
		if (view != NULL && view->silent && text == NULL)
			text = view->left ? "its client left it held, "
			    "fail-closed: only a break ends that" :
			    "its holder gives no sign of life, but is "
			    "fail-closed: only a break ends that";
	}
	request_reply(core, r, code, cause, text);
}

/* Answer every overdue request whose outcome is known now: at least those that
 * are not the first in line. So before the last of them only those stand that
 * came from another lock's queue since the last look. */
void
wait_review(struct core *core, struct lock *l)
{
	uint32_t n_left = l->n_overdue;
	struct waiter *w, *after;

	for (w = l->queue; n_left > 0 && w != NULL; w = after) {
		struct request *r = request_of(w);

		after = w->next;
		if (!w->overdue)
			continue;
		n_left--;
		if (wait_is_hopeless(core, r) || l->cause != 0)
			wait_expire(core, r);
	}
}

/* When it is answered at the latest. */
static uint64_t
wait_end_ms(const struct request *r)
{
	uint64_t try_end_ms = r->waiter.asked_ms + r->ns->settings.try_ms;

	return r->waiter.deadline_ms > try_end_ms ? r->waiter.deadline_ms :
	    try_end_ms;
}

/* It is answered as soon as its fate is known: after the end of its wait it has
 * the time of a try, and no more than was left. */
void
wait_overdue(struct core *core, struct request *r)
{
	uint64_t end_ms = core->now_ms + r->ns->settings.try_ms;

	if (end_ms > wait_end_ms(r))
		end_ms = wait_end_ms(r);
	queue_set_overdue(&r->waiter);
	heap_set(&core->later, &r->waiter.timer, end_ms);
}

static void
wait_timer(struct core *core, struct request *r)
{
	struct lock *l = r->waiter.lock;

	assert(l != NULL);
	if (!r->waiter.overdue && core->now_ms < wait_end_ms(r) &&
	    !wait_is_hopeless(core, r)) {
		wait_overdue(core, r);
		return;
	}
	wait_expire(core, r);
	lock_advance(core, l);
}

/* Answer this request now: it was cancelled, or its client only listens. */
void
wait_drain(struct core *core, struct request *r)
{
	struct lock *l = r->waiter.lock;

	if (r->client->draining && !wait_is_hopeless(core, r)) {
		if (!r->waiter.overdue)
			wait_overdue(core, r);
		return;
	}
	request_reply(core, r, DDBLOCK_E_CANCELLED, 0, NULL);
	lock_advance(core, l);
}

void
wait_fill_grant(struct core *core, struct request *r, const struct hold *h)
{
	r->reply.hold = h->notice.hold;
	r->reply.token = h->use.token;
	if (grant_token_text(h->use.grant) != NULL) {
		/* Without memory the answer is less exact. */
		r->token_text = strdup(grant_token_text(h->use.grant));
		r->reply.token_text = r->token_text;
	}
	r->reply.terms = r->terms;
	promise_tell(core, h, &r->reply);
}

/* A grant tells the data of the lock, except those that the request itself set.
 * */
static void
wait_tell_contents(struct core *core, struct request *r)
{
	r->found = core->found == NULL ? NULL :
	    update_take_found(core, r->waiter.lock);
	if (r->found == NULL)
		return;
	if (r->waiter.change != NULL)
		change_leave_out(r->waiter.change, r->found);
	r->reply.contents = r->found;
}

/* The first in line gets the lock: exclusively with the next token of the
 * block, otherwise with the grant's own. */
void
wait_granted(struct core *core, struct grant *g)
{
	struct lock *l = g->lock;
	struct request *r = request_of(l->queue);
	struct hold *h = r->hold;

	if (r->multi != NULL) {
		multi_keep(core, r->multi, g);
		wait_review(core, l);
		return;
	}
	r->hold = NULL;
	grant_add_use(g, &h->use);
	hold_give(core, h, r->client);
	if (h->terms != NULL)
		terms_begin(core, h);
	wait_tell_contents(core, r);
	wait_fill_grant(core, r, h);
	request_reply(core, r, 0, 0, NULL);
	if (terms_are_endangered(core, h))
		notice_send(core, h, CORE_IN_DANGER);
	if (h->terms != NULL)
		reentrant_waiting(core, h);
	wait_review(core, l);
}

/* ---- what else is told ------------------------------------------------ */

int
wait_cancel(struct core *core, struct request *r, uint64_t target)
{
	struct request *t = request_find(core, r->client->id, target);

	/* One for several keys may be between two locks. */
	if (t == NULL ||
	    (t->reply.verb == CORE_ACQUIRE && t->waiter.lock == NULL)) {
		request_reply(core, r, DDBLOCK_E_BAD_REQUEST, 0,
		    "no such request is waiting");
		return 0;
	}
	request_reply(core, r, 0, 0, NULL);
	if (t->reply.verb == CORE_LIST)
		request_reply(core, t, DDBLOCK_E_CANCELLED, 0, NULL);
	else
		wait_drain(core, t);
	return 0;
}

/* Tries on this lock wait only while a takeover is near. */
void
wait_observed(struct core *core, struct blocked *b)
{
	struct lock *l = lock_blocked(b);

	wait_review(core, l);
	lock_advance_soon(core, l);
}

void
request_timer(struct core *core, struct timer *timer)
{
	struct request *r = CONTAINER_OF(timer, struct request, waiter.timer);

	if (r->kind != NULL)
		r->kind->timeout(core, r);
	else if (r->reply.verb == CORE_ACQUIRE)
		wait_timer(core, r);
	else
		request_reply(core, r, DDBLOCK_E_UNREACHABLE, r->ns->cause,
		    r->ns->text);
}

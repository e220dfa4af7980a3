/*
 * Requests that wait for a lock: first come, first served, one queue per key.
 *
 * A request whose time is up is answered, with one exception: if nothing is
 * known yet of the lock because the first question to the store is still under
 * way, the answer is waited for (request->overdue), until as long has passed
 * since it was asked as a try may take. So a try is a wait of zero, and a short
 * wait is never less than a try. What the store grants after that is for
 * nobody, and is given back.
 */
#include "core/internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

/*
 * In the order of asking, which is the end; but who asked for several locks
 * comes to all but the first of them later. Utlist's first has the last before
 * it.
 */
void
queue_join(struct lock *l, struct request *r)
{
	struct request *next = r->joint == NULL ? NULL : l->queue;

	r->lock = l;
	r->place = l->queue == NULL ? 0 : l->queue->queue_previous->place + 1;
	while (next != NULL && next->serial < r->serial)
		next = next->queue_next;
	if (next != NULL) {
		DL_PREPEND_ELEM2(l->queue, next, r, queue_previous,
		    queue_next);
		l->gaps = true;
	} else {
		DL_APPEND2(l->queue, r, queue_previous, queue_next);
	}
	if (r->overdue)
		l->overdue = true;
	l->n_waiting++;
	l->ns->n_waiting++;
}

/* Out of this queue; the caller advances the lock. */
void
queue_part(struct request *r)
{
	struct lock *l = r->lock;

	assert(l->n_waiting > 0);
	if (r != l->queue && r->queue_next != NULL)
		l->gaps = true;
	DL_DELETE2(l->queue, r, queue_previous, queue_next);
	l->n_waiting--;
	l->ns->n_waiting--;
	if (l->queue == NULL)
		l->gaps = false;
	r->lock = NULL;
}

/* It waits no more. */
void
queue_leave(struct core *core, struct request *r)
{
	if (r->lock != NULL)
		queue_part(r);
	HASH_DEL(core->waiting, r);
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
		if (g->state == GRANT_HELD && grant_is_usable(g) &&
		    grant_fits(core, g, r))
			return true;
	}
	return false;
}

/* Does what clients here hold keep this request, the first in line, from the
 * lock? Not yet, while there may be room for one more of a semaphore's. */
static bool
queue_is_hindered_here(const struct core *core, const struct lock *l,
    const struct request *r)
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
	return held && (l->grants->mode != r->terms.mode ||
	    l->grants->limit != r->terms.limit ||
	    (r->terms.limit == 0 ? !lock_may_add(l, r) :
	    n >= r->terms.limit));
}

/* Is it known that this request does not get that lock at once? */
bool
queue_would_wait(const struct core *core, const struct lock *l,
    const struct request *r)
{
	if (l->queue != NULL && l->queue != r)
		return true;
	if (queue_is_served(core, l, r))
		return false;
	if (queue_is_hindered_here(core, l, r))
		return true;
	if (!lock_may_seek(l))
		return false;
	if (l->view == VIEW_FREE)
		return l->hindered;
	return l->view == VIEW_FOREIGN && !lock_takeover_is_near(core, l) &&
	    !(lock_is_open(l, r) && !l->refused);
}

/* Which lock is it that is known to be in its way? NULL: none. */
static struct lock *
queue_obstacle(const struct core *core, const struct request *r)
{
	if (r->joint != NULL)
		return joint_obstacle(core, r->joint);
	return queue_would_wait(core, r->lock, r) ? r->lock : NULL;
}

bool
queue_must_wait(const struct core *core, const struct request *r)
{
	return queue_obstacle(core, r) != NULL;
}

static int
queue_cause(const struct request *r)
{
	const struct namespace *ns = r->ns;

	if (r->lock->cause != 0)
		return r->lock->cause;
	if (ns->settings.life != LOCK_LIFE_SESSION)
		return 0;
	return ns->session == NULL || ns->session->state != SESSION_VALID ?
	    ns->cause : 0;
}

/* Is the lock known to be shared now, within a limit that this request does
 * not share? Here, or as it was last seen. */
static bool
queue_finds_limit(const struct request *r, const struct lock *l,
    uint32_t *ret_limit)
{
	const struct hold *h = lock_first_hold(l);

	if (h == NULL) {
		*ret_limit = l->limit_seen;
		return l->sight != NULL && lock_has_other_limit(l, r);
	}
	*ret_limit = h->grant->limit;
	return r->terms.mode == LOCK_MODE_SHARED &&
	    h->grant->mode == LOCK_MODE_SHARED &&
	    *ret_limit != r->terms.limit;
}

static void
queue_tell_limits(const struct request *r, uint32_t limit, char *text,
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
 * before a longer wait ended says nothing about it. */
static bool
queue_awaits_store(const struct core *core, const struct request *r)
{
	const struct namespace *ns = r->ns;
	const struct submission *s = r->lock->submission;
	uint64_t since_ms;

	if (ns->settings.life == LOCK_LIFE_SESSION &&
	    (ns->session == NULL || ns->session->state != SESSION_VALID))
		return true;
	if (s == NULL)
		return false;
	since_ms = r->overdue ? r->asked_ms :
	    s->submit.operation.submitted_ms;
	return core->now_ms - since_ms >= ns->settings.try_ms;
}

/* Its time is up. */
void
queue_expire(struct core *core, struct request *r)
{
	struct lock *busy = queue_obstacle(core, r);
	bool try = r->deadline_ms == r->asked_ms;
	int cause = queue_cause(r);
	int code = try ? DDBLOCK_E_LOCK_BUSY : DDBLOCK_E_ACQUIRE_TIMEOUT;
	char limits[OUTCOME_TEXT_MAX];
	const char *text;
	uint32_t limit;

	if (busy == NULL && cause == 0 && queue_awaits_store(core, r))
		cause = DDBLOCK_E_UNREACHABLE;
	else if (busy == NULL && cause == 0)
		busy = r->lock;
	text = cause != 0 && cause == r->ns->text_code ? r->ns->text : NULL;
	if (cause == 0 && queue_finds_limit(r, busy, &limit)) {
		if (try)
			code = DDBLOCK_E_WRONG_LIMIT;
		else
			cause = DDBLOCK_E_WRONG_LIMIT;
		queue_tell_limits(r, limit, limits, sizeof(limits));
		text = limits;
	}
	if (r->client->draining && !try)
		code = DDBLOCK_E_CANCELLED;
	if (busy == NULL && try) {
		if (text == NULL && cause == DDBLOCK_E_UNREACHABLE)
			text = CLIENT_UNANSWERED;
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
		if (r->joint != NULL && r->joint->several)
			r->reply.key = lock_key(busy);
		if (view != NULL && view->silent && text == NULL)
			text = "its holder gives no sign of life, but is "
			    "fail-closed: only a break ends that";
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

/* When it is answered at the latest. */
static uint64_t
queue_end_ms(const struct request *r)
{
	uint64_t try_end_ms = r->asked_ms + r->ns->settings.try_ms;

	return r->deadline_ms > try_end_ms ? r->deadline_ms : try_end_ms;
}

/* It is answered as soon as its fate is known: who waits no longer has the
 * time of a try, and no more than was left. */
void
queue_overdue(struct core *core, struct request *r)
{
	uint64_t end_ms = core->now_ms + r->ns->settings.try_ms;

	if (end_ms > queue_end_ms(r))
		end_ms = queue_end_ms(r);
	r->overdue = true;
	r->lock->overdue = true;
	heap_set(&core->heap, &r->timer, end_ms);
}

void
queue_timer(struct core *core, struct request *r)
{
	struct lock *l = r->lock;

	if (r->reply.verb == CORE_RENEW || r->reply.verb == CORE_RELEASE ||
	    r->reply.verb == CORE_DOWNGRADE) {
		request_reply(core, r, DDBLOCK_E_UNREACHABLE, r->ns->cause,
		    r->ns->text);
		return;
	}
	if (r->reply.verb == CORE_WATCH) {
		watch_timeout(core, r);
		return;
	}
	if (r->reply.verb == CORE_GET) {
		listing_timeout(core, r);
		return;
	}
	assert(l != NULL);
	if (!r->overdue && core->now_ms < queue_end_ms(r) &&
	    !queue_must_wait(core, r)) {
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

void
queue_fill_grant(struct core *core, struct request *r, const struct hold *h)
{
	r->reply.hold = h->notice.hold;
	r->reply.token = h->token;
	if (grant_token_text(h->grant) != NULL) {
		/* Without memory the answer is less exact. */
		r->token_text = strdup(grant_token_text(h->grant));
		r->reply.token_text = r->token_text;
	}
	r->reply.terms = r->terms;
	r->reply.until_ms = terms_until_ms(h);
	r->reply.count = terms_count(h);
	/* What it has once more lingers if it was first asked for so. */
	if (linger_keeps(h))
		r->reply.secret = h->client->linger->secret;
	else
		r->reply.terms.linger_ms = 0;
	if (!process_has(h))
		r->reply.terms.process = 0;
	if (h->fail_closed)
		return;
	r->reply.remaining_ms = r->reply.until_ms - core->now_ms;
	r->reply.end_ms = terms_end_ms(h);
	r->reply.margin_ms = h->lock->ns->settings.margin_ms;
}

/* The first in line gets the lock: exclusively with the next token of the
 * block, otherwise with the grant's own. */
void
queue_grant(struct core *core, struct grant *g)
{
	struct lock *l = g->lock;
	struct request *r = l->queue;
	struct hold *h = r->hold;

	assert(grant_can_give(core, g, r));
	if (r->joint != NULL) {
		joint_keep(core, r->joint, g);
		queue_review(core, l);
		return;
	}
	r->hold = NULL;
	h->token = grant_next_token(g);
	grant_add_hold(g, h);
	hold_give(core, h, r->client);
	terms_begin(core, h);
	keep_tell(core, r);
	queue_fill_grant(core, r, h);
	request_reply(core, r, 0, 0, NULL);
	if (terms_are_endangered(core, h))
		action_notice(core, h, CORE_IN_DANGER);
	reenter_waiting(core, h);
	queue_review(core, l);
}

/*
 * Clients: their requests, that each gets exactly one reply in time, and that
 * no line comes after their end.
 */
#include "judge_contents.h"
#include "judge_every.h"
#include "judge_takeover.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

static struct judge_client *
judge_client_find(const struct judge *j, uint64_t id)
{
	struct judge_client *c;

	HASH_FIND(hh, j->clients, &id, sizeof(id), c);
	return c;
}

/* Back within its caps by now? A daemon that sleeps reads nothing. */
static void
judge_client_is_full(struct judge *j, void *owner)
{
	struct judge_client *c = owner;

	if (judge_is_awake(j, c->host))
		judge_find(j, "7", "c%" PRIu64 " has %" PRIu32
		    " unanswered requests", c->id, c->n_open);
}

static struct judge_client *
judge_client_get(struct judge *j, const struct fact *f)
{
	struct judge_client *c = judge_client_find(j, f->client);

	if (c != NULL)
		return c;
	c = judge_alloc(sizeof(*c));
	c->id = f->client;
	c->secret = f->client;
	c->host = f->host;
	judge_due_init(j, &c->due, judge_client_is_full, c);
	HASH_ADD(hh, j->clients, id, sizeof(c->id), c);
	return c;
}

/* ---- requests --------------------------------------------------------- */

/* The first of several keys represents the request. */
static bool
judge_request_is_capped(const struct judge_request *r)
{
	return r->verb != CORE_RELEASE && r->verb != CORE_CANCEL &&
	    r->verb != CORE_UNWATCH &&
	    (r->multi == 0 || r->multi == r->id);
}

static void
judge_request_is_late(struct judge *j, void *owner)
{
	struct judge_request *r = owner;

	if (!judge_is_awake(j, r->client->host))
		return;		/* judge_host_resumed() sets it again */
	judge_find(j, "6", "c%" PRIu64 ": request %" PRIu64
	    ", asked at %" PRIu64 ", has no reply in time", r->client->id,
	    r->id, r->asked_ms);
}

static void
judge_request_schedule(struct judge *j, struct judge_request *r)
{
	if (r->due_ms == FACT_NEVER)
		return;
	judge_due_set(j, &r->due, r->due_ms + j->rules.lateness_ms);
}

static void
judge_request_free(struct judge *j, struct judge_request *r)
{
	struct judge_client *c = r->client;

	DL_DELETE(c->requests, r);
	judge_contents_over(j, r);
	if (r->lock != NULL) {
		judge_turns_waited(j, r);
		DL_DELETE2(r->lock->waiters, r, wait_prev, wait_next);
		r->lock->waited_ms[c->host] = j->now_ms;
		if (r->multi != 0)
			r->lock->multi_ms[c->host] = j->now_ms;
		judge_quiet_review(j, r->lock);
	}
	if (judge_request_is_capped(r) &&
	    --c->n_open <= j->rules.requests_per_client_max)
		judge_due_unset(j, &c->due);
	judge_due_done(j, &r->due);
	judge_due_done(j, &r->multi_due);
	free(r);
}

static void
judge_request_count(struct judge *j, struct judge_request *r)
{
	struct judge_client *c = r->client;
	uint32_t most = j->rules.requests_per_client_max;

	if (!judge_request_is_capped(r))
		return;
	c->n_open++;
	if (most > 0 && c->n_open > most)
		judge_due_set(j, &c->due, j->now_ms + j->rules.lateness_ms);
}

static void
judge_asked(struct judge *j, const struct fact *f)
{
	struct judge_client *c = judge_client_get(j, f);
	struct judge_request *r = judge_alloc(sizeof(*r));
	struct judge_hold *h;

	r->client = c;
	r->id = f->request;
	r->verb = f->verb;
	r->hold = f->hold;
	r->target = f->target;
	r->user = f->user;
	r->multi = f->verb == CORE_ACQUIRE ? f->multi : 0;
	r->wait_ms = f->wait_ms;
	r->shared = f->shared;
	r->limit = f->limit;
	r->terms = (struct judge_terms){ f->max_hold_ms, f->keepalive_ms,
		f->danger_ms, f->manual, f->reentrant, f->stays,
		f->linger_ms, f->resumes, f->fail_closed ? 0 : f->process,
		f->at_least_ms, f->every_ms, f->at_end };
	r->fail_closed = f->fail_closed;
	r->asked_ms = f->at_ms;
	r->due_ms = f->due_ms;
	r->unread = j->hosts[f->host].paused;
	judge_due_init(j, &r->due, judge_request_is_late, r);
	memcpy(r->contents, f->contents, sizeof(r->contents));
	judge_contents_asked(j, f);
	judge_terms_spoke(j, c);
	DL_APPEND(c->requests, r);
	judge_request_count(j, r);
	judge_request_schedule(j, r);
	if (f->verb == CORE_ACQUIRE) {
		r->lock = judge_lock_get(j, f->namespace_index, f->key);
		DL_APPEND2(r->lock->waiters, r, wait_prev, wait_next);
		judge_quiet_review(j, r->lock);
	}
	judge_quiet_asked(j, r);
	if (f->verb == CORE_BREAK) {
		r->broken = judge_lock_get(j, f->namespace_index, f->key);
		judge_break_asked(j, f);
	}
	if (f->verb == CORE_RAISE)
		r->raised = judge_raise_asked(j, f);
	if (f->verb == CORE_WATCH || f->verb == CORE_UNWATCH)
		r->watched = judge_lock_get(j, f->namespace_index, f->key);
	if (f->verb != CORE_RELEASE && f->verb != CORE_DOWNGRADE &&
	    f->verb != CORE_RENEW)
		return;
	h = judge_hold_get(j, f->host, f->hold);
	if (f->verb == CORE_RENEW) {
		r->until_ms = h != NULL ? h->until_ms : 0;
		return;
	}
	if (h != NULL && h->client == c && f->verb == CORE_DOWNGRADE) {
		judge_downgrade_asked(j, h, r);
	} else if (h != NULL && h->client == c && h->n_again > 0) {
		h->n_again--;
		r->leaves = true;
	} else if (h != NULL && h->client == c) {
		r->downgrading = h->downgrading && !judge_downgrade_done(h);
		h->downgrading = false;
		h->read = !r->unread;
		judge_hold_end(j, h, HOLD_RELEASED, END_RELEASED);
		judge_contents_released(j, h, f);
	}
}

static struct judge_request *
judge_request_find(const struct judge_client *c, uint64_t id)
{
	struct judge_request *r;

	DL_FOREACH(c->requests, r)
	{
		if (r->id == id)
			return r;
	}
	return NULL;
}

/* Lines about such a hold are for the process. */
static bool
judge_client_left_to_process(const struct judge *j, const struct fact *f)
{
	const struct judge_hold *h = judge_hold_get(j, f->host, f->hold);

	return h != NULL && h->terms.process && !h->let_go &&
	    h->client->id == f->client;
}

/* The client that a daemon spoke to. NULL: none, or it does not listen. */
static struct judge_client *
judge_client_told(struct judge *j, const struct fact *f)
{
	struct judge_client *c = judge_client_find(j, f->client);

	if (c == NULL || c->host != f->host) {
		judge_find(j, "4", "%c tells something to c%" PRIu64
		    ", who is not its client", judge_host_name(f->host),
		    f->client);
		return NULL;
	}
	if (!c->gone || judge_client_left_to_process(j, f))
		return c;
	if (!c->gone_unread)
		judge_find(j, "5", "%c tells something to c%" PRIu64
		    ", who has left", judge_host_name(f->host), f->client);
	return NULL;
}

/* Only a mistake in a release keeps it from being done. */
static void
judge_released(struct judge *j, const struct judge_request *r,
    struct judge_hold *h, int code)
{
	bool refused = code == DDBLOCK_E_BAD_REQUEST;

	judge_notice_check_release(j, h, code);
	if (r->leaves) {
		if (refused)
			h->n_again++;
		return;
	}
	/* Requests on their way go on. */
	if (h->state == HOLD_RELEASED && refused && r->downgrading) {
		h->downgrading = true;
		return;
	}
	if (h->state == HOLD_RELEASED && refused) {
		judge_hold_restore(j, h);
		return;
	}
	judge_notice_check_stolen(j, h, r, code);
	judge_every_released(j, h, code);
	judge_hold_answered(j, h);
	if (judge_linger_let_go(j, h))
		h->downgrading = r->downgrading;
	else
		judge_hold_forget(j, h);
}

/* 4: an ended hold is not renewed. */
static void
judge_renewed(struct judge *j, const struct judge_request *r,
    struct judge_hold *h, const struct fact *f)
{
	if (f->code != 0)
		return;
	if (h == NULL || h->client != r->client || h->state == HOLD_LOST ||
	    (h->state == HOLD_RELEASED && h->read && !h->downgrading)) {
		judge_find(j, "4", "c%" PRIu64 ": hold %" PRIu64 " is renewed,"
		    " which it has not", r->client->id, r->hold);
		return;
	}
	judge_terms_check_renewal(j, h, r, f->until_ms);
	judge_notice_renew(j, h, f->until_ms);
}

/* 6: a cancelled request is answered at once. */
static void
judge_cancelled(struct judge *j, const struct judge_request *cancel)
{
	struct judge_request *r =
	    judge_request_find(cancel->client, cancel->target);

	if (r == NULL || r->verb != CORE_ACQUIRE)
		return;
	r->due_ms = j->now_ms;
	judge_request_schedule(j, r);
}

static void
judge_answered(struct judge *j, const struct fact *f)
{
	struct judge_client *c = judge_client_told(j, f);
	struct judge_request *r;
	struct judge_hold *h = NULL;

	if (c == NULL)
		return;
	r = judge_request_find(c, f->request);
	if (r == NULL || r->verb != f->verb) {
		judge_find(j, "6", "c%" PRIu64 ": a reply to request %" PRIu64
		    ", which is not open", c->id, f->request);
		return;
	}
	if (f->code == DDBLOCK_E_INTERNAL)
		judge_find(j, "6", "c%" PRIu64 ": the reply to request %" PRIu64
		    " is that %c has a defect", c->id, r->id,
		    judge_host_name(f->host));
	if (f->verb == CORE_ACQUIRE && f->code == DDBLOCK_E_ALREADY_HELD)
		judge_linger_check_held(j, r);
	if (f->verb == CORE_ACQUIRE && f->code == 0 &&
	    !judge_terms_again(j, c, r, f))
		judge_hold_grant(j, c, r, f);
	if (f->verb == CORE_RELEASE || f->verb == CORE_RENEW ||
	    f->verb == CORE_DOWNGRADE)
		h = judge_hold_get(j, c->host, r->hold);
	if (h != NULL && h->client == c && f->code == 0)
		judge_contents_answered(j, h, r);
	if (h != NULL && h->client == c && f->verb == CORE_RELEASE)
		judge_released(j, r, h, f->code);
	if (f->verb == CORE_RENEW)
		judge_renewed(j, r, h, f);
	if (f->verb == CORE_BREAK && f->code == 0)
		judge_break_answered(j, r);
	if (f->verb == CORE_RAISE && f->code == 0)
		judge_raise_answered(j, r, f);
	if (f->verb == CORE_RESUME)
		judge_linger_answered(j, r, f->code);
	if (f->verb == CORE_DOWNGRADE)
		judge_downgrade_answered(j, h, r, f);
	if (f->verb == CORE_CANCEL && f->code == 0)
		judge_cancelled(j, r);
	if (r->watched != NULL && f->code == 0)
		judge_watch_answered(j, r, f);
	judge_request_free(j, r);
}

/* 6: after its last request a client need not wait: it is answered as soon as
 * it is known whether the lock is free. */
static void
judge_drained(struct judge *j, const struct fact *f)
{
	struct judge_client *c = judge_client_get(j, f);
	struct judge_request *r;

	DL_FOREACH(c->requests, r)
	{
		uint64_t due_ms = j->now_ms + j->rules.lateness_ms +
		    judge_most_ms(j, c->host, j->rules.try_ms);

		if (r->verb != CORE_ACQUIRE || r->due_ms <= due_ms)
			continue;
		r->due_ms = due_ms;
		r->unread = j->hosts[c->host].paused;
		judge_request_schedule(j, r);
	}
}

static void
judge_left(struct judge *j, const struct fact *f)
{
	struct judge_client *c = judge_client_get(j, f);
	bool cut_off = f->loss == CORE_LOSS_CUT_OFF;
	struct judge_hold *h, *next;

	if (c->gone && cut_off)
		return;		/* not there when its daemon came back */
	c->gone = true;
	c->gone_unread = j->hosts[c->host].paused;
	while (c->requests != NULL)
		judge_request_free(j, c->requests);
	judge_watch_left(j, c);
	DL_FOREACH_SAFE2(c->holds, h, next, client_next)
	{
		if (h->terms.stays) {
			/* No client is told of a loss for its silence. */
			h->exempt |= judge_terms_is_silent(j, h);
			judge_hold_desert(j, h);
			continue;
		}
		if (judge_linger_left(j, h, cut_off))
			continue;
		/* It is judged as before: a process works under it. */
		if (judge_downgrade_left_to_process(j, h))
			continue;
		if (h->state == HOLD_VALID && h->grant != NULL &&
		    h->fail_closed) {
			h->grant->left_held = h->grant->standing;
			h->grant->was_left_held = !h->grant->standing;
		}
		if (h->state == HOLD_VALID && h->fail_closed &&
		    judge_is_foreign(j, h->lock))
			judge_record_left_held(h);
		if (h->state == HOLD_VALID && cut_off && !h->fail_closed)
			judge_notice_lost(j, h, f->loss);
		if (h->state == HOLD_VALID)
			judge_hold_end(j, h, HOLD_OVER, END_DESERTED);
		judge_hold_forget(j, h);
	}
}

/* Its end ends its holds. */
static void
judge_outlived(struct judge *j, const struct fact *f)
{
	struct judge_client *c = judge_client_find(j, f->client);
	struct judge_hold *h, *next;

	if (c == NULL)
		return;
	/* Lines that the daemon sends before it reads of that are lost. */
	c->gone_unread |= c->gone && j->hosts[c->host].paused;
	DL_FOREACH_SAFE2(c->holds, h, next, client_next)
	{
		if (h->terms.process != f->process || f->process == 0 ||
		    h->deserted || judge_linger_let_go(j, h))
			continue;
		if (h->state == HOLD_VALID)
			judge_hold_end(j, h, HOLD_OVER, END_DESERTED);
		judge_hold_forget(j, h);
	}
}

void
judge_client_fact(struct judge *j, const struct fact *f)
{
	struct judge_client *c;

	switch (f->kind) {
	case FACT_ASKED:
		judge_asked(j, f);
		return;
	case FACT_ANSWERED:
		judge_answered(j, f);
		return;
	case FACT_RENEWED:
		judge_notice_renewed_all(j, f);
		return;
	case FACT_HEARD:
		judge_terms_spoke(j, judge_client_get(j, f));
		return;
	case FACT_DRAINED:
		judge_drained(j, f);
		return;
	case FACT_LEFT:
		judge_left(j, f);
		return;
	case FACT_OUTLIVED:
		judge_outlived(j, f);
		return;
	case FACT_TAKEN:
		c = judge_client_told(j, f);
		if (c != NULL)
			judge_linger_taken(j, c, f);
		return;
	case FACT_CHANGED:
		c = judge_client_told(j, f);
		if (c != NULL)
			judge_watch_changed(j, c, f);
		return;
	default:
		if (judge_client_told(j, f) != NULL)
			judge_notice_fact(j, f);
		return;
	}
}

/* ---- their daemon ----------------------------------------------------- */

/* A request that is owed a reply. Not a request still in the socket when a
 * stopped daemon goes on that was told to end meanwhile: it ends without
 * reading it. */
static const struct judge_request *
judge_client_owed(const struct judge *j, const struct judge_client *c)
{
	const struct judge_request *r;

	DL_FOREACH(c->requests, r)
	{
		if (r->woken_ms != j->now_ms)
			return r;
	}
	return NULL;
}

void
judge_client_deserted(struct judge *j, struct judge_client *c, bool killed)
{
	const struct judge_request *owed = judge_client_owed(j, c);

	if (!killed && owed != NULL)
		judge_find(j, "6", "%c ended without a reply to request %"
		    PRIu64 " of c%" PRIu64, judge_host_name(c->host),
		    owed->id, c->id);
	while (c->requests != NULL)
		judge_request_free(j, c->requests);
	judge_watch_left(j, c);
}

/* No reply comes, but clients hold on until their deadlines. */
void
judge_host_ended(struct judge *j, unsigned host, bool killed)
{
	struct judge_host *host_of = &j->hosts[host];
	struct judge_client *c;
	struct judge_hold *h, *next;
	struct judge_session *s;

	for (c = j->clients; c != NULL; c = c->hh.next)
		if (c->host == host)
			judge_client_deserted(j, c, killed);
	DL_FOREACH_SAFE2(host_of->holds, h, next, host_next)
	{
		if (!killed && h->state == HOLD_VALID && !h->fail_closed &&
		    !(h->linger_ms > 0 ? judge_hold_is_exempt(h) ||
		    judge_linger_may_be_lost(h) : h->exempt))
			judge_find(j, "3", "%c ended, and c%" PRIu64 " was not"
			    " told that it lost %s", judge_host_name(host),
			    h->client->id, judge_lock_name(h->lock));
		judge_hold_desert(j, h);
	}
	DL_FOREACH(host_of->sessions, s)
	{
		if (s->ended_ms == JUDGE_NEVER)
			s->ended_ms = j->now_ms;
	}
}

void
judge_host_froze(struct judge *j, unsigned host)
{
	struct judge_hold *h;

	DL_FOREACH2(j->hosts[host].holds, h, host_next)
	{
		h->exempt = true;
	}
}

/* Requests during its sleep begin when it goes on, and ends are told then. */
static void
judge_request_resume(struct judge *j, struct judge_request *r,
    uint64_t stood_ms)
{
	uint64_t due_ms = j->now_ms +
	    (r->verb == CORE_ACQUIRE || r->verb == CORE_GET ? 0 :
	    judge_most_ms(j, r->client->host, j->rules.request_ms));

	if (r->unread)
		r->woken_ms = j->now_ms;
	if (r->due_ms == FACT_NEVER)
		return;
	/* Its clock rounds at the other moment, too. */
	r->due_ms += 1 + (r->unread ? j->now_ms - r->asked_ms : stood_ms);
	if (r->due_ms < due_ms)
		r->due_ms = due_ms;
	r->unread = false;
	judge_request_schedule(j, r);
}

void
judge_host_resumed(struct judge *j, unsigned host, uint64_t stood_ms)
{
	struct judge_client *c;
	struct judge_request *r;
	struct judge_hold *h;

	for (c = j->clients; c != NULL; c = c->hh.next) {
		if (c->host != host)
			continue;
		DL_FOREACH(c->requests, r)
		{
			judge_request_resume(j, r, stood_ms);
		}
	}
	DL_FOREACH2(j->hosts[host].holds, h, host_next)
	{
		/* It reads only now that clients left meanwhile. */
		judge_linger_woke(j, h, stood_ms);
		judge_notice_schedule(j, h);
	}
}

void
judge_client_free_all(struct judge *j)
{
	struct judge_client *c, *next;

	HASH_ITER(hh, j->clients, c, next)
	{
		while (c->requests != NULL)
			judge_request_free(j, c->requests);
		while (c->holds != NULL)
			judge_hold_free(j, c->holds);
		HASH_DEL(j->clients, c);
		judge_due_done(j, &c->due);
		free(c);
	}
}

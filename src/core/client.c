/*
 * Clients and their requests: admission, the one reply, and the end of a
 * connection, which leaves nothing behind.
 */
#include "core/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

struct client *
client_find(const struct core *core, uint64_t id)
{
	struct client *c;

	HASH_FIND(hh, core->clients, &id, sizeof(id), c);
	return c;
}

static int
client_new(struct core *core, uint64_t id, struct client **ret)
{
	struct client *c;

	if (HASH_COUNT(core->clients) >= core->limits.clients_max)
		return DDBLOCK_E_LIMIT;
	c = calloc(1, sizeof(*c) + core->n_namespaces * sizeof(uint32_t));
	if (c == NULL)
		return DDBLOCK_E_NOMEM;
	c->id = id;
	HASH_ADD(hh, core->clients, id, sizeof(c->id), c);
	if (c->hh.tbl == NULL) {
		free(c);
		return DDBLOCK_E_NOMEM;
	}
	*ret = c;
	return 0;
}

/* A client is remembered only while it asks, holds or watches something. */
void
client_free_if_unused(struct core *core, struct client *c)
{
	if (c->pinned || c->requests != NULL || c->holds != NULL ||
	    c->watches != NULL)
		return;
	linger_free(core, c->linger);
	HASH_DEL(core->clients, c);
	free(c);
}

void
request_free(struct core *core, struct request *r)
{
	explicit_bzero(&r->reply.secret, sizeof(r->reply.secret));
	hold_free(core, r->hold);
	free(r->owner);
	free(r->text);
	free(r->token_text);
	free(r->holder);
	free(r->change);
	free(r->found);
	if (r->listing != NULL)
		listing_free(r->listing);
	if (r->breaking != NULL)
		breaking_free(r->breaking);
	freelist_give(&core->requests, r);
}

/* Out of every list; what is under way for it is dropped when it ends. */
static void
request_unlink(struct core *core, struct request *r)
{
	struct client *c = r->client;

	if (r->grant != NULL)
		grant_downgrade(r->grant)->request = NULL;
	while (r->grants != NULL) {
		struct grant *g = r->grants;

		LL_DELETE2(r->grants, g, releasing_next);
		g->releasing = NULL;
	}
	if (r->lock != NULL || r->joint != NULL)
		queue_leave(core, r);
	if (r->changing != NULL)
		keep_leave(r);
	if (r->joint != NULL)
		joint_leave(core, r->joint);
	if (r->session != NULL)
		DL_DELETE2(r->session->renewals, r, renew_previous,
		    renew_next);
	if (r->listing != NULL)
		listing_leave(core, r->listing);
	if (r->watch != NULL)
		watch_forget_request(r->watch);
	heap_release(&core->heap, &r->timer);
	DL_DELETE2(c->requests, r, client_previous, client_next);
	c->n_requests--;
	core->n_requests--;
	r->client = NULL;
	r->joint = NULL;
	r->session = NULL;
	r->watch = NULL;
}

/* An operation of the request's own may be under way; then it is freed with
 * the outcome (listing.c, breaking.c). */
void
request_bury(struct core *core, struct request *r)
{
	if ((r->listing != NULL && r->listing->busy) ||
	    (r->breaking != NULL && r->breaking->busy)) {
		DL_APPEND2(core->abandoned, r, client_previous, client_next);
		return;
	}
	r->client_next = core->dead_requests;
	core->dead_requests = r;
}

/*
 * The one reply. The request is gone afterwards; its lock may be without a
 * reason to exist, which is for the caller to find out (lock_advance()).
 */
void
request_reply(struct core *core, struct request *r, int code, int cause,
    const char *text)
{
	struct client *c = r->client;

	r->reply.code = code;
	r->reply.cause = cause;
	if (text != NULL && text[0] != '\0') {
		r->text = strdup(text);
		r->reply.text = r->text;
	}
	request_unlink(core, r);
	if (code < 0 || r->terms.fail_closed)
		process_part_request(core, r);
	action_add(core, &r->reply.action, CORE_REPLY);
	request_bury(core, r);
	client_free_if_unused(core, c);
}

/* What the code's own text does not say. */
const char *
client_why_lost(const struct hold *h)
{
	if (h->notice.loss == CORE_LOSS_MAX_HOLD)
		return "the lock was lost: it was held as long as it may be";
	if (h->notice.loss == CORE_LOSS_KEEPALIVE)
		return "the lock was lost: nothing was heard of this client "
		       "for longer than it promised";
	return NULL;
}

/* Who shares a lock may not change what is kept in it. */
bool
client_may_change(const struct request *r, const struct hold *h)
{
	return r->change == NULL ||
	    (h->grant->mode == LOCK_MODE_EXCLUSIVE &&
		grant_downgrade(h->grant) == NULL);
}

/* The hold that a client knows by this number. */
struct hold *
client_find_hold(const struct core *core, uint64_t id)
{
	struct hold *h = hold_find(core, id);

	return h != NULL && joint_speaker(h) == h ? h : NULL;
}

/* The hold that the request is about. NULL: it has no such hold, or lost it,
 * and is answered. */
struct hold *
client_hold(struct core *core, struct request *r, uint64_t id)
{
	struct hold *h = client_find_hold(core, id);
	int code = h == NULL ? DDBLOCK_E_NO_SUCH_LOCK :
	    h->client != r->client ? DDBLOCK_E_LOCK_NOT_OWNED :
	    h->lost ? DDBLOCK_E_LOCK_LOST : 0;

	if (code == 0)
		return h;
	request_reply(core, r, code, 0,
	    code == DDBLOCK_E_LOCK_LOST ? client_why_lost(h) : NULL);
	return NULL;
}

static int
client_renew(struct core *core, struct request *r, uint64_t id)
{
	struct hold *h = client_hold(core, r, id);
	char text[OUTCOME_TEXT_MAX];

	if (h == NULL)
		return 0;
	if (format_refuse_change(h->lock->ns, r->change, text,
	    sizeof(text)) < 0)
		request_reply(core, r, DDBLOCK_E_UNSUPPORTED, 0, text);
	else if (r->change != NULL && hold_joint(h) != NULL)
		request_reply(core, r, DDBLOCK_E_UNSUPPORTED, 0,
		    CLIENT_SEVERAL);
	else if (!client_may_change(r, h))
		request_reply(core, r, DDBLOCK_E_BAD_REQUEST, 0,
		    CLIENT_SHARES);
	else {
		r->deadline_ms =
		    core->now_ms + h->lock->ns->settings.request_ms;
		heap_set(&core->heap, &r->timer, r->deadline_ms);
		r->ns = h->lock->ns;
		r->reply.hold = id;
		if (r->change == NULL) {
			renew_ask(core, hold_joint(h) == NULL ?
			    grant_session(h->grant) :
			    joint_renew(core, hold_joint(h)), r);
			return 0;
		}
		if (keep_join(h->grant, r) < 0)
			return DDBLOCK_E_NOMEM;
		lock_advance(core, h->lock);
	}
	return 0;
}

static int
client_cancel(struct core *core, struct request *r, uint64_t target)
{
	struct request *t;

	DL_FOREACH2(r->client->requests, t, client_next)
	{
		if (t->reply.request == target &&
		    (t->reply.verb == CORE_LIST ||
		    (t->reply.verb == CORE_ACQUIRE && t->lock != NULL)))
			break;
	}
	if (t == NULL) {
		request_reply(core, r, DDBLOCK_E_BAD_REQUEST, 0,
		    "no such request is waiting");
		return 0;
	}
	request_reply(core, r, 0, 0, NULL);
	if (t->reply.verb == CORE_LIST)
		request_reply(core, t, DDBLOCK_E_CANCELLED, 0, NULL);
	else
		queue_drain(core, t);
	return 0;
}

static int
client_serve(struct core *core, struct client *c, struct request *r,
    const struct core_request *ask)
{
	switch (ask->verb) {
	case CORE_ACQUIRE:
		return admit_acquire(core, c, r, ask);
	case CORE_CANCEL:
		return client_cancel(core, r, ask->target);
	case CORE_RELEASE:
		return client_release(core, r, ask->hold, ask->all);
	case CORE_RENEW:
		return client_renew(core, r, ask->hold);
	case CORE_DOWNGRADE:
		return downgrade_ask(core, r, ask);
	case CORE_GET:
	case CORE_LIST:
		return listing_ask(core, r, ask);
	case CORE_BREAK:
		return breaking_ask(core, r, ask);
	case CORE_WATCH:
		return watch_ask(core, r, ask);
	case CORE_UNWATCH:
		return watch_unask(core, r, ask);
	case CORE_RESUME:
		return linger_resume(core, r, ask);
	}
	return DDBLOCK_E_BAD_REQUEST;
}

static int
request_new(struct core *core, struct client *c,
    const struct core_request *ask, struct request **ret)
{
	struct request *r = freelist_take(&core->requests, sizeof(*r));

	if (r == NULL)
		return DDBLOCK_E_NOMEM;
	memset(r, 0, sizeof(*r));
	if (ask->change != NULL)
		r->change = change_copy(ask->change);
	/* A release goes on without it, and says so in the end. */
	if (ask->change != NULL && r->change == NULL)
		r->released_code = DDBLOCK_E_NOMEM;
	if ((r->released_code < 0 && ask->verb != CORE_RELEASE) ||
	    heap_reserve(&core->heap) < 0) {
		request_free(core, r);
		return DDBLOCK_E_NOMEM;
	}
	r->reply.client = ask->client;
	r->reply.request = ask->request;
	r->reply.verb = ask->verb;
	r->serial = ++core->request_serial;
	r->client = c;
	r->asked_ms = core->now_ms;
	r->ns = &core->namespaces[ask->namespace_index];
	r->only_if_exists = ask->only_if_exists;
	r->of_process = ask->of_process;
	r->timer.kind = TIMER_REQUEST;
	DL_APPEND2(c->requests, r, client_previous, client_next);
	c->n_requests++;
	core->n_requests++;
	*ret = r;
	return 0;
}

/* What gives something back is admitted whatever is full: it is over at once,
 * or bounded by the holds, and to refuse it would make room for nobody. */
static bool
client_is_full(const struct core *core, const struct client *c,
    enum core_verb verb)
{
	if (verb == CORE_RELEASE || verb == CORE_CANCEL ||
	    verb == CORE_UNWATCH)
		return false;
	return core->n_requests >= core->limits.requests_max ||
	    (c != NULL &&
		c->n_requests >= core->limits.requests_per_client_max);
}

int
client_request(struct core *core, const struct core_request *ask)
{
	struct client *c = client_find(core, ask->client);
	struct request *r;
	int code;

	if (c != NULL)
		c->heard_ms = core->now_ms;
	if (ask->namespace_index >= core->n_namespaces)
		return DDBLOCK_E_UNKNOWN_NAMESPACE;
	if (client_is_full(core, c, ask->verb))
		return DDBLOCK_E_LIMIT;
	if (c == NULL) {
		code = client_new(core, ask->client, &c);
		if (code < 0)
			return code;
	}
	code = request_new(core, c, ask, &r);
	if (code < 0) {
		c->pinned = true;
		if (ask->verb == CORE_RELEASE)
			client_release_unheard(core, c, ask->hold, ask->all);
		c->pinned = false;
		client_free_if_unused(core, c);
		return code;
	}
	code = client_serve(core, c, r, ask);
	if (code < 0) {
		/* Not admitted: as if it had never been asked. */
		request_unlink(core, r);
		request_free(core, r);
		client_free_if_unused(core, c);
	}
	return code;
}

void
client_heard(struct core *core, uint64_t id)
{
	struct client *c = client_find(core, id);

	if (c != NULL)
		c->heard_ms = core->now_ms;
}

/* The client sends no more: what waits is answered now, one way or another. */
void
client_drain(struct core *core, uint64_t id)
{
	struct client *c = client_find(core, id);
	uint64_t serial = core->request_serial;
	struct request *r;

	if (c == NULL)
		return;
	c->draining = true;
	/* Each reply changes the list, so begin anew after each. */
	for (r = c->requests; r != NULL;) {
		if (r->serial > serial || r->lock == NULL || r->overdue ||
		    r->reply.verb != CORE_ACQUIRE) {
			r = r->client_next;
			continue;
		}
		queue_drain(core, r);
		c = client_find(core, id);
		r = c == NULL ? NULL : c->requests;
	}
}

static void
client_drop_request(struct core *core, struct request *r)
{
	struct lock *l = r->reply.verb == CORE_ACQUIRE ? r->lock : NULL;

	request_unlink(core, r);
	process_part_request(core, r);
	request_bury(core, r);
	if (l != NULL)
		lock_advance(core, l);
}

/* Nothing is left to do. Who still asks (only reads do) is told so. */
void
client_stop(struct core *core)
{
	struct client *c, *next;

	HASH_ITER(hh, core->clients, c, next)
	{
		struct request *r, *next_request;

		DL_FOREACH_SAFE2(c->requests, r, next_request, client_next)
			request_reply(core, r, DDBLOCK_E_SHUTTING_DOWN, 0,
			    NULL);
	}
}

/* Does it not end with its connection, or has it ended before? */
static bool
client_leaves(const struct hold *h)
{
	return h->lost || h->fail_closed || linger_keeps(h) || process_has(h) ||
	    (h->terms != NULL && h->terms->stays);
}

/* It may be at work with them: so they are lost, and it is told while it can
 * be. */
static void
client_lose_all(struct core *core, struct client *c)
{
	struct hold *h, *next;

	DL_FOREACH_SAFE2(c->holds, h, next, client_next)
	{
		if (!client_leaves(h))
			hold_cut_off(core, h);
	}
}

/* Its connection has ended; by ourselves if it was @cut off. */
static void
client_end(struct core *core, uint64_t id, bool cut)
{
	struct client *c = client_find(core, id);
	struct hold *h, *next;

	if (c == NULL)
		return;
	c->pinned = true;
	c->leaving = true;
	while (c->requests != NULL)
		client_drop_request(core, c->requests);
	while (c->watches != NULL)
		watch_end(core, c->watches);
	if (cut)
		client_lose_all(core, c);
	c->gone = true;
	DL_FOREACH_SAFE2(c->holds, h, next, client_next)
	{
		if (!linger_keeps(h) && !terms_stay(core, h) &&
		    !process_keeps(core, h))
			hold_desert(core, h);
	}
	linger_begin(core, c, cut);
	c->pinned = false;
	client_free_if_unused(core, c);
}

void
client_gone(struct core *core, uint64_t id)
{
	client_end(core, id, false);
}

void
client_cut_off(struct core *core, uint64_t id)
{
	client_end(core, id, true);
}

/*
 * Clients, their requests and their holds: admission, the one reply, and the
 * end of a connection, which leaves nothing behind.
 */
#include "core/state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

static struct client *
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

/* A client is remembered only while it asks or holds something. */
static void
client_free_if_unused(struct core *core, struct client *c)
{
	if (c->pinned || c->requests != NULL || c->holds != NULL)
		return;
	HASH_DEL(core->clients, c);
	free(c);
}

struct hold *
hold_find(const struct core *core, uint64_t id)
{
	struct hold *h;

	HASH_FIND(hh, core->holds, &id, sizeof(id), h);
	return h;
}

/* The hold is valid no more; its client is told. It stays until the client
 * releases it, so that a release says why it came too late. */
void
hold_lose(struct core *core, struct hold *h, enum core_loss loss)
{
	struct namespace *ns = h->lock->ns;

	assert(!h->lost);
	assert(h->client->held_in[ns->index] > 0);
	h->lost = true;
	h->client->held_in[ns->index]--;
	ns->n_held--;
	ns->lost++;
	h->lock->references++;
	action_notice(core, h, CORE_LOST, loss);
}

/* Forget a hold that was released or whose client is gone. Its lock no longer
 * refers to it. */
void
hold_end(struct core *core, struct hold *h)
{
	struct client *c = h->client;
	struct lock *l = h->lock;

	assert(h->grant == NULL);
	HASH_DEL(core->holds, h);
	DL_DELETE2(c->holds, h, client_previous, client_next);
	c->n_holds--;
	if (h->lost) {
		assert(l->references > 0);
		l->references--;
		lock_free_if_unused(core, l);
	} else {
		c->held_in[l->ns->index]--;
		l->ns->n_held--;
	}
	h->lock = NULL;
	h->client_next = core->dead_holds;
	core->dead_holds = h;
	client_free_if_unused(core, c);
}

void
request_free(struct core *core, struct request *r)
{
	free(r->hold);
	free(r->owner);
	free(r->text);
	free(r->holder);
	if (r->listing != NULL)
		listing_free(r->listing);
	if (core->n_spare_requests >= SPARES_MAX) {
		free(r);
		return;
	}
	r->client_next = core->spare_requests;
	core->spare_requests = r;
	core->n_spare_requests++;
}

void
request_free_spares(struct core *core)
{
	while (core->spare_requests != NULL) {
		struct request *r = core->spare_requests;

		core->spare_requests = r->client_next;
		free(r);
	}
}

static struct request *
request_alloc(struct core *core)
{
	struct request *r = core->spare_requests;

	if (r == NULL)
		return calloc(1, sizeof(*r));
	core->spare_requests = r->client_next;
	core->n_spare_requests--;
	memset(r, 0, sizeof(*r));
	return r;
}

/* Out of every list; what is under way for it is dropped when it ends. */
static void
request_unlink(struct core *core, struct request *r)
{
	struct client *c = r->client;

	if (r->grant != NULL)
		r->grant->releasing = NULL;
	if (r->lock != NULL)
		queue_leave(core, r);
	if (r->session != NULL)
		DL_DELETE2(r->session->renewals, r, renew_previous,
		    renew_next);
	if (r->listing != NULL)
		listing_leave(core, r->listing);
	heap_release(&core->heap, &r->timer);
	DL_DELETE2(c->requests, r, client_previous, client_next);
	c->n_requests--;
	core->n_requests--;
	r->client = NULL;
	r->grant = NULL;
	r->session = NULL;
}

/* An operation of the request's own may be under way; then it is freed with
 * the outcome (listing.c). */
static void
request_bury(struct core *core, struct request *r)
{
	if (r->listing != NULL && r->listing->busy) {
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
	action_add(core, &r->reply.action, CORE_REPLY);
	request_bury(core, r);
	client_free_if_unused(core, c);
}

static int
client_release(struct core *core, struct request *r, uint64_t id)
{
	struct hold *h = hold_find(core, id);
	struct grant *g;

	if (h == NULL) {
		request_reply(core, r, DDBLOCK_E_NO_SUCH_LOCK, 0, NULL);
		return 0;
	}
	if (h->client != r->client) {
		request_reply(core, r, DDBLOCK_E_LOCK_NOT_OWNED, 0, NULL);
		return 0;
	}
	if (h->lost) {
		request_reply(core, r, DDBLOCK_E_LOCK_LOST, 0, NULL);
		hold_end(core, h);
		return 0;
	}
	g = h->grant;
	grant_drop_hold(h);
	hold_end(core, h);
	if (g->holds != NULL) {
		/* Others here share it, so nothing is to be written. */
		request_reply(core, r, 0, 0, NULL);
		return 0;
	}
	assert(g->releasing == NULL);
	g->releasing = r;
	r->grant = g;
	/* What is under way for the lock comes first; the client does not wait
	 * for that and for the release. */
	r->deadline_ms = core->now_ms + g->lock->ns->settings.request_ms;
	heap_set(&core->heap, &r->timer, r->deadline_ms);
	lock_release(core, g->lock);
	return 0;
}

static int
client_renew(struct core *core, struct request *r, uint64_t id)
{
	struct hold *h = hold_find(core, id);

	if (h == NULL)
		request_reply(core, r, DDBLOCK_E_NO_SUCH_LOCK, 0, NULL);
	else if (h->client != r->client)
		request_reply(core, r, DDBLOCK_E_LOCK_NOT_OWNED, 0, NULL);
	else if (h->lost)
		request_reply(core, r, DDBLOCK_E_LOCK_LOST, 0, NULL);
	else {
		r->deadline_ms =
		    core->now_ms + h->lock->ns->settings.request_ms;
		heap_set(&core->heap, &r->timer, r->deadline_ms);
		r->reply.hold = id;
		session_renew(core, h->grant->session, r);
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
		return queue_acquire(core, c, r, ask);
	case CORE_CANCEL:
		return client_cancel(core, r, ask->target);
	case CORE_RELEASE:
		return client_release(core, r, ask->hold);
	case CORE_RENEW:
		return client_renew(core, r, ask->hold);
	case CORE_GET:
	case CORE_LIST:
		return listing_ask(core, r, ask);
	}
	return DDBLOCK_E_BAD_REQUEST;
}

static int
request_new(struct core *core, struct client *c,
    const struct core_request *ask, struct request **ret)
{
	struct request *r = request_alloc(core);

	if (r == NULL)
		return DDBLOCK_E_NOMEM;
	if (heap_reserve(&core->heap) < 0) {
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
	if (verb == CORE_RELEASE || verb == CORE_CANCEL)
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

void
client_gone(struct core *core, uint64_t id)
{
	struct client *c = client_find(core, id);

	if (c == NULL)
		return;
	c->pinned = true;
	while (c->requests != NULL)
		client_drop_request(core, c->requests);
	while (c->holds != NULL) {
		struct hold *h = c->holds;
		struct grant *g = h->grant;

		if (g != NULL)
			grant_drop_hold(h);
		hold_end(core, h);
		if (g != NULL && g->holds == NULL)
			lock_release(core, g->lock);
	}
	c->pinned = false;
	client_free_if_unused(core, c);
}

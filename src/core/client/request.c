/*
 * A request: its admission, its one reply, and its end.
 */
#include "core/client/room.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

struct request *
request_of(struct waiter *w)
{
	return w == NULL ? NULL : CONTAINER_OF(w, struct request, waiter);
}

/* A client's numbers follow each other, and so do those of clients. */
static uint32_t
request_hash_of(uint64_t client, uint64_t number)
{
	return (uint32_t)((client * UINT64_C(0x9e3779b97f4a7c15)) >> 32) ^
	    (uint32_t)number;
}

uint32_t
request_hash(const struct hash_link *link)
{
	const struct request *r =
	    CONTAINER_OF((uintptr_t)link, struct request, link);

	return request_hash_of(r->reply.client, r->reply.request);
}

static bool
request_is_found(const struct request *r)
{
	return r->reply.verb == CORE_ACQUIRE || r->reply.verb == CORE_LIST;
}

struct request *
request_find(const struct core *core, uint64_t client, uint64_t number)
{
	const struct hash_link *link =
	    hash_chain(&core->asked, request_hash_of(client, number));

	for (; link != NULL; link = link->next) {
		struct request *r =
		    CONTAINER_OF((uintptr_t)link, struct request, link);

		if (r->reply.client == client && r->reply.request == number)
			return r;
	}
	return NULL;
}

struct request *
request_waiting_after(const struct core *core, uint64_t serial)
{
	struct rank *rank = rank_after(core->waiting, serial);

	return rank == NULL ? NULL :
	    CONTAINER_OF(rank, struct request, waiting);
}

/* ---- admission -------------------------------------------------------- */

int
request_new(struct core *core, struct client *c,
    const struct core_request *ask, struct request **ret)
{
	struct request *r = freelist_take(&core->requests, sizeof(*r));
	struct waiter *w;

	if (r == NULL)
		return DDBLOCK_E_NOMEM;
	memset(r, 0, sizeof(*r));
	w = &r->waiter;
	if (ask->change != NULL)
		w->change = change_copy(ask->change);
	/* A release goes on without it, and says so in the end. */
	if (ask->change != NULL && w->change == NULL)
		w->released_code = DDBLOCK_E_NOMEM;
	if ((w->released_code < 0 && ask->verb != CORE_RELEASE) ||
	    heap_reserve(&core->later) < 0) {
		request_free(core, r);
		return DDBLOCK_E_NOMEM;
	}
	w->serial = ++core->request_serial;
	w->asked_ms = core->now_ms;
	w->only_if_exists = ask->only_if_exists;
	w->timer.kind = TIMER_REQUEST;
	r->reply.client = ask->client;
	r->reply.request = ask->request;
	r->reply.verb = ask->verb;
	r->client = c;
	r->ns = &core->namespaces[ask->namespace_index];
	r->of_process = ask->of_process;
	DL_APPEND2(c->requests, r, client_previous, client_next);
	if (request_is_found(r))
		hash_add(&core->asked, &r->link,
		    request_hash_of(c->id, ask->request));
	c->n_requests++;
	core->n_requests++;
	w->user = ask->user;
	if (ask->verb == CORE_ACQUIRE) {
		r->terms = ask->terms;
		if (r->terms.process != 0)
			process_note_request(core, r);
	}
	*ret = r;
	return 0;
}

/* ---- the end ---------------------------------------------------------- */

void
request_free(struct core *core, struct request *r)
{
	hold_free(core, r->hold);
	free(r->waiter.owner);
	free(r->text);
	free(r->token_text);
	free(r->holder);
	free(r->waiter.change);
	free(r->found);
	if (r->kind != NULL)
		r->kind->free(r);
	freelist_give(&core->requests, r);
}

/* It waits no more. */
static void
request_wait_no_more(struct core *core, struct request *r)
{
	if (r->waiter.lock != NULL)
		queue_part(&r->waiter);
	rank_remove(&core->waiting, &r->waiting);
}

/* Out of every list; what is under way for it is dropped when it ends. */
static void
request_unlink(struct core *core, struct request *r)
{
	struct client *c = r->client;
	struct waiter *w = &r->waiter;

	if (w->grant != NULL && r->reply.verb == CORE_DOWNGRADE)
		downgrade_stop_awaiting(w);
	if (w->grants != NULL)
		grant_stop_awaiting(w);
	if (w->lock != NULL || r->multi != NULL)
		request_wait_no_more(core, r);
	if (w->grant != NULL)
		update_leave(w);
	if (r->multi != NULL)
		multi_leave(core, r->multi);
	if (r->lease != NULL)
		DL_DELETE2(r->lease->renewals, r, renew_previous,
		    renew_next);
	if (r->terms.process != 0)
		process_forget_request(core, r);
	if (r->kind != NULL && r->kind->leave != NULL)
		r->kind->leave(core, r);
	heap_release(&core->later, &w->timer);
	if (request_is_found(r))
		hash_remove(&core->asked, &r->link,
		    request_hash_of(c->id, r->reply.request));
	if (c->resume != NULL && c->resume->request == r)
		c->resume->request = NULL;
	if (c->to_drain == r)
		c->to_drain = r->client_next;
	DL_DELETE2(c->requests, r, client_previous, client_next);
	c->n_requests--;
	core->n_requests--;
	if (r->bytes > 0)
		share_add(core, c, SHARE_ASKED, -(int64_t)r->n_asked,
		    -(int64_t)r->bytes);
	r->client = NULL;
	r->multi = NULL;
	r->lease = NULL;
}

/* An operation of the request's own may be under way; then it is freed with
 * the outcome (request_abandoned()). */
static void
request_bury(struct core *core, struct request *r)
{
	if (r->kind != NULL && r->kind->is_busy(r)) {
		DL_APPEND2(core->abandoned, r, client_previous, client_next);
		return;
	}
	r->client_next = core->dead_requests;
	core->dead_requests = r;
}

void
request_abandoned(struct core *core, struct request *r)
{
	DL_DELETE2(core->abandoned, r, client_previous, client_next);
	request_bury(core, r);
}

/*
 * The request is gone afterwards; its lock may be without a reason to exist,
 * which is for the caller to find out (lock_advance()).
 */
void
request_reply(struct core *core, struct request *r, int code, int cause,
    const char *text)
{
	struct client *c = r->client;

	if (r->reply.verb == CORE_ACQUIRE && r->waiter.lock != NULL)
		figures_answered(r->ns, lock_key(r->waiter.lock), code,
		    core->now_ms - r->waiter.asked_ms);
	r->reply.code = code;
	r->reply.cause = cause;
	if (text != NULL && text[0] != '\0') {
		r->text = strdup(text);
		r->reply.text = r->text;
	}
	request_unlink(core, r);
	if (r->terms.process != 0 && (code < 0 || r->terms.fail_closed))
		process_part_request(core, r);
	action_add(core, &r->reply.action, CORE_REPLY);
	request_bury(core, r);
	client_free_if_unused(core, c);
}

void
request_answered(struct core *core, struct waiter *w, int code, int cause,
    const char *text)
{
	struct request *r = request_of(w);

	if (code == DDBLOCK_E_NOT_DUE) {
		r->reply.ran_s = w->ran_s;
		r->reply.due_s = w->ran_s + w->every_s;
	}
	request_reply(core, r, code, cause, text);
}

void
request_refuse(struct core *core, struct request *r)
{
	struct client *c = r->client;

	request_unlink(core, r);
	request_free(core, r);
	client_free_if_unused(core, c);
}

/* The reply is not wanted any more. */
void
request_drop(struct core *core, struct request *r)
{
	struct lock *l = r->waiter.lock;

	request_unlink(core, r);
	if (r->terms.process != 0)
		process_part_request(core, r);
	request_bury(core, r);
	if (l != NULL)
		lock_advance(core, l);
}

/* ---- its time --------------------------------------------------------- */

/* The hold that the request is about. NULL: it has no such hold, or lost it,
 * and is answered. */
struct hold *
request_hold(struct core *core, struct request *r, uint64_t id)
{
	struct hold *h = hold_known_as(core, id);
	int code = h == NULL ? DDBLOCK_E_NO_SUCH_LOCK :
	    h->client != r->client ? DDBLOCK_E_LOCK_NOT_OWNED :
	    h->lost ? DDBLOCK_E_LOCK_LOST : 0;

	if (code == 0)
		return h;
	request_reply(core, r, code, 0,
	    code == DDBLOCK_E_LOCK_LOST ? hold_why_lost(h) : NULL);
	return NULL;
}

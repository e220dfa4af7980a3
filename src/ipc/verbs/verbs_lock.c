/*
 * The verbs that the core answers once, except the two that acquire: each turns
 * its arguments into one event.
 */
#include "common/clock.h"
#include "common/error.h"
#include "ipc/answer/answer.h"
#include "ipc/connection/keep.h"
#include "ipc/connection/process.h"
#include "ipc/connection/rights.h"
#include "ipc/verbs/room.h"

/* What another client holds for a process, or left to one, is released by that
 * client's user, or root. The core says whether it is for a process. */
static bool
verbs_of_process(struct connection *c, uint64_t hold)
{
	const struct server *s = c->server;
	const struct connection *holder;
	const struct process *p;
	struct core_hold_view v;

	if (!core_view_hold(s->calls.core(s->arg), hold, clock_boot_ms(), &v))
		return false;
	holder = server_find(s, v.client);
	p = process_find(s, v.terms.process);
	if (holder == NULL && p == NULL)
		return false;
	return peer_is_root(&c->peer, c->fd, s) || c->peer.uid ==
	    (holder != NULL ? holder->peer.uid : p->user->uid);
}

int
verbs_release(struct connection *c, const struct protocol_request *q)
{
	struct core_event event = { .type = CORE_REQUEST };
	struct core_request *ask = &event.request;
	struct update update;
	int r;

	if (protocol_is(q, ARGUMENT_ALL))
		return release_all(c, q);
	r = update_read(c, q, &update, &ask->change);
	if (r < 0 && r != DDBLOCK_E_LIMIT)
		return r;
	ask->verb = CORE_RELEASE;
	ask->hold = protocol_number(q, ARGUMENT_ID);
	ask->of_process = protocol_is(q, ARGUMENT_OF_PROCESS) &&
	    verbs_of_process(c, ask->hold);
	if (r < 0) {
		request_release_unanswered(c, &event);
		return r;
	}
	return request_ask(c, q, &event);
}

int
verbs_renew(struct connection *c, const struct protocol_request *q)
{
	struct core_event event = { .type = CORE_REQUEST };
	struct core_request *ask = &event.request;
	struct update update;
	int r = update_read(c, q, &update, &ask->change);

	if (r < 0)
		return r;
	ask->verb = CORE_RENEW;
	ask->hold = protocol_number(q, ARGUMENT_ID);
	return request_ask(c, q, &event);
}

int
verbs_downgrade(struct connection *c, const struct protocol_request *q)
{
	struct core_event event = { .type = CORE_REQUEST };
	struct core_request *ask = &event.request;
	char owner[OWNER_LENGTH_MAX + 1];
	struct core_hold_view v;

	ask->verb = CORE_DOWNGRADE;
	ask->hold = protocol_number(q, ARGUMENT_ID);
	ask->terms.mode = LOCK_MODE_SHARED;
	ask->terms.limit = (uint32_t)protocol_number(q, ARGUMENT_LIMIT);
	/* If there is none, its owner does not matter. */
	if (!core_view_hold(c->server->calls.core(c->server->arg), ask->hold,
	    clock_boot_ms(), &v))
		v.namespace_index = 0;
	(void)owner_of_hold(c->server, v.namespace_index, c->client,
	    v.terms.process, owner);
	ask->owner = owner;
	return request_ask(c, q, &event);
}

/*
 * The request may have been answered while this one was on its way, so the
 * client made no mistake if it is not found.
 */
int
verbs_cancel(struct connection *c, const struct protocol_request *q)
{
	const struct codec_text *tag = protocol_text(q, ARGUMENT_TAG);
	struct core_event event = { .type = CORE_REQUEST };
	struct pending *p = pending_find_tag(c, tag->bytes, tag->length);
	struct buffer *b;
	bool found;

	if (p != NULL && (p->acquire ||
	    (p->kind == PENDING_LIST && p->listing->asked))) {
		event.request.verb = CORE_CANCEL;
		event.request.target = p->number;
		return request_ask(c, q, &event);
	}
	found = p != NULL && p->listing != NULL && p->kind != PENDING_RESUME;
	if (found) {
		connection_refuse(c, p->tag, DDBLOCK_E_CANCELLED, NULL);
		pending_free(c, p);
	}
	b = connection_out(c);
	codec_begin(b, q->line->tag.bytes, "OK");
	codec_boolean(b, "cancelled", found);
	codec_end(b, NULL);
	connection_queued(c);
	return 0;
}

/* A query about one lock that acquires nothing. */
static int
verbs_of_key(struct connection *c, const struct protocol_request *q,
    enum core_verb verb)
{
	struct core_event event = { .type = CORE_REQUEST };
	struct core_request *ask = &event.request;
	char name[KEY_BYTES_MAX];
	int r = request_lock(c, q, ask, name);

	if (r < 0)
		return r;
	ask->verb = verb;
	if (verb != CORE_UNWATCH)
		r = rights_check(c, ask->namespace_index, &ask->key,
		    ACCESS_SEE);
	/* It was allowed in another process: its client has an answer. */
	if (r < 0 && c->server->again != NULL && c->server->again->answered) {
		change_denied(c, ask->namespace_index, ask->key);
		return 0;
	}
	return r < 0 ? r : request_ask(c, q, &event);
}

int
verbs_get(struct connection *c, const struct protocol_request *q)
{
	return verbs_of_key(c, q, CORE_GET);
}

int
verbs_watch(struct connection *c, const struct protocol_request *q)
{
	return verbs_of_key(c, q, CORE_WATCH);
}

int
verbs_unwatch(struct connection *c, const struct protocol_request *q)
{
	return verbs_of_key(c, q, CORE_UNWATCH);
}

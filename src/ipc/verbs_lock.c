/*
 * The verbs that the core answers once, but for the two that acquire:
 * arguments in, one event for it.
 */
#include <string.h>

#include "common/clock.h"
#include "common/error.h"
#include "ipc/connection.h"
#include "ipc/process.h"
#include "store/store.h"

_Static_assert(KEY_LENGTH_MAX == PROTOCOL_KEY_MAX && KEY_SORT_MAX == 1024,
    "protocol.def says so");

static bool
verbs_sorts(const struct server *s, uint32_t namespace_index)
{
	struct store_status status;

	s->calls.store_status(s->arg, namespace_index, &status);
	return status.sorts;
}

int
verbs_name(struct connection *c, const struct protocol_request *q, size_t n,
    uint32_t namespace_index, char bytes[KEY_BYTES_MAX], struct key *ret)
{
	const struct server *s = c->server;
	const struct codec_text *key = &q->line->arguments[n].value;
	const struct codec_text *sort = protocol_text(q, ARGUMENT_SORT);
	struct key_parts parts = {
		.key = { key->bytes, key->length },
		.sort = key_text(KEY_SORT_NONE),
	};

	if (sort != NULL)
		parts.sort = (struct key){ sort->bytes, sort->length };
	if (key_is_sorted(&parts) && !verbs_sorts(s, namespace_index))
		return verbs_reason(c, DDBLOCK_E_UNSUPPORTED, "namespace "
		    "\"%s\" has no sort keys: its table has a partition key "
		    "only", s->calls.namespace_name(s->arg, namespace_index));
	*ret = key_join(&parts, bytes);
	return 0;
}

int
verbs_room(struct connection *c)
{
	if (c->n_pending < c->server->limits.requests_per_connection_max)
		return 0;
	return verbs_reason(c, DDBLOCK_E_LIMIT,
	    "%u requests of this connection have no reply yet", c->n_pending);
}

int
verbs_pending(struct connection *c, enum pending_kind kind,
    const struct protocol_request *q, struct pending **ret)
{
	struct pending *p;

	p = pending_new(c, kind, &q->line->tag);
	if (p == NULL)
		return verbs_reason(c, DDBLOCK_E_LIMIT, "out of memory");
	*ret = p;
	return 0;
}

int
verbs_pending_rows(struct connection *c, enum pending_kind kind,
    const struct protocol_request *q, const struct codec_text *key,
    struct pending **ret)
{
	struct pending *p = NULL;
	int r;

	/* Nobody loses what he holds for what he lists. */
	if (kind != PENDING_RESUME && c->n_listings >= CONNECTION_LISTINGS_MAX)
		return verbs_reason(c, DDBLOCK_E_LIMIT, "%u listings of this "
		    "connection have no reply yet", c->n_listings);
	r = verbs_room(c);
	if (r == 0)
		r = verbs_pending(c, kind, q, &p);
	if (r < 0)
		return r;
	p->listing = listing_new(key, protocol_text(q, ARGUMENT_SORT));
	if (p->listing == NULL) {
		pending_free(c, p);
		return verbs_reason(c, DDBLOCK_E_LIMIT, "out of memory");
	}
	c->n_listings++;
	*ret = p;
	return 0;
}

int
verbs_step(struct connection *c, struct pending *p, struct core_event *event)
{
	int r;

	event->type = CORE_REQUEST;
	event->request.client = c->client;
	event->request.request = p->number;
	r = connection_step(c, event);
	if (r == 0)
		return 0;
	pending_free(c, p);
	/* Not admitted; but a release is one all the same. */
	return verbs_reason(c, r == DDBLOCK_E_NOMEM &&
	    event->request.verb != CORE_RELEASE ? DDBLOCK_E_LIMIT : r,
	    "%s", error_text(r));
}

/* It cannot be as asked for; but what it gives back is given back, though
 * nobody waits for the answer. */
static void
verbs_release_unheard(struct connection *c, struct core_event *event)
{
	event->type = CORE_REQUEST;
	event->request.client = c->client;
	event->request.change = NULL;
	(void)connection_step(c, event);
}

/* A hold whose client left it to a process is released by the client's user,
 * or root. */
static bool
verbs_of_process(struct connection *c, uint64_t hold)
{
	const struct process *p = NULL;
	struct core_hold_view v;

	if (core_view_hold(c->server->calls.core(c->server->arg), hold,
	    clock_boot_ms(), &v))
		p = process_find(c->server, v.terms.process);
	return p != NULL && (c->peer.uid == 0 || p->user->uid == c->peer.uid);
}

static int
verbs_ask_so(struct connection *c, const struct protocol_request *q,
    struct core_event *event, bool best_effort)
{
	enum core_verb verb = event->request.verb;
	struct pending *p = NULL;
	int r = 0;

	/* A client that waits too much can still release and cancel. */
	if (verb != CORE_RELEASE && verb != CORE_CANCEL &&
	    verb != CORE_UNWATCH)
		r = verbs_room(c);
	if (r < 0)
		return r;
	r = verbs_pending(c, PENDING_CORE, q, &p);
	if (r < 0 && verb == CORE_RELEASE) {
		verbs_release_unheard(c, event);
		return verbs_reason(c, DDBLOCK_E_NOMEM, "%s",
		    error_text(DDBLOCK_E_NOMEM));
	}
	if (r < 0)
		return r;
	p->acquire = event->request.verb == CORE_ACQUIRE;
	if (event->request.change != NULL)
		p->bytes = contents_size(&event->request.change->contents);
	c->pending_bytes += p->bytes;
	c->user->pending_bytes += p->bytes;
	p->best_effort = best_effort;
	return verbs_step(c, p, event);
}

int
verbs_ask(struct connection *c, const struct protocol_request *q,
    struct core_event *event)
{
	return verbs_ask_so(c, q, event, false);
}

int
verbs_release(struct connection *c, const struct protocol_request *q)
{
	struct core_event event = { .type = CORE_REQUEST };
	struct core_request *ask = &event.request;
	struct verbs_change change;
	int r;

	if (protocol_is(q, ARGUMENT_ALL))
		return release_all(c, q);
	r = verbs_change(c, q, &change, &ask->change);
	if (r < 0 && r != DDBLOCK_E_LIMIT)
		return r;
	ask->verb = CORE_RELEASE;
	ask->hold = protocol_number(q, ARGUMENT_ID);
	ask->of_process = protocol_is(q, ARGUMENT_OF_PROCESS) &&
	    verbs_of_process(c, ask->hold);
	if (r < 0) {
		verbs_release_unheard(c, &event);
		return r;
	}
	return verbs_ask_so(c, q, &event,
	    protocol_is(q, ARGUMENT_BEST_EFFORT));
}

int
verbs_renew(struct connection *c, const struct protocol_request *q)
{
	struct core_event event = { .type = CORE_REQUEST };
	struct core_request *ask = &event.request;
	struct verbs_change change;
	int r = verbs_change(c, q, &change, &ask->change);

	if (r < 0)
		return r;
	ask->verb = CORE_RENEW;
	ask->hold = protocol_number(q, ARGUMENT_ID);
	return verbs_ask(c, q, &event);
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
	/* If there is none such, it does not matter who would have it. */
	if (!core_view_hold(c->server->calls.core(c->server->arg), ask->hold,
	    clock_boot_ms(), &v))
		v.namespace_index = 0;
	(void)server_owner(c->server, v.namespace_index, c, owner);
	ask->owner = owner;
	return verbs_ask(c, q, &event);
}

/*
 * The request may have been answered while this one was on its way, so not to
 * find it is no mistake of the client's.
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
		return verbs_ask(c, q, &event);
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

/* A question about one lock that takes nothing. */
static int
verbs_of_key(struct connection *c, const struct protocol_request *q,
    enum core_verb verb)
{
	struct core_event event = { .type = CORE_REQUEST };
	struct core_request *ask = &event.request;
	char name[KEY_BYTES_MAX];
	int r = verbs_namespace(c, q, &ask->namespace_index);

	if (r == 0)
		r = verbs_name(c, q, 0, ask->namespace_index, name,
		    &ask->key);
	if (r < 0)
		return r;
	ask->verb = verb;
	return verbs_ask(c, q, &event);
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

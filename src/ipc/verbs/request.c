/*
 * Shared by the handlers of requests: the namespace and the key of a request,
 * the request that waits for its answer, and the step of the core.
 */
#include <string.h>

#include "common/error.h"
#include "ipc/connection/keep.h"
#include "ipc/connection/rights.h"
#include "ipc/verbs/room.h"
#include "store/store.h"

_Static_assert(KEY_LENGTH_MAX == PROTOCOL_KEY_MAX && KEY_SORT_MAX == 1024,
    "protocol.def says so");

static int
request_find_namespace(struct connection *c, const char *name, size_t length,
    uint32_t *ret)
{
	const struct server *s = c->server;
	uint32_t n = s->calls.n_namespaces(s->arg);

	for (uint32_t i = 0; i < n; i++) {
		const char *known = s->calls.namespace_name(s->arg, i);

		if (strlen(known) == length &&
		    memcmp(known, name, length) == 0) {
			*ret = i;
			return 0;
		}
	}
	return connection_reason(c, DDBLOCK_E_UNKNOWN_NAMESPACE,
	    "there is no namespace \"%.*s\"", length > 60 ? 60 : (int)length,
	    name);
}

int
request_namespace(struct connection *c, const struct protocol_request *q,
    uint32_t *ret)
{
	const struct codec_text *name = protocol_text(q, ARGUMENT_NS);

	if (name == NULL)
		return 0; /* the caller's default stands */
	return request_find_namespace(c, name->bytes, name->length, ret);
}

int
request_namespaces(struct connection *c, const struct protocol_request *q,
    uint64_t *ret)
{
	const struct codec_text *names = protocol_text(q, ARGUMENT_NAMESPACES);
	const char *name = names == NULL ? NULL : names->bytes;
	uint64_t found = 0;

	while (name != NULL) {
		size_t left = names->length - (size_t)(name - names->bytes);
		const char *comma = memchr(name, ',', left);
		size_t length = comma == NULL ? left : (size_t)(comma - name);
		uint32_t index = 0;
		int r = request_find_namespace(c, name, length, &index);

		if (r < 0)
			return r;
		if (found >> index & 1)
			return connection_reason(c, DDBLOCK_E_BAD_REQUEST,
			    "namespace \"%.60s\" is named twice", c->server->
			    calls.namespace_name(c->server->arg, index));
		found |= UINT64_C(1) << index;
		*ret = found;
		name = comma == NULL ? NULL : comma + 1;
	}
	return 0;
}

int
request_administers(struct connection *c, uint64_t namespaces)
{
	const struct server *s = c->server;
	uint32_t n = s->calls.n_namespaces(s->arg);
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < n; i++) {
		if ((namespaces >> i & 1) != 0)
			r = rights_check(c, i, NULL, ACCESS_ADMIN);
	}
	return r;
}

static bool
request_sorts(const struct server *s, uint32_t namespace_index)
{
	struct store_status status;

	s->calls.store_status(s->arg, namespace_index, &status);
	return status.sorts;
}

int
request_name(struct connection *c, const struct protocol_request *q, size_t n,
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
	if (key_is_sorted(&parts) && !request_sorts(s, namespace_index))
		return connection_reason(c, DDBLOCK_E_UNSUPPORTED, "namespace "
		    "\"%s\" has no sort keys: its table has a partition key "
		    "only", s->calls.namespace_name(s->arg, namespace_index));
	*ret = key_join(&parts, bytes);
	return 0;
}

int
request_lock(struct connection *c, const struct protocol_request *q,
    struct core_request *ask, char bytes[KEY_BYTES_MAX])
{
	int r = request_namespace(c, q, &ask->namespace_index);

	return r < 0 ? r : request_name(c, q, 0, ask->namespace_index, bytes,
	    &ask->key);
}

int
request_room(struct connection *c)
{
	if (c->n_pending >= c->server->limits.requests_per_connection_max)
		return connection_reason(c, DDBLOCK_E_LIMIT, "%u requests of "
		    "this connection have no reply yet", c->n_pending);
	if (!user_may_ask(c))
		return connection_reason(c, DDBLOCK_E_LIMIT, "%u requests of "
		    "this user have no reply yet, as many as are left for the "
		    "others (requests_max)", c->user->n_requests);
	return 0;
}

int
request_pending(struct connection *c, enum pending_kind kind,
    const struct protocol_request *q, struct pending **ret)
{
	struct pending *p;

	p = pending_new(c, kind, &q->line->tag);
	if (p == NULL)
		return connection_reason(c, DDBLOCK_E_LIMIT, "out of memory");
	*ret = p;
	return 0;
}

int
request_pending_rows(struct connection *c, enum pending_kind kind,
    const struct protocol_request *q, const struct codec_text *key,
    struct pending **ret)
{
	struct pending *p = NULL;
	int r;

	/* A listing never costs a client its holds. */
	if (kind != PENDING_RESUME && c->n_listings >= CONNECTION_LISTINGS_MAX)
		return connection_reason(c, DDBLOCK_E_LIMIT, "%u listings of "
		    "this connection have no reply yet", c->n_listings);
	r = request_room(c);
	if (r == 0)
		r = request_pending(c, kind, q, &p);
	if (r < 0)
		return r;
	p->listing = listing_new(key, protocol_text(q, ARGUMENT_SORT));
	if (p->listing == NULL) {
		pending_free(c, p);
		return connection_reason(c, DDBLOCK_E_LIMIT, "out of memory");
	}
	c->n_listings++;
	keep_no_line(c->server);	/* some rows may have been told */
	keep_request(c, p, 0);
	*ret = p;
	return 0;
}

int
request_step(struct connection *c, struct pending *p, struct core_event *event)
{
	int r;

	event->type = CORE_REQUEST;
	event->request.client = c->client;
	event->request.request = p->number;
	r = connection_step(c, event);
	if (r == 0)
		return 0;
	pending_free(c, p);
	/* Not admitted; but a release is done nevertheless. */
	return connection_reason(c, r == DDBLOCK_E_NOMEM &&
	    event->request.verb != CORE_RELEASE ? DDBLOCK_E_LIMIT : r,
	    "%s", error_text(r));
}

void
request_release_unanswered(struct connection *c, struct core_event *event)
{
	event->type = CORE_REQUEST;
	event->request.client = c->client;
	event->request.change = NULL;
	(void)connection_step(c, event);
}

/* Is who has the lock, or one of the locks, not for the client to know? */
static bool
request_hides(struct connection *c, const struct core_request *ask)
{
	bool sees = true;

	if (ask->verb != CORE_ACQUIRE && ask->verb != CORE_BREAK)
		return false;
	for (uint32_t i = 0; i < ask->n_keys; i++)
		sees = sees && rights_allow(c, ask->namespace_index,
		    ask->keys[i], ACCESS_SEE);
	return !sees || !rights_allow(c, ask->namespace_index, ask->key,
	    ACCESS_SEE);
}

int
request_ask(struct connection *c, const struct protocol_request *q,
    struct core_event *event)
{
	enum core_verb verb = event->request.verb;
	struct pending *p = NULL;
	int r = 0;

	/*
	 * A client with too many waiting requests can still release and cancel.
	 */
	if (verb != CORE_RELEASE && verb != CORE_CANCEL &&
	    verb != CORE_UNWATCH)
		r = request_room(c);
	if (r < 0)
		return r;
	r = request_pending(c, PENDING_CORE, q, &p);
	if (r < 0 && verb == CORE_RELEASE) {
		request_release_unanswered(c, event);
		return connection_reason(c, DDBLOCK_E_NOMEM, "%s",
		    error_text(DDBLOCK_E_NOMEM));
	}
	if (r < 0)
		return r;
	p->acquire = event->request.verb == CORE_ACQUIRE;
	p->hides = request_hides(c, &event->request);
	if (event->request.change != NULL)
		p->bytes = contents_size(&event->request.change->contents);
	c->pending_bytes += p->bytes;
	c->user->pending_bytes += p->bytes;
	p->best_effort = protocol_is(q, ARGUMENT_BEST_EFFORT);
	if (verb == CORE_BREAK)
		keep_no_line(c->server);	/* it would break the next */
	keep_request(c, p, event->request.terms.process);
	if (verb == CORE_WATCH || verb == CORE_UNWATCH)
		keep_watch(c, p, &event->request);
	return request_step(c, p, event);
}

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

_Static_assert(KEY_LENGTH_MAX == KEY_SORT_MAX,
    "verbs_key() has one limit for both");

int
verbs_key(struct connection *c, const struct codec_text *text,
    size_t length_min, const char *what, struct key *ret)
{
	if (text->length < length_min || text->length > KEY_LENGTH_MAX)
		return verbs_reason(c, DDBLOCK_E_BAD_REQUEST,
		    "the %s has %zu bytes; it needs %zu to %d", what,
		    text->length, length_min, KEY_LENGTH_MAX);
	if (!codec_is_text(text->bytes, text->length))
		return verbs_reason(c, DDBLOCK_E_BAD_REQUEST,
		    "the %s is not UTF-8 text without NUL", what);
	*ret = (struct key){ text->bytes, text->length };
	return 0;
}

static bool
verbs_sorts(const struct server *s, uint32_t namespace_index)
{
	struct store_status status;

	s->calls.store_status(s->arg, namespace_index, &status);
	return status.sorts;
}

int
verbs_name(struct connection *c, const struct codec_line *l,
    const struct codec_text *key, uint32_t namespace_index,
    char bytes[KEY_BYTES_MAX], struct key *ret)
{
	const struct server *s = c->server;
	const struct codec_text *sort = codec_find(l, "sort");
	struct key_parts parts = { .sort = key_text(KEY_SORT_NONE) };
	int r = verbs_key(c, key, 1, "key", &parts.key);

	if (r == 0 && sort != NULL)
		r = verbs_key(c, sort, 1, "sort value", &parts.sort);
	if (r < 0)
		return r;
	if (key_is_sorted(&parts) && !verbs_sorts(s, namespace_index))
		return verbs_reason(c, DDBLOCK_E_UNSUPPORTED, "namespace "
		    "\"%s\" has no sort keys: its table has a partition key "
		    "only", s->calls.namespace_name(s->arg, namespace_index));
	*ret = key_join(&parts, bytes);
	return 0;
}

int
verbs_duration(struct connection *c, const struct codec_text *text,
    const char *name, uint64_t *ret_ms)
{
	if (codec_parse_duration(text->bytes, text->length, ret_ms))
		return 0;
	return verbs_reason(c, DDBLOCK_E_BAD_REQUEST, "%s is a time up to "
	    "ten years, such as 500ms, 30s, 5m or 1h", name);
}

int
verbs_boolean(struct connection *c, const struct codec_text *text,
    const char *name, bool *ret)
{
	if (codec_parse_boolean(text->bytes, text->length, ret))
		return 0;
	return verbs_reason(c, DDBLOCK_E_BAD_REQUEST, "%s is yes or no", name);
}

static int
verbs_id(struct connection *c, const struct codec_line *l, uint64_t *ret)
{
	const struct codec_text *text = codec_find(l, "id");

	if (codec_parse_number(text->bytes, text->length, ret) && *ret > 0)
		return 0;
	return verbs_reason(c, DDBLOCK_E_BAD_REQUEST,
	    "id is the number that a grant came with");
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
    const struct codec_line *l, struct pending **ret)
{
	struct pending *p;

	p = pending_new(c, kind, &l->tag);
	if (p == NULL)
		return verbs_reason(c, DDBLOCK_E_LIMIT, "out of memory");
	*ret = p;
	return 0;
}

int
verbs_pending_rows(struct connection *c, enum pending_kind kind,
    const struct codec_line *l, const struct codec_text *key,
    const struct codec_text *sort, struct pending **ret)
{
	struct pending *p = NULL;
	int r;

	/* Nobody loses what he holds for what he lists. */
	if (kind != PENDING_RESUME && c->n_listings >= CONNECTION_LISTINGS_MAX)
		return verbs_reason(c, DDBLOCK_E_LIMIT, "%u listings of this "
		    "connection have no reply yet", c->n_listings);
	r = verbs_room(c);
	if (r == 0)
		r = verbs_pending(c, kind, l, &p);
	if (r < 0)
		return r;
	p->listing = listing_new(key, sort);
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
static int
verbs_of_process(struct connection *c, const struct codec_line *l,
    struct core_request *q)
{
	const struct codec_text *text = codec_find(l, "process");
	const struct process *p = NULL;
	struct core_hold_view v;
	int r = text == NULL ? 0 :
	    verbs_boolean(c, text, "process", &q->of_process);

	if (r < 0 || !q->of_process)
		return r;
	if (core_view_hold(c->server->calls.core(c->server->arg), q->hold,
	    clock_boot_ms(), &v))
		p = process_find(c->server, v.terms.process);
	q->of_process = p != NULL &&
	    (c->peer.uid == 0 || p->user->uid == c->peer.uid);
	return 0;
}

static int
verbs_ask_so(struct connection *c, const struct codec_line *l,
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
	r = verbs_pending(c, PENDING_CORE, l, &p);
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
verbs_ask(struct connection *c, const struct codec_line *l,
    struct core_event *event)
{
	return verbs_ask_so(c, l, event, false);
}

int
verbs_release(struct connection *c, const struct codec_line *l)
{
	const struct codec_text *all = codec_find(l, "all");
	const struct codec_text *best = codec_find(l, "best_effort");
	struct core_event event = { .type = CORE_REQUEST };
	struct verbs_change change;
	bool everything = false, best_effort = false;
	int r = 0, code;

	if (all != NULL)
		r = verbs_boolean(c, all, "all", &everything);
	if (r == 0 && best != NULL)
		r = verbs_boolean(c, best, "best_effort", &best_effort);
	if (r < 0)
		return r;
	if (everything == (codec_find(l, "id") != NULL) ||
	    (!everything && codec_find(l, "ns") != NULL))
		return verbs_reason(c, DDBLOCK_E_BAD_REQUEST,
		    "RELEASE needs id=, or all=yes and perhaps ns=");
	r = verbs_change(c, l, &change, &event.request.change);
	if (r < 0 && r != DDBLOCK_E_LIMIT)
		return r;
	if (everything && (r < 0 || event.request.change != NULL))
		return verbs_reason(c, DDBLOCK_E_BAD_REQUEST,
		    "all=yes changes nothing that is kept in a lock");
	if (everything)
		return release_all(c, l);
	code = verbs_id(c, l, &event.request.hold);
	if (code < 0)
		return code;
	code = verbs_of_process(c, l, &event.request);
	if (code < 0)
		return code;
	event.request.verb = CORE_RELEASE;
	if (r < 0) {
		verbs_release_unheard(c, &event);
		return r;
	}
	return verbs_ask_so(c, l, &event, best_effort);
}

int
verbs_renew(struct connection *c, const struct codec_line *l)
{
	struct core_event event = { .type = CORE_REQUEST };
	struct verbs_change change;
	int r = verbs_id(c, l, &event.request.hold);

	if (r == 0)
		r = verbs_change(c, l, &change, &event.request.change);
	if (r < 0)
		return r;
	event.request.verb = CORE_RENEW;
	return verbs_ask(c, l, &event);
}

int
verbs_downgrade(struct connection *c, const struct codec_line *l)
{
	const struct codec_text *limit = codec_find(l, "limit");
	struct core_event event = { .type = CORE_REQUEST };
	struct core_request *q = &event.request;
	char owner[OWNER_LENGTH_MAX + 1];
	struct core_hold_view v;
	int r = verbs_id(c, l, &q->hold);

	if (r == 0 && limit != NULL)
		r = verbs_limit(c, limit, q);
	if (r < 0)
		return r;
	q->verb = CORE_DOWNGRADE;
	q->terms.mode = LOCK_MODE_SHARED;
	/* If there is none such, it does not matter who would have it. */
	if (!core_view_hold(c->server->calls.core(c->server->arg), q->hold,
	    clock_boot_ms(), &v))
		v.namespace_index = 0;
	(void)server_owner(c->server, v.namespace_index, c, owner);
	q->owner = owner;
	return verbs_ask(c, l, &event);
}

/*
 * The request may have been answered while this one was on its way, so not to
 * find it is no mistake of the client's.
 */
int
verbs_cancel(struct connection *c, const struct codec_line *l)
{
	const struct codec_text *tag = codec_find(l, "tag");
	struct core_event event = { .type = CORE_REQUEST };
	struct pending *p = NULL;
	struct buffer *b;
	bool found;

	if (tag->length == 0)
		return verbs_reason(c, DDBLOCK_E_BAD_REQUEST,
		    "only a request with a tag can be cancelled");
	p = pending_find_tag(c, tag->bytes, tag->length);
	if (p != NULL && (p->acquire ||
	    (p->kind == PENDING_LIST && p->listing->asked))) {
		event.request.verb = CORE_CANCEL;
		event.request.target = p->number;
		return verbs_ask(c, l, &event);
	}
	found = p != NULL && p->listing != NULL && p->kind != PENDING_RESUME;
	if (found) {
		connection_refuse(c, p->tag, DDBLOCK_E_CANCELLED, NULL);
		pending_free(c, p);
	}
	b = connection_out(c);
	codec_begin(b, l->tag.bytes, "OK");
	codec_boolean(b, "cancelled", found);
	codec_end(b, NULL);
	connection_queued(c);
	return 0;
}

/* A question about one lock that takes nothing. */
static int
verbs_of_key(struct connection *c, const struct codec_line *l,
    enum core_verb verb)
{
	struct core_event event = { .type = CORE_REQUEST };
	struct core_request *q = &event.request;
	char name[KEY_BYTES_MAX];
	int r = verbs_namespace(c, l, &q->namespace_index);

	if (r == 0)
		r = verbs_name(c, l, &l->arguments[0].value,
		    q->namespace_index, name, &q->key);
	if (r < 0)
		return r;
	q->verb = verb;
	return verbs_ask(c, l, &event);
}

int
verbs_get(struct connection *c, const struct codec_line *l)
{
	return verbs_of_key(c, l, CORE_GET);
}

int
verbs_watch(struct connection *c, const struct codec_line *l)
{
	return verbs_of_key(c, l, CORE_WATCH);
}

int
verbs_unwatch(struct connection *c, const struct codec_line *l)
{
	return verbs_of_key(c, l, CORE_UNWATCH);
}

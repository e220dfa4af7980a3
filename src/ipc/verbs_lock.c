/*
 * The verbs that the core answers once: arguments in, one event for it.
 */
#include <string.h>

#include "common/error.h"
#include "ipc/connection.h"

#define VERBS_POLL_MIN_MS 10

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

int
verbs_duration(struct connection *c, const struct codec_line *l,
    const char *name, uint64_t *ret_ms)
{
	const struct codec_text *text = codec_find(l, name);

	if (text == NULL || codec_parse_duration(text->bytes, text->length,
	    ret_ms))
		return 0;
	return verbs_reason(c, DDBLOCK_E_BAD_REQUEST, "%s is a time up to "
	    "ten years, such as 500ms, 30s, 5m or 1h", name);
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

/*
 * Ask the core. Its answer may have come before this returns, and @p be gone,
 * unless it refused to be asked.
 */
static int
verbs_ask(struct connection *c, struct pending *p, struct core_event *event)
{
	int r;

	event->type = CORE_REQUEST;
	event->request.client = c->client;
	event->request.request = p->number;
	r = connection_step(c, event);
	if (r == 0)
		return 0;
	pending_free(c, p);
	return verbs_reason(c, r == DDBLOCK_E_NOMEM ? DDBLOCK_E_LIMIT : r,
	    "%s", error_text(r));
}

static int
verbs_ask_simple(struct connection *c, const struct codec_line *l,
    struct core_event *event)
{
	enum core_verb verb = event->request.verb;
	struct pending *p = NULL;
	int r = 0;

	/* A client that waits too much can still release and cancel. */
	if (verb != CORE_RELEASE && verb != CORE_CANCEL)
		r = verbs_room(c);
	if (r == 0)
		r = verbs_pending(c, PENDING_CORE, l, &p);
	if (r < 0)
		return r;
	p->acquire = event->request.verb == CORE_ACQUIRE;
	return verbs_ask(c, p, event);
}

static bool
verbs_is(const struct codec_text *text, const char *word)
{
	return text->length == strlen(word) &&
	    memcmp(text->bytes, word, text->length) == 0;
}

static int
verbs_mode(struct connection *c, const struct codec_line *l,
    enum lock_mode *ret)
{
	const struct codec_text *text = codec_find(l, "mode");

	if (text == NULL || verbs_is(text, "exclusive"))
		*ret = LOCK_MODE_EXCLUSIVE;
	else if (verbs_is(text, "shared"))
		*ret = LOCK_MODE_SHARED;
	else
		return verbs_reason(c, DDBLOCK_E_BAD_REQUEST,
		    "mode is exclusive or shared");
	return 0;
}

/* How the lock is to be used, for which mode and limit must agree. */
static int
verbs_use(struct connection *c, const struct codec_line *l,
    struct core_request *q)
{
	const struct codec_text *text = codec_find(l, "limit");
	uint64_t limit;
	int r = verbs_mode(c, l, &q->mode);

	if (r < 0 || text == NULL)
		return r;
	if (!codec_parse_number(text->bytes, text->length, &limit) ||
	    limit == 0 || limit > CORE_LIMIT_MAX)
		return verbs_reason(c, DDBLOCK_E_BAD_REQUEST, "limit is how "
		    "many may share the lock, 1 to %d; without it, any number "
		    "may", CORE_LIMIT_MAX);
	if (q->mode != LOCK_MODE_SHARED)
		return verbs_reason(c, DDBLOCK_E_BAD_REQUEST, "limit goes "
		    "with mode=shared; exclusive use has one holder anyway");
	q->limit = (uint32_t)limit;
	return 0;
}

static int
verbs_acquire_within(struct connection *c, const struct codec_line *l,
    uint64_t wait_ms)
{
	struct core_event event = { .type = CORE_REQUEST };
	struct core_request *q = &event.request;
	char owner[OWNER_LENGTH_MAX + 1];
	int r;

	q->verb = CORE_ACQUIRE;
	q->wait_ms = wait_ms;
	r = verbs_namespace(c, l, &q->namespace_index);
	if (r == 0)
		r = verbs_key(c, &l->arguments[0].value, 1, "key", &q->key);
	if (r == 0)
		r = verbs_use(c, l, q);
	if (r == 0)
		r = verbs_duration(c, l, "wait", &q->wait_ms);
	if (r == 0)
		r = verbs_duration(c, l, "poll", &q->poll_ms);
	if (r < 0)
		return r;
	if (q->poll_ms < VERBS_POLL_MIN_MS && codec_find(l, "poll") != NULL)
		return verbs_reason(c, DDBLOCK_E_BAD_REQUEST,
		    "poll is at least %dms", VERBS_POLL_MIN_MS);
	peer_owner(&c->peer, c->server->host, owner, sizeof(owner));
	q->owner = owner;
	return verbs_ask_simple(c, l, &event);
}

int
verbs_acquire(struct connection *c, const struct codec_line *l)
{
	return verbs_acquire_within(c, l, CORE_FOREVER);
}

int
verbs_try(struct connection *c, const struct codec_line *l)
{
	return verbs_acquire_within(c, l, 0);
}

static int
verbs_of_hold(struct connection *c, const struct codec_line *l,
    enum core_verb verb)
{
	struct core_event event = { .type = CORE_REQUEST };
	int r = verbs_id(c, l, &event.request.hold);

	if (r < 0)
		return r;
	event.request.verb = verb;
	return verbs_ask_simple(c, l, &event);
}

int
verbs_release(struct connection *c, const struct codec_line *l)
{
	return verbs_of_hold(c, l, CORE_RELEASE);
}

int
verbs_renew(struct connection *c, const struct codec_line *l)
{
	return verbs_of_hold(c, l, CORE_RENEW);
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
		return verbs_ask_simple(c, l, &event);
	}
	found = p != NULL && p->kind != PENDING_CORE;
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

int
verbs_get(struct connection *c, const struct codec_line *l)
{
	struct core_event event = { .type = CORE_REQUEST };
	struct core_request *q = &event.request;
	int r = verbs_namespace(c, l, &q->namespace_index);

	if (r == 0)
		r = verbs_key(c, &l->arguments[0].value, 1, "key", &q->key);
	if (r < 0)
		return r;
	q->verb = CORE_GET;
	return verbs_ask_simple(c, l, &event);
}

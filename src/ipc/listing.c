/*
 * Answers of many rows. Rows are made as the client reads them: never more
 * than a page beyond CONNECTION_LOW_BYTES is queued, however long the list.
 * HELD and WAITING walk the core's views by number, so they need no snapshot;
 * what comes and goes meanwhile may or may not be seen. LIST reads one
 * namespace after the other, each with a request to the core of its own.
 *
 * A LIST that tells how far it is does so between pages, and about once a
 * second while none comes, so that its client knows it is not forgotten.
 */
#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"
#include "ipc/answer.h"
#include "ipc/connection.h"
#include "ipc/process.h"
#include "store/store.h"

static bool
listing_is(const char *wanted, size_t length, struct key part)
{
	return wanted == NULL ||
	    key_equal((struct key){ wanted, length }, part);
}

static bool
listing_wants(const struct listing *l, uint32_t namespace_index,
    struct key name)
{
	const struct key_parts parts = key_split(name);

	return (l->namespaces >> namespace_index & 1) != 0 &&
	    listing_is(l->key, l->key_length, parts.key) &&
	    listing_is(l->sort, l->sort_length, parts.sort);
}

static const char *
listing_namespace(const struct connection *c, uint32_t index)
{
	return c->server->calls.namespace_name(c->server->arg, index);
}

/* In which namespace it is. */
void
listing_where(const struct connection *c, struct buffer *b,
    const struct listing *l)
{
	codec_text_value(b, "ns", listing_namespace(c, l->namespace_index));
}

/* What a LIST has done so far, in its last line and in those on the way. */
static void
listing_sums(struct buffer *b, const struct listing *l)
{
	codec_number(b, "rows", l->n_rows);
	codec_number(b, "examined", l->n_examined);
	if (l->read_milliunits > 0)
		codec_number(b, "units", (l->read_milliunits + 999) / 1000);
}

static void
listing_end(struct connection *c, struct pending *p)
{
	struct buffer *b = connection_out(c);

	codec_begin(b, p->tag, "OK");
	if (p->kind == PENDING_LIST)
		listing_sums(b, p->listing);
	else
		codec_number(b, "rows", p->listing->n_rows);
	codec_end(b, NULL);
	pending_free(c, p);
	connection_queued(c);
}

/* ---- LIST ---- */

/* Say how far it is, if it is time to. */
static void
listing_say(struct connection *c, const struct pending *p, uint64_t now_ms)
{
	struct listing *l = p->listing;
	struct buffer *b;

	if (!l->tells || now_ms < l->tell_at_ms)
		return;
	l->tell_at_ms = now_ms + l->tell_ms;
	b = connection_out(c);
	codec_begin(b, NULL, "!LISTING");
	if (p->tag_length > 0)
		codec_text_value(b, "tag", p->tag);
	listing_where(c, b, l);
	listing_sums(b, l);
	codec_end(b, NULL);
	connection_queued(c);
}

/* Does any listing of this connection tell? Then it does now, unless so much
 * is unread that it is the client who lets others wait. */
bool
listing_say_all(struct connection *c, uint64_t now_ms)
{
	bool tells = false;

	for (struct pending *p = c->pending; p != NULL; p = p->next) {
		if (p->listing == NULL || !p->listing->tells)
			continue;
		tells = true;
		if (c->out.length < CONNECTION_LOW_BYTES)
			listing_say(c, p, now_ms);
	}
	return tells;
}

void
listing_tell(struct connection *c, struct listing *l, uint64_t tell_ms)
{
	l->tells = true;
	l->tell_ms = tell_ms;
	l->tell_at_ms = clock_boot_ms() + tell_ms;
	tell_start(c->server);
}

/* Negative: the core does not admit it, and @p is gone. */
int
listing_start(struct connection *c, struct pending *p)
{
	struct core_event event = { .type = CORE_REQUEST };
	struct core_request *q = &event.request;
	struct listing *l = p->listing;
	int r;

	assert(l->namespaces != 0 && !l->asked);
	l->namespace_index = (uint32_t)__builtin_ctzll(l->namespaces);
	l->namespaces &= l->namespaces - 1;
	l->asked = true;
	q->client = c->client;
	q->request = p->number;
	q->verb = CORE_LIST;
	q->namespace_index = l->namespace_index;
	q->key = (struct key){ l->key, l->key_length };
	q->held_only = (l->states & LISTING_FREE) == 0;
	r = connection_step(c, &event);
	if (r < 0)
		pending_free(c, p);
	return r;
}

static unsigned
listing_state(const struct core_holder_view *v)
{
	if (!v->held)
		return LISTING_FREE;
	return v->dead ? LISTING_DEAD : LISTING_HELD;
}

void
listing_rows(struct connection *c, const struct core_rows *a)
{
	struct pending *p = pending_find(c, a->request);
	struct listing *l;
	struct buffer *b;

	if (p == NULL || p->listing == NULL)
		return;
	l = p->listing;
	b = connection_out(c);
	for (size_t i = 0; i < a->n_rows; i++) {
		const struct core_row *row = &a->rows[i];

		if ((l->states & listing_state(&row->holder)) == 0 ||
		    !listing_is(l->sort, l->sort_length,
		    key_split(row->key).sort))
			continue;
		codec_begin(b, p->tag, "+");
		listing_where(c, b, l);
		answer_name(b, row->key);
		answer_holder(c, b, &row->holder);
		codec_end(b, NULL);
		l->n_rows++;
	}
	l->n_examined += a->n_examined;
	l->read_milliunits += a->read_milliunits;
	l->ready = true;
	listing_say(c, p, clock_boot_ms());
	connection_queued(c);
}

void
listing_read(struct connection *c, struct pending *p)
{
	struct listing *l = p->listing;

	if (l->namespaces == 0) {
		listing_end(c, p);
		return;
	}
	/* The next one is another request to the core, which is in the middle
	 * of a step now. */
	l->asked = false;
	l->ready = true;
	p->number = ++c->requests;
	connection_queued(c);
}

/* ---- HELD, WAITING, RESUME ---- */

/* Who is at the other end of @client; it may be gone by now. */
static void
listing_peer(struct connection *c, struct buffer *b, uint64_t client)
{
	const struct connection *other = server_find(c->server, client);

	if (other == NULL) {
		codec_boolean(b, "left", true);
		return;
	}
	codec_number(b, "pid", (uint64_t)other->peer.pid);
	codec_number(b, "uid", other->peer.uid);
	codec_text_value(b, "name", other->peer.name);
	codec_boolean(b, "mine", other == c);
}

/* That it is for; and when its client has left, who that was. */
static void
listing_process(struct connection *c, struct buffer *b,
    const struct core_hold_view *v)
{
	const struct process *p = process_find(c->server, v->terms.process);

	if (p == NULL)
		return;
	codec_number(b, "process", (uint64_t)p->pid);
	if (server_find(c->server, v->client) != NULL)
		return;
	codec_number(b, "uid", p->user->uid);
	codec_text_value(b, "name", p->name);
}

static unsigned
listing_hold_state(const struct core_hold_view *v)
{
	return v->lost ? LISTING_HOLD_LOST :
	    v->danger ? LISTING_HOLD_DANGER : LISTING_HOLD_HELD;
}

static void
listing_hold(struct connection *c, struct pending *p,
    const struct core_hold_view *v)
{
	const struct server *s = c->server;
	const char *owner = v->owner != NULL ? v->owner :
	    s->calls.defaults(s->arg, v->namespace_index).owner;
	struct buffer *b = connection_out(c);

	codec_begin(b, p->tag, "+");
	codec_number(b, "id", v->id);
	codec_text_value(b, "ns", listing_namespace(c, v->namespace_index));
	answer_name(b, v->key);
	answer_token(b, v->token, v->token_text);
	answer_shared(b, v->terms.mode, v->terms.limit);
	answer_policy(b, v->terms.fail_closed);
	codec_text_value(b, "state", v->lost ? "lost" :
	    v->danger ? "danger" : "held");
	if (v->count > 0)
		codec_number(b, "count", v->count);
	codec_duration(b, "held", v->held_ms);
	if (!v->terms.fail_closed)
		codec_duration(b, "remaining", v->remaining_ms);
	listing_peer(c, b, v->client);
	listing_process(c, b, v);
	if (owner != NULL)
		codec_text_value(b, "owner", owner);
	if (v->lingers_ms > 0)
		codec_duration(b, "lingers", v->lingers_ms);
	codec_end(b, NULL);
	p->listing->n_rows++;
}

static void
listing_waiter(struct connection *c, struct pending *p,
    const struct core_waiter_view *v)
{
	struct buffer *b = connection_out(c);

	codec_begin(b, p->tag, "+");
	codec_text_value(b, "ns", listing_namespace(c, v->namespace_index));
	answer_name(b, v->key);
	answer_shared(b, v->terms.mode, v->terms.limit);
	answer_policy(b, v->terms.fail_closed);
	if (v->n_keys > 1) {
		codec_number(b, "keys", v->n_keys);
		codec_number(b, "had", v->n_had);
	}
	codec_number(b, "ahead", v->ahead);
	codec_duration(b, "waited", v->waited_ms);
	listing_peer(c, b, v->client);
	if (v->cause != 0)
		codec_text_value(b, "cause", error_word(v->cause));
	if (v->holder.held)
		answer_owner(c, b, &v->holder);
	codec_end(b, NULL);
	p->listing->n_rows++;
}

/* Look at the next one. False: there is none. */
static bool
listing_step_held(struct connection *c, struct pending *p, uint64_t now_ms)
{
	const struct server *s = c->server;
	struct core_hold_view v;

	if (!core_next_hold(s->calls.core(s->arg), p->listing->after, now_ms,
	    &v))
		return false;
	p->listing->after = v.hold;
	if (listing_wants(p->listing, v.namespace_index, v.key) &&
	    (p->listing->states & listing_hold_state(&v)) != 0)
		listing_hold(c, p, &v);
	return true;
}

static bool
listing_step_waiting(struct connection *c, struct pending *p,
    uint64_t now_ms)
{
	const struct server *s = c->server;
	struct core_waiter_view v;

	if (!core_next_waiter(s->calls.core(s->arg), p->listing->after,
	    now_ms, &v))
		return false;
	p->listing->after = v.serial;
	if (listing_wants(p->listing, v.namespace_index, v.key))
		listing_waiter(c, p, &v);
	return true;
}

static bool
listing_step_resume(struct connection *c, struct pending *p, uint64_t now_ms)
{
	const struct server *s = c->server;
	struct core_hold_view v;

	if (!core_next_hold_of(s->calls.core(s->arg), c->client,
	    p->listing->after, now_ms, &v))
		return false;
	p->listing->after = v.hold;
	resume_row(c, p, &v);
	p->listing->n_rows++;
	return true;
}

static bool
listing_step(struct connection *c, struct pending *p, uint64_t now_ms)
{
	switch (p->kind) {
	case PENDING_HELD:
		return listing_step_held(c, p, now_ms);
	case PENDING_WAITING:
		return listing_step_waiting(c, p, now_ms);
	case PENDING_RESUME:
		return listing_step_resume(c, p, now_ms);
	default:
		return false;
	}
}

/* A bounded number of steps; what is left waits for the next round. */
void
listing_continue_view(struct connection *c, struct pending *p)
{
	uint64_t now_ms = clock_boot_ms();

	for (int i = 0; i < LISTING_STEPS_MAX; i++) {
		if (!listing_step(c, p, now_ms)) {
			listing_end(c, p);
			return;
		}
		if (c->out.length >= CONNECTION_LOW_BYTES)
			break;
	}
	connection_queued(c);
}

/* ---- all of them ---- */

static void
listing_ask_on(struct connection *c, struct pending *p)
{
	struct core_event event = { .type = CORE_CONTINUE };
	uint64_t number = p->number;
	char tag[CODEC_TAG_MAX + 1];
	int r;

	memcpy(tag, p->tag, sizeof(tag));
	if (!p->listing->asked) {
		r = listing_start(c, p);
	} else {
		event.more.client = c->client;
		event.more.request = number;
		r = connection_step(c, &event);
		p = pending_find(c, number);
		if (r == 0 || p == NULL)
			return;
		pending_free(c, p);
	}
	if (r < 0)
		connection_refuse(c, tag, r, NULL);
}

void
connection_continue_listing(struct connection *c)
{
	struct pending *p = c->pending;

	while (p != NULL && (p->listing == NULL || !p->listing->ready))
		p = p->next;
	if (p == NULL)
		return;
	if (p->kind == PENDING_LIST) {
		p->listing->ready = false;
		listing_ask_on(c, p);
		server_schedule(c->server, c);
	} else {
		listing_continue_view(c, p);
	}
}

/*
 * Answers of many rows. Rows are made as the client reads them: never more
 * than a page beyond CONNECTION_LOW_BYTES is queued, however long the list.
 * HELD and WAITING walk the core's views by number, so they need no snapshot;
 * what comes and goes meanwhile may or may not be seen.
 */
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"
#include "ipc/answer.h"
#include "ipc/connection.h"
#include "store/store.h"

static bool
listing_wants(const struct listing *l, uint32_t namespace_index,
    const struct key *key)
{
	if (l->namespace_index != NAMESPACE_ANY &&
	    l->namespace_index != namespace_index)
		return false;
	return l->key == NULL || (l->key_length == key->length &&
	    memcmp(l->key, key->bytes, key->length) == 0);
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

		if ((l->filter == LISTING_HELD && !row->holder.held) ||
		    (l->filter == LISTING_FREE && row->holder.held))
			continue;
		codec_begin(b, p->tag, "+");
		codec_value(b, "key", row->key.bytes, row->key.length);
		answer_holder(c, b, &row->holder);
		codec_end(b, NULL);
		l->n_rows++;
	}
	l->ready = true;
	connection_queued(c);
}

/* Who is at the other end of @client; it may be gone by now. */
static void
listing_peer(struct connection *c, struct buffer *b, uint64_t client)
{
	const struct connection *other = server_find(c->server, client);

	if (other == NULL)
		return;
	codec_number(b, "pid", (uint64_t)other->peer.pid);
	codec_number(b, "uid", other->peer.uid);
	codec_text_value(b, "name", other->peer.name);
	codec_boolean(b, "mine", other == c);
}

static const char *
listing_namespace(const struct connection *c, uint32_t index)
{
	return c->server->calls.namespace_name(c->server->arg, index);
}

static void
listing_hold(struct connection *c, struct pending *p,
    const struct core_hold_view *v)
{
	struct buffer *b = connection_out(c);

	codec_begin(b, p->tag, "+");
	codec_number(b, "id", v->hold);
	codec_text_value(b, "ns", listing_namespace(c, v->namespace_index));
	codec_value(b, "key", v->key.bytes, v->key.length);
	codec_number(b, "token", v->token);
	codec_text_value(b, "state", v->lost ? "lost" :
	    v->danger ? "danger" : "held");
	codec_duration(b, "held", v->held_ms);
	codec_duration(b, "remaining", v->remaining_ms);
	listing_peer(c, b, v->client);
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
	codec_value(b, "key", v->key.bytes, v->key.length);
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
	if (listing_wants(p->listing, v.namespace_index, &v.key))
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
	if (listing_wants(p->listing, v.namespace_index, &v.key))
		listing_waiter(c, p, &v);
	return true;
}

/* A bounded number of steps; what is left waits for the next round. */
static void
listing_continue_view(struct connection *c, struct pending *p)
{
	uint64_t now_ms = clock_boot_ms();

	for (int i = 0; i < LISTING_STEPS_MAX; i++) {
		bool more = p->kind == PENDING_HELD ?
		    listing_step_held(c, p, now_ms) :
		    listing_step_waiting(c, p, now_ms);

		if (!more) {
			listing_end(c, p);
			return;
		}
		if (c->out.length >= CONNECTION_LOW_BYTES)
			break;
	}
	connection_queued(c);
}

void
listing_end(struct connection *c, struct pending *p)
{
	struct buffer *b = connection_out(c);

	codec_begin(b, p->tag, "OK");
	codec_number(b, "rows", p->listing->n_rows);
	codec_end(b, NULL);
	pending_free(c, p);
	connection_queued(c);
}

static void
listing_ask_on(struct connection *c, struct pending *p)
{
	struct core_event event = { .type = CORE_CONTINUE };
	uint64_t number = p->number;
	int r;

	event.more.client = c->client;
	event.more.request = number;
	r = connection_step(c, &event);
	if (r == 0)
		return;
	p = pending_find(c, number);
	if (p == NULL)
		return;
	connection_refuse(c, p->tag, r, NULL);
	pending_free(c, p);
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

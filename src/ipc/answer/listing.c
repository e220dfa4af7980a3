/*
 * Answers of many rows, and LIST. Rows are made as the client reads them:
 * never more than a page beyond CONNECTION_LOW_BYTES is queued, however long
 * the list. LIST reads one namespace after the other, each with a request to
 * the core of its own.
 *
 * A LIST that reports progress does so between pages, and about once a second
 * while no page comes, so that its client knows that it goes on.
 */
#include <assert.h>
#include <string.h>

#include "common/clock.h"
#include "ipc/connection/rights.h"
#include "ipc/answer/room.h"

/* The namespace that it reads. */
void
listing_where(const struct connection *c, struct buffer *b,
    const struct listing *l)
{
	const struct server *s = c->server;

	codec_text_value(b, "ns",
	    s->calls.namespace_name(s->arg, l->namespace_index));
}

/* The progress of a LIST, in its last line and in the lines before. */
static void
listing_sums(struct buffer *b, const struct listing *l)
{
	codec_number(b, "rows", l->n_rows);
	if (l->hides)
		return;
	codec_number(b, "examined", l->n_examined);
	if (l->read_milliunits > 0)
		codec_number(b, "units", (l->read_milliunits + 999) / 1000);
}

static void
listing_end(struct connection *c, struct pending *p)
{
	struct buffer *b = connection_out(c);

	codec_begin(b, p->tag, "OK");
	listing_sums(b, p->listing);
	codec_end(b, NULL);
	pending_free(c, p);
	connection_queued(c);
}

/* Report the progress, if it is time to. */
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

/* Does any listing of this connection report progress? Then report it now,
 * unless so much is unread that the client itself is the reason for the
 * delay. */
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
	server_schedule_tell(c->server);
}

/* Negative: the core refuses it, and @p is gone. */
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
		    !listing_is_part(l->sort, l->sort_length,
		    key_split(row->key).sort) || !rights_allow(c,
		    l->namespace_index, row->key, RIGHTS_LISTED))
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
	/* The next namespace is another request to the core, which is in the
	 * middle of a step now. */
	l->asked = false;
	l->ready = true;
	p->number = ++c->requests;
	connection_queued(c);
}

/* ---- all kinds ---- */

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
listing_write_more(struct connection *c)
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
		listing_write_view(c, p);
	}
}

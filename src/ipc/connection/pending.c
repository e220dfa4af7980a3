/*
 * Requests without a final reply yet. A connection has few, so a list in the
 * order of arrival will do: the answer is mostly to the oldest.
 */
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "ipc/connection/connection.h"
#include "ipc/connection/keep.h"

static bool
listing_copy(const struct codec_text *from, char **ret, size_t *ret_length)
{
	if (from == NULL)
		return true;
	*ret = malloc(from->length + 1);
	if (*ret == NULL)
		return false;
	memcpy(*ret, from->bytes, from->length + 1);
	*ret_length = from->length;
	return true;
}

struct listing *
listing_new(const struct codec_text *key, const struct codec_text *sort)
{
	struct listing *l = calloc(1, sizeof(*l));

	if (l != NULL &&
	    listing_copy(key, &l->key, &l->key_length) &&
	    listing_copy(sort, &l->sort, &l->sort_length))
		return l;
	pending_free_listing(l);
	return NULL;
}

void
pending_free_listing(struct listing *l)
{
	if (l == NULL)
		return;
	free(l->key);
	free(l->sort);
	free(l);
}

struct pending *
pending_new(struct connection *c, enum pending_kind kind,
    const struct codec_text *tag)
{
	struct pending *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return NULL;
	p->number = ++c->requests;
	p->kind = kind;
	p->again = c->server->again != NULL;
	p->answered = p->again && c->server->again->answered != 0;
	p->tag_length = tag->length;
	if (tag->length > 0)
		memcpy(p->tag, tag->bytes, tag->length);
	DL_APPEND(c->pending, p);
	c->n_pending++;
	c->user->n_requests++;
	c->server->n_requests++;
	return p;
}

void
pending_free(struct connection *c, struct pending *p)
{
	if (c->server->asking.pending == p)
		c->server->asking.pending = NULL;
	keep_drop(c->server, &p->place);
	DL_DELETE(c->pending, p);
	c->n_pending--;
	c->user->n_requests--;
	c->server->n_requests--;
	c->pending_bytes -= p->bytes;
	c->user->pending_bytes -= p->bytes;
	if (p->listing != NULL)
		c->n_listings--;
	if (p->reports)
		c->n_reports--;
	if (p->kind == PENDING_RESUME)
		c->resuming = false;
	pending_free_listing(p->listing);
	free(p->watch);
	free(p);
}

struct pending *
pending_find(struct connection *c, uint64_t number)
{
	struct pending *p;

	DL_FOREACH(c->pending, p) {
		if (p->number == number)
			return p;
	}
	return NULL;
}

struct pending *
pending_find_tag(struct connection *c, const char *tag, size_t length)
{
	struct pending *p;

	DL_FOREACH(c->pending, p) {
		if (p->tag_length == length &&
		    memcmp(p->tag, tag, length) == 0)
			return p;
	}
	return NULL;
}

/*
 * The entries of the journal that the process before this one left, sorted, and
 * in clear.
 */
#include "config.h"

#include "ipc/server/left.h"

#include <stdlib.h>
#include <string.h>

#include "ddblock.h"
#include "ipc/connection/secret.h"

static size_t
left_head_length(unsigned kind)
{
	static const size_t lengths[] = {
		[KEEP_CONNECTION - KEEP_CONNECTION] =
		    sizeof(struct keep_connection),
		[KEEP_INPUT - KEEP_CONNECTION] = sizeof(struct keep_bytes),
		[KEEP_OUTPUT - KEEP_CONNECTION] = sizeof(struct keep_bytes),
		[KEEP_RUN - KEEP_CONNECTION] = sizeof(struct keep_bytes),
		[KEEP_REQUEST - KEEP_CONNECTION] = sizeof(struct keep_request),
		[KEEP_PROCESS - KEEP_CONNECTION] = sizeof(struct keep_process),
		[KEEP_HIDDEN_INPUT - KEEP_CONNECTION] =
		    sizeof(struct keep_hidden),
		[KEEP_HIDDEN_OUTPUT - KEEP_CONNECTION] =
		    sizeof(struct keep_hidden),
	};

	return kind < KEEP_CONNECTION || kind > KEEP_HIDDEN_OUTPUT ? SIZE_MAX :
	    lengths[kind - KEEP_CONNECTION];
}

/* What entries of a kind are found by. */
static uint64_t
left_order(const struct journal_entry *e)
{
	switch (e->kind) {
	case KEEP_CONNECTION:
		return ((const struct keep_connection *)e->data)->cookie;
	case KEEP_REQUEST:
		return ((const struct keep_request *)e->data)->serial;
	case KEEP_PROCESS:
		return ((const struct keep_process *)e->data)->number;
	default:
		return ((const struct keep_bytes *)e->data)->from;
	}
}

static bool
left_note(struct left *l, const struct journal_entry *e)
{
	const size_t k = (size_t)e->kind - KEEP_CONNECTION;
	struct left_entry *list = l->entries[k];
	const size_t n = l->n_entries[k];

	if ((n & (n - 1)) == 0) {
		list = reallocarray(list, n == 0 ? 1 : 2 * n, sizeof(*list));
		if (list == NULL)
			return false;
		l->entries[k] = list;
	}
	list[n].entry = *e;
	list[n].order = left_order(e);
	/* All kinds begin with it, but for processes. */
	memcpy(&list[n].client, e->data, sizeof(list[n].client));
	l->n_entries[k]++;
	return true;
}

int
left_by_order(const void *a, const void *b)
{
	const struct left_entry *x = a, *y = b;

	return (x->order > y->order) - (x->order < y->order);
}

static int
left_by_client(const void *a, const void *b)
{
	const struct left_entry *x = a, *y = b;

	if (x->client != y->client)
		return x->client > y->client ? 1 : -1;
	return left_by_order(a, b);
}

/* As it was before it was hidden. */
static bool
left_show(struct left *l, struct server *s, struct journal_entry *e)
{
	const struct keep_hidden *head = e->data;
	const size_t length = e->length - sizeof(*head);
	struct left_copy *copy = malloc(sizeof(*copy) + length);

	if (copy == NULL)
		return false;
	copy->next = l->copies;
	l->copies = copy;
	copy->bytes = head->bytes;
	copy->length = length;
	if (!secret_turn(s, head->nonce, head + 1, copy->data, length))
		return false;
	e->kind = e->kind == KEEP_HIDDEN_INPUT ? KEEP_INPUT : KEEP_OUTPUT;
	e->data = &copy->bytes;
	e->length = sizeof(copy->bytes) + length;
	return true;
}

int
left_read(struct left *l, struct server *s, const struct server_legacy *legacy)
{
	struct journal_entry e = { 0 };

	while (journal_read(legacy->journal, legacy->journal_size, &e)) {
		struct journal_entry shown = e;

		if (e.length < left_head_length(e.kind) ||
		    (e.kind > KEEP_PROCESS && !secret_hides(s)))
			continue;
		if (e.kind > KEEP_PROCESS && !left_show(l, s, &shown))
			return DDBLOCK_E_NOMEM;
		if (!left_note(l, &shown))
			return DDBLOCK_E_NOMEM;
	}
	for (unsigned kind = KEEP_CONNECTION; kind <= KEEP_PROCESS; kind++) {
		const size_t k = kind - KEEP_CONNECTION;

		if (l->n_entries[k] > 0)
			qsort(l->entries[k], l->n_entries[k],
			    sizeof(struct left_entry),
			    kind == KEEP_INPUT || kind == KEEP_OUTPUT ?
			    left_by_client : left_by_order);
	}
	return 0;
}

const struct left_entry *
left_first(const struct left *l, enum keep_kind kind,
    uint64_t client)
{
	const struct left_entry *list = l->entries[kind - KEEP_CONNECTION];
	size_t low = 0, high = l->n_entries[kind - KEEP_CONNECTION];

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (list[middle].client < client)
			low = middle + 1;
		else
			high = middle;
	}
	return low < l->n_entries[kind - KEEP_CONNECTION] &&
	    list[low].client == client ? &list[low] : NULL;
}

void
left_done(struct left *l)
{
	struct left_copy *copy;

	while ((copy = l->copies) != NULL) {
		l->copies = copy->next;
		explicit_bzero(copy->data, copy->length);
		free(copy);
	}
	for (size_t k = 0; k <= KEEP_PROCESS - KEEP_CONNECTION; k++)
		free(l->entries[k]);
	*l = (struct left){ .copies = NULL };
}

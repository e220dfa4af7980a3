/*
 * A row, its copy, its place among others.
 */
#include <config.h>

#include "cli/top/row.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROW_TEXTS 7

/* Its texts, one after the other. */
static const char **
row_text(struct row *r, unsigned i)
{
	const char **const texts[ROW_TEXTS] = { &r->ns, &r->key, &r->sort,
		&r->who, &r->user, &r->holder, &r->state };

	return texts[i];
}

void
row_init(struct row *r)
{
	*r = (struct row){ .hash = 0 };
	for (unsigned i = 0; i < ROW_TEXTS; i++)
		*row_text(r, i) = "";
}

bool
row_keep(struct row *ret, const struct row *from)
{
	struct row r = *from;
	size_t lengths[ROW_TEXTS];
	size_t size = 0;
	char *at;

	for (unsigned i = 0; i < ROW_TEXTS; i++) {
		lengths[i] = strlen(*row_text(&r, i)) + 1;
		size += lengths[i];
	}
	at = malloc(size);
	if (at == NULL)
		return false;
	r.texts = at;
	for (unsigned i = 0; i < ROW_TEXTS; i++) {
		(void)memcpy(at, *row_text(&r, i), lengths[i]);
		*row_text(&r, i) = at;
		at += lengths[i];
	}
	*ret = r;
	return true;
}

void
row_drop(struct row *r)
{
	free(r->texts);
	row_init(r);
}

/* The larger is first. */
static int
row_order_numbers(uint64_t a, uint64_t b)
{
	return a > b ? -1 : a < b;
}

static int
row_order_by(const struct row *a, const struct row *b, enum column column)
{
	switch (column) {
	case COLUMN_NS:
		return strcmp(a->ns, b->ns);
	case COLUMN_KEY:
		return strcmp(a->key, b->key);
	case COLUMN_WHO:
		return strcmp(a->who, b->who);
	case COLUMN_HOLDER:
		return strcmp(a->holder, b->holder);
	case COLUMN_STATE:
		return strcmp(a->state, b->state);
	case COLUMN_WAITERS:
		return row_order_numbers(a->waiters, b->waiters);
	case COLUMN_GRANTS:
		return row_order_numbers(a->grants, b->grants);
	case COLUMN_WAITED:
		return row_order_numbers(a->waited_ms, b->waited_ms);
	case COLUMN_AHEAD:
		return row_order_numbers(a->ahead, b->ahead);
	case COLUMN_PID:
		return row_order_numbers(a->pid, b->pid);
	case COLUMN_LEFT:	/* what ends first */
		return row_order_numbers(b->has_left ? b->left_ms : UINT64_MAX,
		    a->has_left ? a->left_ms : UINT64_MAX);
	default:	/* times are rounded; a later hold has a higher id */
		return a->held_ms != b->held_ms ?
		    row_order_numbers(a->held_ms, b->held_ms) :
		    row_order_numbers(b->id, a->id);
	}
}

int
row_order(const struct row *a, const struct row *b, enum column column)
{
	static const enum column others[] = { COLUMN_WAITERS, COLUMN_GRANTS,
		COLUMN_WAITED, COLUMN_HELD, COLUMN_NS, COLUMN_KEY };
	int order = row_order_by(a, b, column);

	for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]) &&
	    order == 0; i++)
		order = row_order_by(a, b, others[i]);
	if (order == 0)
		order = strcmp(a->sort, b->sort);
	if (order == 0)
		order = row_order_numbers(b->id, a->id);
	return order != 0 ? order : row_order_numbers(b->hash, a->hash);
}

bool
row_matches(const struct row *r, const char *filter)
{
	char pid[24];

	if (filter[0] == '\0')
		return true;
	(void)snprintf(pid, sizeof(pid), "%" PRIu64, r->pid);
	return strcasestr(r->key, filter) != NULL ||
	    strcasestr(r->who, filter) != NULL ||
	    strcasestr(r->user, filter) != NULL ||
	    strcasestr(r->holder, filter) != NULL ||
	    strcasestr(r->sort, filter) != NULL ||
	    strcasestr(r->ns, filter) != NULL || strcmp(pid, filter) == 0;
}

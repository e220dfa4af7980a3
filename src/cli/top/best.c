/*
 * Rows are kept as they come. When the room is full they are sorted, and the
 * half that is behind goes; from then on the last of those that stayed says
 * what need not be kept at all. That costs no more than a heap, and a row that
 * goes up meanwhile need not be moved.
 */
#include <config.h>

#include "cli/top/best.h"

#include <stdlib.h>

#define BEST_ROOM (2 * (size_t)BEST_KEPT)

void
best_init(struct best *b, enum column sort)
{
	*b = (struct best){ .sort = sort };
	row_init(&b->last);
	b->rows = calloc(BEST_ROOM, sizeof(b->rows[0]));
	b->failed = b->rows == NULL;
}

void
best_clear(struct best *b)
{
	for (size_t i = 0; i < b->n; i++)
		row_drop(&b->rows[i]);
	row_drop(&b->last);
	b->n = 0;
	b->cut = false;
	b->failed = b->rows == NULL;
}

void
best_done(struct best *b)
{
	best_clear(b);
	free(b->rows);
	b->rows = NULL;
}

int
best_order(const struct best *b, const struct row *one,
    const struct row *other)
{
	int order = row_order(one, other, b->sort);

	return b->reversed ? -order : order;
}

static int
best_compare(const void *one, const void *other, void *best)
{
	return best_order(best, one, other);
}

void
best_settle(struct best *b)
{
	if (b->n > 1)
		qsort_r(b->rows, b->n, sizeof(b->rows[0]), best_compare, b);
	if (b->n <= BEST_KEPT)
		return;
	while (b->n > BEST_KEPT)
		row_drop(&b->rows[--b->n]);
	row_drop(&b->last);
	b->cut = row_keep(&b->last, &b->rows[b->n - 1]);
	b->failed = b->failed || !b->cut;
}

struct row *
best_offer(struct best *b, const struct row *r)
{
	if (b->rows == NULL || (b->cut && best_order(b, &b->last, r) < 0))
		return NULL;
	if (b->n == BEST_ROOM)
		best_settle(b);
	if (!row_keep(&b->rows[b->n], r)) {
		b->failed = true;
		return NULL;
	}
	return &b->rows[b->n++];
}

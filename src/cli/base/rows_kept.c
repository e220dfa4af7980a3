/*
 * Rows that are not printed yet.
 *
 * A store lists its locks in an order of its own: that of keys, or of their
 * hashes. To sort them takes all of them, so it is done for listings of a size
 * that people read (rows.c), and longer ones stay as they come.
 */
#include <config.h>

#include "cli/base/rows_kept.h"

#include <stdlib.h>
#include <string.h>

#define KEPT_TEXT_MAX (16 * 1024 * 1024)
#define KEPT_ROOM_FIRST 64

struct rows_kept_row {
	size_t text;		/* offsets */
	size_t ns;
	size_t name;		/* its key and its sort key, a NUL after each */
	size_t name_length;
	size_t group;
	const char *bytes;	/* the name, while it is sorted */
};

void
rows_kept_init(struct rows_kept *k)
{
	*k = (struct rows_kept){ .rows = NULL };
	buffer_init(&k->text, KEPT_TEXT_MAX);
	buffer_init(&k->names, KEPT_TEXT_MAX);
}

void
rows_kept_done(struct rows_kept *k)
{
	free(k->rows);
	buffer_done(&k->text);
	buffer_done(&k->names);
}

static void
rows_kept_name(struct rows_kept *k, const struct ddblock_row *row,
    const char *field)
{
	size_t length = 0;
	const char *value = ddblock_row_find(row, field, &length);

	/* The end comes before all that may follow. */
	(void)buffer_append(&k->names, value == NULL ? "" : value, length);
	(void)buffer_append(&k->names, "", 1);
}

/* Rows of a namespace follow each other. */
static bool
rows_kept_is_other(const struct rows_kept *k, const struct rows_kept_row *row)
{
	return k->n > 0 && k->names.data != NULL &&
	    strcmp(k->names.data + k->rows[k->n - 1].ns,
	    k->names.data + row->ns) != 0;
}

static bool
rows_kept_grow(struct rows_kept *k)
{
	size_t room = k->room == 0 ? KEPT_ROOM_FIRST : 2 * k->room;
	struct rows_kept_row *rows;

	if (k->n < k->room)
		return true;
	rows = realloc(k->rows, room * sizeof(*rows));
	k->failed = k->failed || rows == NULL;
	if (rows == NULL)
		return false;
	k->rows = rows;
	k->room = room;
	return true;
}

void
rows_kept_add(struct rows_kept *k, const struct ddblock_row *row)
{
	struct rows_kept_row *new;

	if (!rows_kept_grow(k))
		return;
	new = &k->rows[k->n];
	*new = (struct rows_kept_row){ .text = k->text.length,
		.ns = k->names.length };
	rows_kept_name(k, row, "ns");
	new->name = k->names.length;
	rows_kept_name(k, row, "key");
	rows_kept_name(k, row, "sort");
	new->name_length = k->names.length - new->name;
	if (rows_kept_is_other(k, new))
		k->group++;
	new->group = k->group;
	k->n++;
}

static int
rows_kept_compare(const void *one, const void *other)
{
	const struct rows_kept_row *a = one, *b = other;
	size_t length = a->name_length < b->name_length ? a->name_length :
	    b->name_length;
	int order;

	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	order = memcmp(a->bytes, b->bytes, length);
	if (order != 0 || a->name_length == b->name_length)
		return order;
	return a->name_length < b->name_length ? -1 : 1;
}

void
rows_kept_sort(struct rows_kept *k)
{
	if (k->n == 0 || k->names.data == NULL)
		return;
	for (size_t i = 0; i < k->n; i++)
		k->rows[i].bytes = k->names.data + k->rows[i].name;
	qsort(k->rows, k->n, sizeof(*k->rows), rows_kept_compare);
}

const char *
rows_kept_text(const struct rows_kept *k, size_t i)
{
	return k->text.data == NULL ? "" : k->text.data + k->rows[i].text;
}

int
rows_kept_failed(const struct rows_kept *k)
{
	int r = buffer_failed(&k->text);

	if (r == 0)
		r = buffer_failed(&k->names);
	return r == 0 && k->failed ? DDBLOCK_E_NOMEM : r;
}

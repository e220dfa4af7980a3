/*
 * Widths: columns of numbers have theirs, names share the rest. A name that
 * needs less leaves what it does not need to the others.
 */
#include <config.h>

#include "cli/top/table.h"

#include <string.h>

#define TABLE_NAME_LEAST 4

/* What the columns with a width leave, and how many have none. */
static unsigned
table_rest(const struct table *t, unsigned page_columns, unsigned *ret_names)
{
	unsigned rest = page_columns, gaps = 0, names = 0;

	for (size_t i = 0; i < t->n; i++) {
		if (page_columns < t->columns[i].least)
			continue;
		gaps++;
		names += t->columns[i].width == 0;
		rest -= t->columns[i].width < rest ? t->columns[i].width :
		    rest;
	}
	gaps = gaps > 0 ? (gaps - 1) * t->gap : 0;
	*ret_names = names;
	return rest > gaps ? rest - gaps : 0;
}

/* One round of sharing: each gets what it wants, up to its part. True: some
 * wanted less, so that there may be more for the others. */
static bool
table_share(struct table *t, unsigned *rest, unsigned *names,
    const unsigned *wanted, bool *settled)
{
	unsigned part = *names > 0 ? *rest / *names : 0;
	bool again = false;

	for (size_t i = 0; i < t->n; i++) {
		if (settled[i] || wanted[i] > part)
			continue;
		t->widths[i] = wanted[i];
		settled[i] = again = true;
		*rest -= wanted[i];
		--*names;
	}
	return again;
}

void
table_plan(struct table *t, const struct table_column *columns, size_t n,
    unsigned gap, unsigned page_columns, const unsigned *wanted)
{
	unsigned needs[TABLE_COLUMNS_MAX] = { 0 };
	bool settled[TABLE_COLUMNS_MAX] = { false };
	unsigned names, rest;

	*t = (struct table){ .columns = columns, .n = n, .gap = gap };
	rest = table_rest(t, page_columns, &names);
	for (size_t i = 0; i < n; i++) {
		unsigned title = (unsigned)strlen(columns[i].title);

		settled[i] = columns[i].width > 0 ||
		    page_columns < columns[i].least;
		if (page_columns >= columns[i].least)
			t->widths[i] = columns[i].width;
		needs[i] = wanted[i] > title ? wanted[i] : title;
		if (needs[i] < TABLE_NAME_LEAST)
			needs[i] = TABLE_NAME_LEAST;
	}
	while (table_share(t, &rest, &names, needs, settled))
		continue;
	for (size_t i = 0; i < n; i++) {
		if (!settled[i] && names > 0) {
			t->widths[i] = rest / names;
			rest -= t->widths[i];
			names--;
		}
	}
}

/* Between two cells, once. */
static void
table_gap(struct table *t, struct page *p, enum page_style style)
{
	if (t->state == TABLE_CELL)
		page_fill(p, style, p->column + t->gap);
	t->state = TABLE_BEGIN;
}

void
table_cell(struct table *t, struct page *p, enum page_style style,
    size_t column, const char *text)
{
	if (t->widths[column] == 0)
		return;
	table_gap(t, p, style);
	t->state = TABLE_CELL;
	page_cell(p, style, text, t->widths[column],
	    t->columns[column].right);
}

void
table_end(struct table *t, struct page *p, enum page_style style)
{
	page_fill(p, style, p->columns);
	t->state = TABLE_BEGIN;
	(void)page_next(p);
}

void
table_heading(struct table *t, struct page *p, size_t marked)
{
	for (size_t i = 0; i < t->n; i++) {
		if (t->widths[i] > 0)
			table_gap(t, p, PAGE_HEADING);
		table_cell(t, p, i == marked ? PAGE_SELECTED : PAGE_HEADING, i,
		    t->columns[i].title);
	}
	table_end(t, p, PAGE_HEADING);
}

/*
 * A table on a page: which columns have room, how wide they are, and its cells.
 * Pure.
 */
#ifndef DDBLOCKD_CLI_TOP_TABLE_H
#define DDBLOCKD_CLI_TOP_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/top/page.h"

#define TABLE_COLUMNS_MAX 16

struct table_column {
	const char *title;
	unsigned width;		/* 0: what its texts need, as far as it goes */
	bool right;
	unsigned least;		/* only on pages of so many columns */
};

struct table {
	const struct table_column *columns;
	size_t n;
	unsigned gap;		/* between two columns */
	unsigned widths[TABLE_COLUMNS_MAX];	/* 0: it is not shown */
	enum {
		TABLE_BEGIN,	/* here a cell may begin */
		TABLE_CELL,	/* here one has ended */
	} state;
};

/* @wanted: of the columns without a width, how much their texts need. */
void table_plan(struct table *, const struct table_column *, size_t n,
    unsigned gap, unsigned page_columns, const unsigned *wanted);

/* A line; the column @marked (or @n: none) stands out. */
void table_heading(struct table *, struct page *, size_t marked);

/* A cell: they come in the order of the columns, all of each line. */
void table_cell(struct table *, struct page *, enum page_style, size_t column,
    const char *text);

/* After the last cell of a line. */
void table_end(struct table *, struct page *, enum page_style);

#endif

/*
 * Rows that are not printed yet: until the widths of their columns are known,
 * or until all are there and can be sorted by their keys.
 */
#ifndef DDBLOCKD_CLI_BASE_ROWS_KEPT_H
#define DDBLOCKD_CLI_BASE_ROWS_KEPT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/buffer.h"
#include "ddblock.h"

struct rows_kept_row;

struct rows_kept {
	struct rows_kept_row *rows;
	size_t n;
	size_t room;
	bool failed;		/* out of memory */
	size_t group;		/* of the last row: its namespace's place */
	struct buffer text;	/* what the user of this appends */
	struct buffer names;	/* to sort by */
};

void rows_kept_init(struct rows_kept *);
void rows_kept_done(struct rows_kept *);

/* What is appended to @text from here on belongs to @row, a new one. */
void rows_kept_add(struct rows_kept *, const struct ddblock_row *row);

/* By key and sort key, each namespace by itself. */
void rows_kept_sort(struct rows_kept *);

/* The text of row @i. */
const char *rows_kept_text(const struct rows_kept *, size_t i);

/* 0, DDBLOCK_E_LIMIT or DDBLOCK_E_NOMEM: something could not be kept. */
int rows_kept_failed(const struct rows_kept *);

#endif

/*
 * The three lists as tables. Pure.
 */
#ifndef DDBLOCKD_CLI_TOP_LISTS_H
#define DDBLOCKD_CLI_TOP_LISTS_H

#include "cli/top/page.h"
#include "cli/top/view.h"

/* What it is called: "Keys"; a column of it: "WAITERS". */
const char *lists_name(enum list);
const char *lists_title(enum list, enum column);

/* What it is sorted by after this one. */
enum column lists_next_sort(const struct model *, enum list, enum column);

/* The heading and rows from @first on, as many as @lines has room for; the row
 * under the bar is @selected, or SIZE_MAX. */
void lists_draw(struct page *, const struct view *, const struct model *,
    enum list, size_t first, size_t lines, size_t selected);

#endif

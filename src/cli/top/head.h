/*
 * The daemon and its namespaces, above everything else. Pure.
 */
#ifndef DDBLOCKD_CLI_TOP_HEAD_H
#define DDBLOCKD_CLI_TOP_HEAD_H

#include "cli/top/view.h"

/* The daemon, a line; a table of at most @most namespaces; what their stores
 * complain of, if there is room. */
void head_draw(struct page *, const struct view *, const struct model *,
    size_t most);

/* How many lines that is. */
size_t head_lines(const struct model *, size_t most);

#endif

/*
 * A lock that is looked into, as lines. Pure.
 */
#ifndef DDBLOCKD_CLI_TOP_INSIDE_H
#define DDBLOCKD_CLI_TOP_INSIDE_H

#include "cli/top/view.h"

/* As much of it as fits into @lines, from the user's place on; @v learns how
 * many there are. */
void inside_draw(struct page *, struct view *, const struct detail *,
    size_t lines);

#endif

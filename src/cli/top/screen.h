/*
 * The whole screen of ddblock top, of any size. Pure.
 */
#ifndef DDBLOCKD_CLI_TOP_SCREEN_H
#define DDBLOCKD_CLI_TOP_SCREEN_H

#include "cli/top/view.h"

#define SCREEN_COLUMNS_MIN 30
#define SCREEN_LINES_MIN 7

/* Draw all of it. @v learns how many rows there is room for. Where the cursor
 * belongs is where the page is after this, if there is a prompt. */
void screen_draw(struct page *, struct view *, const struct model *,
    const struct detail *);

/* A text of what is known, as long as it is, for a file. */
void screen_text(struct page *, const struct view *, const struct model *);

#endif

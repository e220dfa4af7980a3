/*
 * The terminal: pages come out, keys go in. The only file that knows ncurses.
 */
#ifndef DDBLOCKD_CLI_TOP_TERMINAL_H
#define DDBLOCKD_CLI_TOP_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/top/page.h"

/* False: there is no such terminal. */
bool terminal_open(void);
void terminal_close(void);

/* Its size has changed; everything is to be drawn again; this process is
 * stopped until it is continued. */
void terminal_resize(void);
void terminal_redraw(void);
void terminal_suspend(void);

/* A page of its size; when it is drawn, show it, with the cursor at the page's
 * place if there is one. */
void terminal_begin(struct page *);
void terminal_end(const struct page *, bool cursor);

/* A character, or one of enum view_key: VIEW_KEY_NONE, no key was pressed. */
uint32_t terminal_key(void);

#endif

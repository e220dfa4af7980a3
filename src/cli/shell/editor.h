/*
 * A line typed on the terminal, with history and completion, while other text
 * may be printed at any time.
 */
#ifndef DDBLOCKD_CLI_SHELL_EDITOR_H
#define DDBLOCKD_CLI_SHELL_EDITOR_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/shell/words.h"

struct editor;

/*
 * @wait(@arg) returns true when the terminal has input, and false when no more
 * is to be read. @words is borrowed. NULL: no memory.
 */
struct editor *editor_new(bool (*wait)(void *arg), void *arg,
    const struct words *words);
void editor_free(struct editor *);

/* The next line, with its LF, valid until the next call; NULL: the end. */
const char *editor_line(struct editor *, size_t *ret_length);

/* Before and after other text is printed: take the prompt and the typed text
 * off the terminal, and put them back. */
void editor_hide(struct editor *);
void editor_show(struct editor *);

/* From within @wait: drop the typed text; another process has the terminal for
 * a while; the terminal has another size. */
void editor_interrupt(struct editor *);
void editor_suspend(struct editor *);
void editor_resize(struct editor *);

#endif

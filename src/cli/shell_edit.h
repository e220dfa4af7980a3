/*
 * A line typed on the terminal, with history and completion, while something
 * else may be printed at any time.
 */
#ifndef DDBLOCKD_CLI_SHELL_EDIT_H
#define DDBLOCKD_CLI_SHELL_EDIT_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/shell_words.h"

struct editor;

/*
 * @wait(@arg) returns true when the terminal has something to be read, and
 * false when nothing more shall be. @words is borrowed. NULL: no memory.
 */
struct editor *editor_new(bool (*wait)(void *arg), void *arg,
    const struct words *words);
void editor_free(struct editor *);

/* The next line, with its LF, valid until the next call; NULL: the end. */
const char *editor_line(struct editor *, size_t *ret_length);

/* Around whatever is printed: take the prompt and the typed text off the
 * terminal, and put them back. */
void editor_hide(struct editor *);
void editor_show(struct editor *);

/* From within @wait: the typed text is given up; the terminal is another's for
 * a while; it has another size. */
void editor_interrupt(struct editor *);
void editor_suspend(struct editor *);
void editor_resize(struct editor *);

#endif

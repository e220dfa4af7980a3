/*
 * The words of the protocol: the daemon's own list (HELP), and which of them
 * fit a line that is being typed.
 */
#ifndef DDBLOCKD_CLI_SHELL_WORDS_H
#define DDBLOCKD_CLI_SHELL_WORDS_H

#include <stddef.h>

#include "common/buffer.h"
#include "ipc/codec.h"

#define WORDS_VERBS_MAX 64

struct words_verb {
	char *verb;
	char *subject;		/* of its first argument; or NULL */
	char *arguments;	/* their labels, commas between; or NULL */
};

struct words {
	struct words_verb verbs[WORDS_VERBS_MAX];
	size_t n_verbs;
};

void words_done(struct words *);

/* Learn a row of HELP. Words beyond the limits are ignored. */
void words_learn(struct words *, const struct codec_line *);

/*
 * The possible completions of the word before @cursor: a NUL after each.
 * Returns how many; *@ret_begin is where that word begins.
 */
size_t words_complete(const struct words *, const char *line, size_t cursor,
    struct buffer *ret, size_t *ret_begin);

#endif

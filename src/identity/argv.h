/*
 * A command line taken apart (pure), as botocore does it for
 * credential_process: words between blanks; '...' and "..." keep their content;
 * a backslash keeps the next character, within "..." only before '"' and
 * itself. Nothing else is special: there is no shell.
 */
#ifndef DDBLOCKD_IDENTITY_ARGV_H
#define DDBLOCKD_IDENTITY_ARGV_H

#include <stddef.h>

#define ARGV_WORDS_MAX 64

struct argv {
	char *text;			/* what they point into */
	char *words[ARGV_WORDS_MAX + 1];	/* the last is NULL */
	size_t n_words;
};

/*
 * argv_done() is due after success only.
 *
 * DDBLOCK_E_BAD_REQUEST
 *     A quotation without an end, or nothing at all; @ret_text says which.
 * DDBLOCK_E_LIMIT
 * DDBLOCK_E_NOMEM
 */
int argv_split(struct argv *, const char *command, const char **ret_text);

void argv_done(struct argv *);

#endif

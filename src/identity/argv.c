/*
 * A command line taken apart.
 */
#include "identity/argv.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "identity/profile_words.h"

int
argv_split(struct argv *w, const char *command, const char **ret_text)
{
	struct argv made = { .text = strdup(command) };
	int n;

	*ret_text = "out of memory";
	if (made.text == NULL)
		return DDBLOCK_E_NOMEM;
	n = profile_words(made.text, made.words, ARGV_WORDS_MAX);
	if (n > 0 && n <= ARGV_WORDS_MAX) {
		made.n_words = (size_t)n;
		*w = made;
		return 0;
	}
	argv_done(&made);
	*ret_text = n == 0 ? "it is empty" : n < 0 ?
	    "a quotation in it has no end" : "it has too many words";
	return n > 0 ? DDBLOCK_E_LIMIT : DDBLOCK_E_BAD_REQUEST;
}

void
argv_done(struct argv *w)
{
	free(w->text);
	*w = (struct argv){ .text = NULL };
}

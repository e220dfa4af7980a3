/*
 * A command line taken apart.
 */
#include "aws/words.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"

/* Copies one word to *@to; what comes after it is at the result, which is NULL
 * if a quotation has no end. */
static const char *
words_take(const char *from, char **to)
{
	char quote = '\0';

	for (; *from != '\0' && (quote != '\0' ||
	    strchr(" \t\r\n", *from) == NULL); from++) {
		if (*from == '\\' && quote != '\'') {
			if (from[1] == '\0')
				return NULL;
			if (quote == '"' && from[1] != '"' && from[1] != '\\')
				*(*to)++ = *from;
			*(*to)++ = *++from;
		} else if (quote == '\0' && (*from == '\'' || *from == '"')) {
			quote = *from;
		} else if (quote != '\0' && *from == quote) {
			quote = '\0';
		} else {
			*(*to)++ = *from;
		}
	}
	return quote == '\0' ? from : NULL;
}

int
words_split(struct words *w, const char *command, const char **ret_text)
{
	char *to;

	*w = (struct words){ .text = malloc(strlen(command) + 2) };
	*ret_text = "out of memory";
	if (w->text == NULL)
		return DDBLOCK_E_NOMEM;
	to = w->text;
	for (;;) {
		command += strspn(command, " \t\r\n");
		if (*command == '\0')
			break;
		if (w->n_words == WORDS_MAX) {
			*ret_text = "it has too many words";
			words_done(w);
			return DDBLOCK_E_LIMIT;
		}
		w->words[w->n_words++] = to;
		command = words_take(command, &to);
		if (command == NULL) {
			*ret_text = "a quotation in it has no end";
			words_done(w);
			return DDBLOCK_E_BAD_REQUEST;
		}
		*to++ = '\0';
	}
	if (w->n_words > 0)
		return 0;
	*ret_text = "it is empty";
	words_done(w);
	return DDBLOCK_E_BAD_REQUEST;
}

void
words_done(struct words *w)
{
	free(w->text);
	*w = (struct words){ .text = NULL };
}

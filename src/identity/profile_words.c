/*
 * Words as a POSIX shell has them. A word never becomes longer by taking its
 * quotes away, so it can stand where it was.
 */
#include "identity/profile_words.h"

#include <stdbool.h>
#include <string.h>

#include "common/error.h"

static bool
words_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* A text within quotes; @from is behind the first. NULL: there is no end. */
static char *
words_quoted(char *from, char quote, char **to)
{
	for (; *from != quote; from++) {
		if (*from == '\0')
			return NULL;
		/* There, a backslash quotes itself and the quote only. */
		if (quote == '"' && *from == '\\' &&
		    (from[1] == '"' || from[1] == '\\'))
			from++;
		*(*to)++ = *from;
	}
	return from + 1;
}

/* One word; NULL: it has no end. @from is behind it then. */
static char *
words_one(char *from, char **to)
{
	while (*from != '\0' && !words_blank(*from)) {
		char c = *from++;

		if (c == '\'' || c == '"') {
			from = words_quoted(from, c, to);
			if (from == NULL)
				return NULL;
			continue;
		}
		if (c == '\\' && *from == '\0')
			return NULL;
		*(*to)++ = c == '\\' ? *from++ : c;
	}
	return from;
}

int
profile_words(char *text, char **words, size_t words_max)
{
	char *from = text, *to = text;
	size_t n = 0;

	for (;;) {
		char *word = to;
		bool last;

		while (words_blank(*from))
			from++;
		if (*from == '\0')
			return (int)n;
		from = words_one(from, &to);
		if (from == NULL)
			return DDBLOCK_E_BAD_REQUEST;
		last = *from == '\0';
		*to++ = '\0';	/* at the blank at the latest */
		if (n < words_max)
			words[n] = word;
		n++;
		if (last)
			return (int)n;
		from++;
	}
}

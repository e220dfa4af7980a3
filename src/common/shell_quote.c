/*
 * Texts as a POSIX shell reads them. Between single quotes nothing has a
 * meaning but the quote itself, which therefore stands outside: '\\''.
 */
#include "common/shell_quote.h"

#include <string.h>

#define SHELL_PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" \
	"0123456789%+,-./:@_"

void
shell_quote(struct buffer *b, const char *text)
{
	if (text[0] != '\0' && text[strspn(text, SHELL_PLAIN)] == '\0') {
		(void)buffer_append_text(b, text);
		return;
	}
	(void)buffer_append_text(b, "'");
	for (; *text != '\0'; text++) {
		if (*text == '\'')
			(void)buffer_append_text(b, "'\\''");
		else
			(void)buffer_append(b, text, 1);
	}
	(void)buffer_append_text(b, "'");
}

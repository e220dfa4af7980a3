/*
 * Text that may not be there, or may not fit.
 */
#ifndef DDBLOCKD_COMMON_TEXT_H
#define DDBLOCKD_COMMON_TEXT_H

#include <stdbool.h>
#include <string.h>

/* NULL equals only NULL. */
static inline bool
text_equal(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* As much of it as fits, as snprintf(to, size, "%s", text), which costs more
 * than a request can spare. */
static inline void
text_copy(char *to, size_t size, const char *text)
{
	size_t length = strlen(text);

	if (length >= size)
		length = size - 1;
	memcpy(to, text, length);
	to[length] = '\0';
}

#endif

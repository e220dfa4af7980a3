/*
 * Text that may not be there.
 */
#ifndef DDBLOCKD_COMMON_TEXT_H
#define DDBLOCKD_COMMON_TEXT_H

#include <stdbool.h>
#include <string.h>

/* What is not there (NULL) is like nothing but its like. */
static inline bool
text_equal(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

#endif

/*
 * Texts as a POSIX shell reads them, for what is offered to be pasted. Pure.
 */
#ifndef DDBLOCKD_COMMON_SHELL_QUOTE_H
#define DDBLOCKD_COMMON_SHELL_QUOTE_H

#include "common/buffer.h"

/*
 * Append @text as one word: in single quotes, unless all its characters stand
 * for themselves anywhere. That is safe to execute, and not always to paste: a
 * terminal may act on control characters first (utf8_is_shown()). Failures
 * stick in the buffer.
 */
void shell_quote(struct buffer *, const char *text);

#endif

/*
 * Texts as JSON has them. Pure.
 */
#ifndef DDBLOCKD_COMMON_JSON_QUOTE_H
#define DDBLOCKD_COMMON_JSON_QUOTE_H

#include "common/buffer.h"

/* Append a JSON string, quotes included. Control characters are escaped, and
 * U+0080 to U+009F are some, because JSON is read at terminals, too. Bytes that
 * are not UTF-8 become U+FFFD. Failures stick in the buffer. */
void json_quote(struct buffer *, const char *bytes, size_t length);

#endif

/*
 * Texts as JSON has them. Pure.
 */
#ifndef DDBLOCKD_COMMON_JSON_QUOTE_H
#define DDBLOCKD_COMMON_JSON_QUOTE_H

#include "common/buffer.h"

/* Append a JSON string, quotes included. Bytes that are not UTF-8 become
 * U+FFFD. Failures stick in the buffer. */
void json_quote(struct buffer *, const char *bytes, size_t length);

#endif

/*
 * Base64 (RFC 4648, section 4), as DynamoDB writes bytes. Pure.
 */
#ifndef DDBLOCKD_COMMON_BASE64_H
#define DDBLOCKD_COMMON_BASE64_H

#include <stdbool.h>
#include <stddef.h>

#include "common/buffer.h"

/* Failures stick in the buffer. */
void base64_append(struct buffer *, const void *bytes, size_t length);

/* How many bytes a text of @length may stand for, at most. */
size_t base64_room(size_t length);

/* The bytes that @text stands for, into @ret. False: it is not base64. */
bool base64_read(const char *text, size_t length, void *ret,
    size_t *ret_length);

#endif

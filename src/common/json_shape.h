/*
 * Is a text JSON, and small enough? Asked before json-c takes it apart, for who
 * sends it may be no friend. Pure, and without memory of its own.
 */
#ifndef DDBLOCKD_COMMON_JSON_SHAPE_H
#define DDBLOCKD_COMMON_JSON_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

#define JSON_SHAPE_DEPTH_MAX 80
/* The tree takes up to 800 bytes for a value of two characters. A page of
 * records has some hundred thousand values; only what was made for that has
 * more. */
#define JSON_SHAPE_VALUES_MAX (1024 * 1024)

/*
 * One object by RFC 8259 and nothing else: UTF-8, without NUL, numbers and
 * escapes as they must be, at most so deep, with at most so many values.
 */
bool json_shape_is_object(const char *bytes, size_t length);

/* So many of the first bytes stand for themselves in a string: ASCII, without
 * quotes, backslashes and control characters. */
size_t json_shape_plain(const char *bytes, size_t length);

#endif

/*
 * What is UTF-8. Pure.
 */
#ifndef DDBLOCKD_COMMON_UTF8_H
#define DDBLOCKD_COMMON_UTF8_H

#include <stddef.h>

/*
 * The length of the one well-formed character at the start of @bytes, or 0 if
 * there is none. Overlong forms, surrogates and what lies above U+10FFFF are
 * not well-formed. NUL is.
 */
size_t utf8_character(const char *bytes, size_t length);

#endif

/*
 * What is UTF-8, and what of it can be shown. Pure.
 */
#ifndef DDBLOCKD_COMMON_UTF8_H
#define DDBLOCKD_COMMON_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The length of the one well-formed character at the start of @bytes, or 0 if
 * there is none. Overlong forms, surrogates and what lies above U+10FFFF are
 * not well-formed. NUL is.
 */
size_t utf8_character(const char *bytes, size_t length);

/* The same for what is fit for a terminal and for a line of the log: 0 for
 * control characters, too. U+0080 to U+009F are some, and drive terminals. */
size_t utf8_shown(const char *bytes, size_t length);

/* Is all of @text? */
bool utf8_is_shown(const char *text);

/* Put '?' for each byte of @text that is not. */
void utf8_make_shown(char *text, size_t length);

#endif

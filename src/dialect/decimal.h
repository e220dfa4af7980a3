/*
 * Numbers of any size, as bytes with the most significant first.
 */
#ifndef DDBLOCKD_DIALECT_DECIMAL_H
#define DDBLOCKD_DIALECT_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No counter comes so far; and the digits of so many bytes cost a fraction of a
 * millisecond, which grows with the square of their number. */
#define DECIMAL_BYTES_MAX 1024
#define DECIMAL_ROOM(bytes) ((bytes) * 5 / 2 + 2)	/* digits, and a NUL */

/* Does it fit into 64 bits? */
bool decimal_small(const unsigned char *bytes, size_t n, uint64_t *ret);

/* Its digits, of DECIMAL_BYTES_MAX bytes at most. */
void decimal_text(const unsigned char *bytes, size_t n, char *text);

/* Add to it. The result has at most 8 bytes more, and @ret has room for it. */
size_t decimal_add(const unsigned char *bytes, size_t n, uint64_t more,
    unsigned char *ret);

#endif

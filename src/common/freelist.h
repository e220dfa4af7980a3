/*
 * Pieces of memory of one size that live briefly, kept to be used again. Freed,
 * each would leave a gap among what lives long, which was allocated meanwhile,
 * and of which nothing fits in quite.
 */
#ifndef DDBLOCKD_COMMON_FREELIST_H
#define DDBLOCKD_COMMON_FREELIST_H

#include <stddef.h>

#define FREELIST_MAX 512	/* so many are kept */

struct freelist_piece;

/* Zeroed: there are none. */
struct freelist {
	struct freelist_piece *first;
	size_t n;
};

/* Of @size bytes, always the same, and not zeroed. NULL: no memory. */
void *freelist_take(struct freelist *, size_t size);

/* Back, or freed if enough are kept; by free() it may be at any time. */
void freelist_give(struct freelist *, void *);

void freelist_done(struct freelist *);

#endif

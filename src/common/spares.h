/*
 * Pieces of memory of one size that live briefly, kept to be used again. Freed,
 * each would leave a gap among what lives long, which was allocated meanwhile,
 * and of which nothing fits in quite.
 */
#ifndef DDBLOCKD_COMMON_SPARES_H
#define DDBLOCKD_COMMON_SPARES_H

#include <stddef.h>

#define SPARES_MAX 512	/* so many are kept */

struct spare;

/* Zeroed: there are none. */
struct spares {
	struct spare *first;
	size_t n;
};

/* Of @size bytes, always the same, and not zeroed. NULL: no memory. */
void *spares_take(struct spares *, size_t size);

/* Back, or freed if enough are kept; by free() it may be at any time. */
void spares_give(struct spares *, void *);

void spares_done(struct spares *);

#endif

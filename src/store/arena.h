/*
 * Memory that is freed all at once. A job's copied input and its outcome, of
 * any shape, live in one of these, so that nothing of it is freed piecemeal
 * and the usual job costs a single allocation.
 */
#ifndef DDBLOCKD_STORE_ARENA_H
#define DDBLOCKD_STORE_ARENA_H

#include <stddef.h>

struct arena_block;

struct arena {
	char *next;
	size_t room;
	struct arena_block *blocks;
};

/* @first, suitably aligned, is used before anything is allocated; it stays
 * the caller's. */
void arena_init(struct arena *, void *first, size_t size);
void arena_done(struct arena *);

/* Aligned for any object. NULL: no memory. A size of 0 gives a valid
 * pointer. */
void *arena_alloc(struct arena *, size_t size);
void *arena_copy(struct arena *, const void *bytes, size_t size);

/* A copy that is followed by a NUL. */
char *arena_copy_text(struct arena *, const void *bytes, size_t length);

#endif

/*
 * See trim.h. A piece comes out of what is free if it lies below the end of the
 * heap, and that has not moved for it. Of another allocator, as the sanitizers
 * have one, nothing does, and nothing is done.
 */
#include "common/trim.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/clock.h"

/* The first pieces are the largest that malloc() takes from the heap whatever
 * was freed before; the last ones have two pages. What is free in smaller parts
 * stays. */
#define TRIM_PIECE_BYTES ((size_t)120 << 10)
#define TRIM_PIECE_BYTES_MIN ((size_t)120 << 6)

struct trim_piece {
	struct trim_piece *next;	/* in its first page: it is aligned */
};

/* Its pages, but for that of its head. */
static void
trim_give(struct trim_piece *piece, size_t size)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const uintptr_t head = (uintptr_t)piece % page;
	const size_t end = (head + size) / page * page;

	/* If it fails they stay, and nothing is lost. */
	if (end > page)
		(void)madvise((char *)piece - head + page, end - page,
		    MADV_DONTNEED);
}

/* False: there is no more of that size. */
static bool
trim_take(struct trim *t, size_t size)
{
	const char *end = sbrk(0);
	struct trim_piece *piece = malloc(size);

	if (piece == NULL)
		return false;
	if ((const char *)piece >= end || sbrk(0) != (const void *)end) {
		free(piece);
		return false;
	}
	piece->next = t->pieces;
	t->pieces = piece;
	t->bytes += size;
	if (t->bytes > TRIM_KEPT_BYTES)
		trim_give(piece, size);
	return true;
}

static void
trim_free_one(struct trim *t)
{
	struct trim_piece *piece = t->pieces;

	t->pieces = piece->next;
	free(piece);
}

bool
trim_step(struct trim *t, uint64_t end_ns)
{
	if (t->size == 0)
		t->size = TRIM_PIECE_BYTES;
	do {
		if (t->size >= TRIM_PIECE_BYTES_MIN) {
			if (!trim_take(t, t->size))
				t->size /= 2;
		} else if (t->pieces != NULL) {
			trim_free_one(t);
		} else {
			*t = (struct trim){ .size = 0 };
			return false;
		}
	} while (clock_monotonic_ns() < end_ns);
	return true;
}

void
trim_done(struct trim *t)
{
	while (t->pieces != NULL)
		trim_free_one(t);
	*t = (struct trim){ .size = 0 };
}

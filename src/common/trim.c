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

/* The largest that malloc() takes from the heap whatever was freed before. What
 * is free in smaller parts stays. */
#define TRIM_PIECE_BYTES ((size_t)120 << 10)
#define TRIM_KEPT (TRIM_KEPT_BYTES / TRIM_PIECE_BYTES)

struct trim_piece {
	struct trim_piece *next;	/* in its first page: it is aligned */
};

/* Its pages, but for that of its head. */
static void
trim_give(struct trim_piece *piece)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const uintptr_t head = (uintptr_t)piece % page;
	const size_t end = (head + TRIM_PIECE_BYTES) / page * page;

	/* If it fails they stay, and nothing is lost. */
	if (end > page)
		(void)madvise((char *)piece - head + page, end - page,
		    MADV_DONTNEED);
}

/* False: there is no more. */
static bool
trim_take(struct trim *t)
{
	const char *end = sbrk(0);
	struct trim_piece *piece = malloc(TRIM_PIECE_BYTES);

	if (piece == NULL)
		return false;
	if ((const char *)piece >= end || sbrk(0) != (const void *)end) {
		free(piece);
		return false;
	}
	piece->next = t->pieces;
	t->pieces = piece;
	if (++t->n > TRIM_KEPT)
		trim_give(piece);
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
	do {
		if (!t->frees) {
			t->frees = !trim_take(t);
		} else if (t->pieces != NULL) {
			trim_free_one(t);
		} else {
			*t = (struct trim){ .n = 0 };
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
	*t = (struct trim){ .n = 0 };
}

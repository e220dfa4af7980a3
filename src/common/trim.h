/*
 * Memory that was freed goes back to the system, some at a time.
 *
 * malloc() keeps what lies below anything that is still in use. malloc_trim(3)
 * gives that back in one call, which takes 35 to 230 ms for half a gigabyte,
 * and no thread can allocate meanwhile. So what is free is allocated here in
 * pieces, the pages of each piece are given back, and at the end all are freed.
 */
#ifndef DDBLOCKD_COMMON_TRIM_H
#define DDBLOCKD_COMMON_TRIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRIM_KEPT_BYTES ((size_t)8 << 20)	/* stay with the process */

struct trim_piece;

/* Zeroed: it has not begun. */
struct trim {
	struct trim_piece *pieces;
	size_t bytes;		/* of all of them */
	size_t size;		/* of the next one; very small: it frees them */
};

/* Go on until that time of the monotonic clock. False: that was all, and it may
 * begin again. */
bool trim_step(struct trim *, uint64_t end_ns);

/* In the middle or not: it has nothing any more. */
void trim_done(struct trim *);

#endif

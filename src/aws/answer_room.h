/*
 * Memory for the answers that are being read, in all (pure). One answer is
 * bounded by itself; a hundred of them at a time, from an endpoint that means
 * ill or of a table with large items, must be, too.
 */
#ifndef DDBLOCKD_AWS_ANSWER_ROOM_H
#define DDBLOCKD_AWS_ANSWER_ROOM_H

#include <stdbool.h>
#include <stddef.h>

#define ANSWER_ROOM_MAX (64 * 1024 * 1024)
#define ANSWER_ROOM_FREE (1024 * 1024)	/* of each answer, uncounted: a beat's
					 * has some hundred bytes */

/* A zeroed one is empty. */
struct answer_room {
	size_t used;
};

/*
 * May an answer, which has @share of the room, grow to @length? False: others
 * have so much that it may not, and nothing is changed.
 *
 * None may have more than it leaves to the others: one gets half of the room at
 * most, two a third each, and the next always finds as much as they have.
 */
bool answer_room_take(struct answer_room *, size_t *share, size_t length);

/* It is not needed any more. */
void answer_room_give(struct answer_room *, size_t *share);

#endif

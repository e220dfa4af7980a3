/*
 * A queue that serves users in turn: what one user has put in, however much,
 * delays the others by a turn. Within one user it is first in, first out.
 *
 * A turn is a number of units of cost. What is taken may cost more, which is
 * owed: the user is passed over until that is paid. (Deficit round robin.) What
 * is owed is forgotten with the last item of the user, and a user that comes
 * new, or again, is last in line.
 *
 * It needs no memory of its own, so an item can always be put in: the first
 * item of each user stands for the user, and the next one does when it leaves.
 * Each operation takes constant time where users are few; taking, besides, a
 * step for each turn owed.
 */
#ifndef DDBLOCKD_COMMON_FAIR_QUEUE_H
#define DDBLOCKD_COMMON_FAIR_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAIR_QUEUE_BUCKETS 64	/* a power of two */

/* To be embedded; all of it is the queue's. */
struct fair_item {
	struct fair_item *next;		/* of the same user */
	struct fair_item *prev;
	uint32_t user;
	uint32_t cost;

	/* In the first of each user: */
	struct fair_item *line_next;
	struct fair_item *line_prev;
	struct fair_item *bucket_next;
	int64_t credit;
};

struct fair_queue {
	uint32_t turn;			/* units of cost */
	size_t length;
	struct fair_item *line;		/* users in the order of their turns */
	struct fair_item *buckets[FAIR_QUEUE_BUCKETS];	/* users by number */
};

/* An empty queue has nothing to be freed. @turn and costs are above 0. */
void fair_queue_init(struct fair_queue *, uint32_t turn);
bool fair_queue_is_empty(const struct fair_queue *);

/* @user: any number. The item stays the caller's memory. */
void fair_queue_add(struct fair_queue *, struct fair_item *, uint32_t user,
    uint32_t cost);

/* It leaves from wherever it is, and nothing is owed for it. */
void fair_queue_remove(struct fair_queue *, struct fair_item *);

/* The next one leaves, and costs its user what it does. NULL: it is empty. */
struct fair_item *fair_queue_take(struct fair_queue *);

#endif

/*
 * An ordered set of numbers that knows the place of each: to find the next one,
 * or how many are below it, costs O(log n), as does any change. Nodes
 * are embedded in what they belong to, so adding cannot fail.
 */
#ifndef DDBLOCKD_CORE_RANK_H
#define DDBLOCKD_CORE_RANK_H

#include <stdint.h>

/* Embedded in the object that it belongs to. Its number does not change while
 * it is in a set. */
struct rank {
	struct rank *left, *right;	/* of lower and higher numbers */
	uint64_t number;
	uint32_t n;			/* nodes here and below */
};

/* A set is a pointer to its root, NULL when it is empty. */

/* Its number is not in the set. */
void rank_add(struct rank **set, struct rank *, uint64_t number);

/* It is in the set. */
void rank_remove(struct rank **set, struct rank *);

/* The first with a higher number; NULL: none. */
struct rank *rank_after(struct rank *set, uint64_t number);

/* How many have a lower number. */
uint32_t rank_below(const struct rank *set, uint64_t number);

#endif

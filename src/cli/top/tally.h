/*
 * What is counted of each lock in one look at the daemon: a table by the hash
 * of its name, of bounded size, however many locks there are. Pure.
 */
#ifndef DDBLOCKD_CLI_TOP_TALLY_H
#define DDBLOCKD_CLI_TOP_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TALLY_MAX 262144	/* locks; of more, nothing is counted */

struct tally_entry {
	uint64_t hash;		/* 0: a free place */
	uint64_t token, id;	/* the highest of its holds */
	uint64_t waited_ms;	/* the longest wait */
	uint32_t waiters;
	uint32_t holders;
	uint32_t granted;	/* of these, that were not there before */
	uint32_t slot;		/* where its row is kept (best.h), if it is */
};

struct tally {
	struct tally_entry *entries;
	size_t size;		/* places, a power of two; 0: none yet */
	size_t n;
	bool full;		/* some lock had no place */
};

void tally_done(struct tally *);

/* Forget all, and keep the memory. */
void tally_clear(struct tally *);

/* That lock's; NULL: it was not added. */
struct tally_entry *tally_find(const struct tally *, uint64_t hash);

/* The same, added if need be, which moves the others; NULL: there is no room.
 * @hash is not 0. */
struct tally_entry *tally_add(struct tally *, uint64_t hash);

#endif

/*
 * Entries in a block of memory that outlives the process which writes them, for
 * the process after it. The caller owns the block, and maps a file there.
 *
 *  1. What is written between two commits is one change: who reads the block
 *     finds all of it, or nothing. A process may die between any two stores.
 *  2. An entry is not written over: its new version is written beside it, and
 *     the change that ends the old one is named in that. The change that was
 *     committed last is one number in the head.
 *  3. What has been ended by a committed change is used again.
 *  4. Each entry has a checksum, and each change one of all entries that count
 *     after it. What a change left that was not committed is no damage;
 *     anything else that does not fit is, and then nothing of the block
 *     counts.
 *
 * Costs no system call. O(1) but for journal_read().
 */
#ifndef DDBLOCKD_COMMON_JOURNAL_H
#define DDBLOCKD_COMMON_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef JOURNAL_VERSION		/* 1: of the program that tests an upgrade */
#define JOURNAL_VERSION 2	/* is written; the one before is read, too */
#endif
#define JOURNAL_SIZE_MIN 4096
#define JOURNAL_SIZE_MAX (UINT32_C(1) << 31)
#define JOURNAL_DATA_MAX 32768		/* of one entry */
#define JOURNAL_CLASSES (JOURNAL_DATA_MAX / 16 + 3)	/* of sizes */

/* Where an entry is in its block; 0: nowhere. */
typedef uint32_t journal_place;

struct journal {
	uint8_t *memory;
	size_t size;
	uint64_t sequence;	/* of the change that is being written */
	uint64_t digest;	/* of the entries that count after it */
	bool changed;		/* something was put or ended since the last */
	journal_place ended;	/* by it, and not yet to be used again */
	journal_place free[JOURNAL_CLASSES];
	void (*before_store)(void *arg);	/* tests only, else NULL */
	void *before_store_arg;
};

/* One that counts. */
struct journal_entry {
	journal_place place;
	uint16_t kind;		/* the caller's */
	size_t length;
	const void *data;	/* aligned for any type; in the block */
};

enum journal_state {
	JOURNAL_GOOD = 1,
	JOURNAL_EMPTY,		/* it never had a change */
	JOURNAL_DAMAGED,
	JOURNAL_OTHER_VERSION,	/* that is not read; journal_version() */
};

/* ---- writing ---------------------------------------------------------- */

/* Make an empty journal of this block, of JOURNAL_SIZE_MIN bytes or more. */
void journal_format(struct journal *, void *memory, size_t size);

/* The block is there now, and larger. */
void journal_move(struct journal *, void *memory, size_t size);

/*
 * An entry of two parts, in the place of the one at *@place unless that is 0;
 * *@place is where it is then. False: there is no room, and nothing was done;
 * after journal_move() to a larger block it is done as if at once.
 */
bool journal_put(struct journal *, journal_place *place, uint16_t kind,
    const void *head, size_t head_length, const void *tail,
    size_t tail_length);

/* That one is over; *@place is 0 then, as it may be before. */
void journal_end(struct journal *, journal_place *place);

/* All since the last one counts from now on, if there was anything. */
void journal_commit(struct journal *);

/* ---- reading ---------------------------------------------------------- */

/* What is in this block? It is not written. */
enum journal_state journal_state(const void *memory, size_t size);
uint32_t journal_version(const void *memory, size_t size);

/* Of a block that is good: the next entry, in no order. False: that was all.
 * @entry->place is 0 at first. */
bool journal_read(const void *memory, size_t size, struct journal_entry *);

#endif

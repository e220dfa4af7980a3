/*
 * What the core keeps in a journal for the process after it (core_save()).
 *
 * A room says of each thing that is to outlive the process when it has changed:
 * saved_touch(); what is there at the end of the step is written. That costs
 * nothing while there is no journal.
 */
#ifndef DDBLOCKD_CORE_SAVED_H
#define DDBLOCKD_CORE_SAVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/journal.h"

struct core;

/* Also the kinds of entries: a number is used once, for ever. */
enum saved_kind {
	SAVED_SESSION = 1,
	SAVED_GRANT,
	SAVED_IN_DOUBT,
	SAVED_LOCK,	/* its record has a mark of ours, or a stray element */
	SAVED_CLIENT,
	SAVED_HOLD,
	SAVED_SERIALS,
	SAVED_RECORD_LEASE,
};

/* Embedded in what is to be saved. */
struct saved {
	journal_place place;	/* of its entry; 0: it has none yet */
	uint32_t due;		/* 1 + where it is in the list; 0: it is not */
};

struct saved_due {
	struct saved *saved;	/* NULL: it is over */
	enum saved_kind kind;
};

/* What is to be written at the end of the step. */
struct saving {
	struct journal *journal;	/* NULL: nothing is kept */
	bool all;		/* the list is not whole: write everything */
	bool fresh;		/* no entry of ours is in the journal */
	struct saved_due *due;
	uint32_t n_due, n_allocated;
};

/* It is to be written (saved_touch() in state.h asks first whether anything
 * is); or it is over, and will be freed. */
void saved_add_due(struct saving *, struct saved *, enum saved_kind);
void saved_end(struct core *, struct saved *);

/* Everything that may be saved is gone through: where the journal is another
 * one, nothing is in it yet. */
void saved_renew(const struct core *, struct saved *);

void saving_done(struct saving *);

/* ---- entries ------------------------------------------------------------ */

#define SAVED_BYTES_MAX 8192

/* One that is being put together. Only its length is set at first: to clear all
 * of it would cost more than the rest of an entry. */
struct saved_bytes {
	size_t length;
	uint8_t bytes[SAVED_BYTES_MAX];
};

void saved_add(struct saved_bytes *, const void *data, size_t length);
void saved_add_text(struct saved_bytes *, const char *);	/* or NULL */

/* The journal's, and nothing of it is believed. */
struct saved_reader {
	const uint8_t *at;
	size_t left;
	bool bad;		/* it had less than was asked for */
};

/* What is missing reads as zeros. */
void saved_take(struct saved_reader *, void *ret, size_t length);
const uint8_t *saved_take_bytes(struct saved_reader *, size_t length);

/* Within the entry, NUL-terminated; NULL: it had none. */
const char *saved_take_text(struct saved_reader *);

#endif

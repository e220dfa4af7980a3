/*
 * What an operation asks of a record, and what it makes of it: the conditions
 * and the effects of operation.h, once. A store carries them out within a
 * transaction. The expressions of the record formats say the same to DynamoDB
 * and are tested against this (check_apply_native, check_apply_formats). What
 * an attempt without an answer has left is recognised by it.
 *
 * Pure: no memory is allocated, and nothing is kept.
 */
#ifndef DDBLOCKD_CORE_APPLY_H
#define DDBLOCKD_CORE_APPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/operation.h"

enum apply_verdict {
	APPLY_CONFLICT = 1,	/* the condition is false */
	APPLY_SAME,	/* done: the record is what the operation makes of it */
	APPLY_NEW,	/* done, once the new record is written */
};

/* One attempt of an operation, and where it is made. */
struct apply {
	enum lock_life life;	/* of the records */
	uint64_t beat;		/* what a renewal writes: SESSION_BEAT, REFRESH
				 * and the like; with deadlines, ACQUIRE */
	uint64_t wall_s;
	uint64_t retention_s;	/* of the record of a free lock */
	uint64_t token_floor;	/* new records' tokens are above this */
	const char *host;	/* recorded with new sessions */
	/*
	 * An attempt before this may have been carried out unseen: a record
	 * without what was to be taken out, or with what was to be put in, is
	 * taken for its work. What only this operation can have written is
	 * recognised without that: a grant, a revision.
	 */
	bool repeated;
	/* Records that are renewed by themselves: */
	bool free_stays;	/* the record of a free lock is not deleted */
	bool contents_stay;	/* an acquire leaves contents as they are */
	bool tokens_unbounded;	/* one that has no room is TOKEN_MAX, and told
				 * in a text (lock_record) */
};

/*
 * The result of @operation on that record.
 *
 * DDBLOCK_E_UNSUPPORTED
 *     There is no such operation on one record of that life.
 * DDBLOCK_E_LIMIT
 *     The waiter marks would be too many.
 * DDBLOCK_E_BAD_RECORD
 *     The token would rise above TOKEN_MAX.
 */
int apply_judge_lock(const struct apply *, const struct operation *,
    const struct lock_record *);
int apply_judge_session(const struct apply *, const struct operation *,
    const struct session_record *);

/*
 * The same, with what the record is then: another after APPLY_NEW, @old
 * otherwise. It may point into @old, @operation and @memory, which has
 * apply_room() bytes and is aligned like what malloc() gives. A new record that
 * is renewed by itself has no version and no text of a token: these are its
 * format's.
 *
 * DDBLOCK_E_BAD_REQUEST
 *     The operation contradicts itself.
 * And as above.
 */
int apply_lock(const struct apply *, const struct operation *operation,
    const struct lock_record *old, void *memory, struct lock_record *ret);
int apply_session(const struct apply *, const struct operation *,
    const struct session_record *old, struct session_record *ret);

size_t apply_room(const struct operation *, const struct lock_record *old);

/* The number of a session's beat that is sent at @sent_ms. */
uint64_t apply_beat(const struct operation *, uint64_t sent_ms);

#endif

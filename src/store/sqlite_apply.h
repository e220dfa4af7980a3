/*
 * The conditions and the effects of the operations, on records in memory. No
 * SQL here: what is read before and written after is for sqlite_records.c.
 */
#ifndef DDBLOCKD_STORE_SQLITE_APPLY_H
#define DDBLOCKD_STORE_SQLITE_APPLY_H

#include <stdint.h>

#include "core/operation.h"
#include "store/arena.h"

enum sqlite_applied {
	SQLITE_CONFLICT = 1,	/* the condition is false */
	SQLITE_SAME,		/* done, and there is nothing to write */
	SQLITE_WRITE,		/* done, once the new record is written */
};

struct sqlite_apply {
	uint64_t sent_ms;	/* boot time */
	uint64_t wall_s;
	uint64_t retention_s;
	uint64_t token_floor;	/* of records that were cleaned up */
	const char *host;	/* recorded with new sessions */
	struct arena *arena;	/* for what a new record points to */
};

/*
 * Apply @operation to @old. @ret_new is written for SQLITE_SAME and
 * SQLITE_WRITE; it may point into @old and @operation.
 *
 * DDBLOCK_E_NOMEM
 * DDBLOCK_E_BAD_REQUEST
 *     The operation contradicts itself.
 * DDBLOCK_E_LIMIT
 *     The wishes would be too many.
 * DDBLOCK_E_BAD_RECORD
 *     The token would rise above TOKEN_MAX.
 */
int sqlite_apply_lock(const struct sqlite_apply *, const struct operation *,
    const struct lock_record *old, struct lock_record *ret_new);
int sqlite_apply_session(const struct sqlite_apply *,
    const struct operation *, const struct session_record *old,
    struct session_record *ret_new);

#endif

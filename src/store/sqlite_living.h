/*
 * The sessions that this process keeps alive: their beats, in memory.
 *
 * A beat need not reach the disk, because nobody reads it there. Only one
 * process serves the file (sqlite_lock.c), and one that takes over begins to
 * count when it first sees a session, whatever its beat says: it waits for the
 * whole lease and the drift. So a beat is counted here, at once, also while
 * the disk hangs or is full, and nothing is written while nothing happens.
 *
 * The end of a session is written as ever. From the moment at which the worker
 * has judged that it may end, its beats go through the file, behind that end,
 * until one of them is written: a beat in memory never contradicts the file.
 *
 * Shared by the loop and the worker, under a lock that is held across nothing
 * that can block.
 */
#ifndef DDBLOCKD_STORE_SQLITE_LIVING_H
#define DDBLOCKD_STORE_SQLITE_LIVING_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/apply.h"
#include "store/sqlite_job.h"

/* One that is in use, and a few that end. The beats of any more are written. */
#define SQLITE_LIVING_MAX 16

struct sqlite_life {
	struct ident id;
	uint64_t beat;
	uint64_t lease_ms;
	bool ask;		/* its end is in the file, or may be */
};

struct sqlite_living {
	pthread_mutex_t lock;
	struct sqlite_life lives[SQLITE_LIVING_MAX];
	size_t n;
};

void sqlite_living_init(struct sqlite_living *);
void sqlite_living_done(struct sqlite_living *);

/* The loop: can a beat of this session be answered here? */
bool sqlite_living_knows(struct sqlite_living *, struct ident id);

/*
 * The loop: @operation, a beat sent at @sent_ms. False: ask the file. True:
 * @ret_kind is DONE or CONFLICT, @ret the record.
 */
bool sqlite_living_beat(struct sqlite_living *,
    const struct operation *operation, uint64_t sent_ms,
    enum outcome_kind *ret_kind, struct session_record *ret);

/* The worker: apply_session() on @old as the file has it, which is corrected by
 * what is known here. */
int sqlite_living_apply(struct sqlite_living *, const struct apply *,
    const struct operation *, struct session_record *old,
    struct session_record *ret_new);

/* The worker: these jobs are carried out, and their outcomes final. */
void sqlite_living_settle(struct sqlite_living *,
    struct sqlite_job *const *jobs, size_t n);

#endif

/*
 * The sessions that this process keeps alive: their beats, in memory.
 *
 * A beat need not reach the disk, because it has no reader there. Only one
 * process serves the file (sqlite_lock.c), and one that takes over begins to
 * count when it first sees a session, whatever its beat says: it waits for the
 * whole lease and the drift. So a beat is counted here, at once, also while the
 * disk hangs or is full, and nothing is written while nothing happens.
 *
 * The end of a session is written as in other stores. From the moment at which
 * the worker has judged that it may end, its beats go through the file, behind
 * that end, until one of them is written: a beat in memory never contradicts
 * the file.
 *
 * Shared by the loop and the worker, under a lock that is held across nothing
 * that can block.
 */
#ifndef DDBLOCKD_STORE_SQLITE_SESSIONS_H
#define DDBLOCKD_STORE_SQLITE_SESSIONS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/apply.h"
#include "store/sqlite_job.h"

/* One that is in use, and a few that end. The beats of any more are written. */
#define SQLITE_SESSIONS_MAX 16

struct sqlite_life {
	struct ident id;
	uint64_t beat;
	uint64_t lease_ms;
	bool ask;		/* its end is in the file, or may be */
};

struct sqlite_sessions {
	pthread_mutex_t lock;
	struct sqlite_life lives[SQLITE_SESSIONS_MAX];
	size_t n;
};

void sqlite_sessions_init(struct sqlite_sessions *);
void sqlite_sessions_done(struct sqlite_sessions *);

/* The loop: can a beat of this session be answered here? */
bool sqlite_sessions_knows(struct sqlite_sessions *, struct ident id);

/*
 * The loop: @operation, a beat sent at @sent_ms. False: ask the file. True:
 * @ret_kind is DONE or CONFLICT, @ret the record.
 */
bool sqlite_sessions_beat(struct sqlite_sessions *,
    const struct operation *operation, uint64_t sent_ms,
    enum outcome_kind *ret_kind, struct session_record *ret);

/* The worker: apply_session() on @old as the file has it, which is corrected by
 * what is known here. */
int sqlite_sessions_apply(struct sqlite_sessions *, const struct apply *,
    const struct operation *, struct session_record *old,
    struct session_record *ret_new);

/* The worker: these jobs are carried out, and their outcomes final. */
void sqlite_sessions_settle(struct sqlite_sessions *,
    struct sqlite_job *const *jobs, size_t n);

#endif

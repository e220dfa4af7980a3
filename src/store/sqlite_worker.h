/*
 * The thread that may wait for the disk, so that the event loop never does.
 */
#ifndef DDBLOCKD_STORE_SQLITE_WORKER_H
#define DDBLOCKD_STORE_SQLITE_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/sqlite_job.h"
#include "store/store_sqlite.h"

struct sqlite_sessions;
struct sqlite_worker;

/* The file is opened before the thread starts. Errors: store_sqlite_new(). */
int sqlite_worker_new(const struct store_sqlite_config *,
    struct sqlite_worker **ret, char *text, size_t text_size);

/*
 * Let it finish the queue and end; its jobs are freed. If that takes longer
 * than @wait_ms, it is left alone and frees itself when the disk comes back.
 * Accepts NULL.
 */
void sqlite_worker_free(struct sqlite_worker *, uint64_t wait_ms);

/* The sessions whose beats the loop answers. */
struct sqlite_sessions *sqlite_worker_sessions(struct sqlite_worker *);

/* Readable when there is something to collect. Not the caller's to close. */
int sqlite_worker_fd(const struct sqlite_worker *);

/* Takes the job. */
void sqlite_worker_submit(struct sqlite_worker *, struct sqlite_job *);

/*
 * Take it back if the worker has not looked at it yet: it is the caller's and
 * will not be carried out if this returns SQLITE_JOB_QUEUED, and else the
 * worker's.
 */
enum sqlite_job_state sqlite_worker_withdraw(struct sqlite_worker *,
    struct sqlite_job *);

/* All finished jobs, linked by @next; they are the caller's. */
struct sqlite_job *sqlite_worker_collect(struct sqlite_worker *);

#endif

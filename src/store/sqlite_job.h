/*
 * One operation on its way through the embedded store: from the loop to the
 * worker and back. It carries a copy of all that the worker needs, because
 * the operation is its owner's again as soon as the deadline has passed,
 * however long the disk hangs.
 */
#ifndef DDBLOCKD_STORE_SQLITE_JOB_H
#define DDBLOCKD_STORE_SQLITE_JOB_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/fair_queue.h"
#include "common/freelist.h"
#include "store/arena.h"
#include "store/store.h"

#define SQLITE_JOB_PAGE 4096
#define SQLITE_JOB_ROOM 768	/* enough for one lock with an ordinary key */

enum sqlite_job_state {
	SQLITE_JOB_QUEUED = 1,	/* the worker has not looked at it */
	SQLITE_JOB_TAKEN,	/* whatever happens, the disk may see it */
	SQLITE_JOB_DONE,
};

struct sqlite_facts;

struct sqlite_job {
	struct fair_item turn;	/* first: this is one, in a queue of users */
	struct sqlite_job *next;	/* in a queue, under the queue's lock */
	struct sqlite_job *previous;
	enum sqlite_job_state state;	/* under the queue's lock */

	/* The loop's: in order of deadlines. */
	struct sqlite_job *due_next;
	struct sqlite_job *due_previous;
	struct operation *operation;	/* NULL: not one, or not ours now */
	bool answered;			/* it is not waited for any more */
	store_table_fn table_done;	/* not an operation: a check, */
	void *table_arg;
	struct sqlite_facts *facts;	/* or one that looks for these, too; in
					 * the arena, and the worker's */

	/* The worker's, from taken to done. */
	struct operation ask;
	uint64_t sent_ms;
	uint64_t wall_s;
	struct outcome outcome;
	struct arena arena;
	alignas(max_align_t) char room[SQLITE_JOB_ROOM];
};

/* First in, first out; jobs may leave from the middle. */
struct sqlite_queue {
	struct sqlite_job *first;
	struct sqlite_job *last;
	size_t length;
};

/* The same, but users are served in turn, by the weight of their jobs. */
#define SQLITE_JOB_TURN 8
void sqlite_turns_add(struct fair_queue *, struct sqlite_job *);
struct sqlite_job *sqlite_turns_take(struct fair_queue *);

/* A job with a copy of @operation, or without one. NULL: no memory. */
struct sqlite_job *sqlite_job_new(struct freelist *,
    struct operation *operation);

/* Accepts NULL. Without a free list it is freed for good. */
void sqlite_job_free(struct freelist *, struct sqlite_job *);

void sqlite_queue_add(struct sqlite_queue *, struct sqlite_job *);
void sqlite_queue_remove(struct sqlite_queue *, struct sqlite_job *);
struct sqlite_job *sqlite_queue_take(struct sqlite_queue *);

/* Is it a check, and no operation? */
bool sqlite_job_checks(const struct sqlite_job *);

/* Does this kind only read? */
bool sqlite_job_reads(const struct sqlite_job *);

/* Is it about a session? Those go before locks: every lease hangs on them. */
bool sqlite_job_urgent(const struct sqlite_job *);

/* How many rows it touches, about; of what is large, so many pages. */
size_t sqlite_job_weight(const struct sqlite_job *);

/* Forget the result: it will be looked for again. */
void sqlite_job_restart(struct sqlite_job *);

/* Its outcome is a failure: @code and why. */
void sqlite_job_fail(struct sqlite_job *, enum outcome_kind, int code,
    const char *text);

#endif

/*
 * A job that may block: on a detached thread that is never waited for. Its data
 * belong to both sides, and are freed by the last of them.
 */
#ifndef DDBLOCKD_AWS_BLOCKING_JOB_H
#define DDBLOCKD_AWS_BLOCKING_JOB_H

struct blocking_job;
struct event_base;

struct blocking_job_work {
	void (*work)(void *data);	/* on the thread */
	void (*free)(void *data);	/* on either */
};

/* The work is done: @data are the loop's, until the return. */
typedef void (*blocking_job_done_fn)(void *arg, void *data);

/*
 * Takes @data, in a failure too.
 *
 * DDBLOCK_E_NOMEM, DDBLOCK_E_SYSTEM
 */
int blocking_job_start(struct event_base *, const struct blocking_job_work *,
    void *data, blocking_job_done_fn done, void *arg,
    struct blocking_job **ret);

/* The work is left to end by itself; @done does not come. Not after it, nor
 * from within. Accepts NULL. */
void blocking_job_abandon(struct blocking_job *);

#endif

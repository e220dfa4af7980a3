/*
 * Work that may block, done aside: on a detached thread that is never waited
 * for. What it works on belongs to both sides, and goes with the last of them.
 */
#ifndef DDBLOCKD_AWS_ASIDE_H
#define DDBLOCKD_AWS_ASIDE_H

struct aside;
struct event_base;

struct aside_work {
	void (*work)(void *data);	/* on the thread */
	void (*free)(void *data);	/* on either */
};

/* The work is done: @data are the loop's, until the return. */
typedef void (*aside_done_fn)(void *arg, void *data);

/*
 * Takes @data, in a failure too.
 *
 * DDBLOCK_E_NOMEM, DDBLOCK_E_SYSTEM
 */
int aside_start(struct event_base *, const struct aside_work *, void *data,
    aside_done_fn done, void *arg, struct aside **ret);

/* The work is left to end by itself; @done does not come. Not after it, nor
 * from within. Accepts NULL. */
void aside_leave(struct aside *);

#endif

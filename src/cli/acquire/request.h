/*
 * The locks that a command asks for, by the options and operands that `run`,
 * `acquire` and `elect` share.
 */
#ifndef DDBLOCKD_CLI_ACQUIRE_REQUEST_H
#define DDBLOCKD_CLI_ACQUIRE_REQUEST_H

#include "cli/acquire/contents.h"
#include "cli/acquire/progress.h"
#include "cli/base/options.h"

#define REQUEST_NAME_MAX 128
#define REQUEST_TOKEN_MAX 64	/* of its text */

struct lock_request {
	const char *keys[DDBLOCK_KEYS_MAX];	/* all of them or none */
	size_t n_keys;
	const char *name;	/* of the lock, or of all, for people */
	char multi_name[REQUEST_NAME_MAX];
	const char *client_name;	/* --name; or NULL */
	struct ddblock_acquire_options options;
	uint64_t from_ms;	/* boot time: it waits since then, also for a
				 * daemon, */
	uint64_t asked_ms;	/* so long at most; DDBLOCK_NEVER_MS */
	bool for_process;	/* the hold ends with it, not with us */
	struct contents contents;
	int busy_status;	/* exit status when another holds it */
	int not_due_status;	/* and when it has run in this period */
	bool has_counts;	/* --counts */
	bool no_wait, has_wait;	/* -n, -w */
	bool exclusive;		/* -x */
	bool quiet;		/* no progress */
	bool reentrant;		/* do not wait for a lock held already */
	bool inside;		/* all are: there is no new hold, and */
	char tokens[DDBLOCK_KEYS_MAX][REQUEST_TOKEN_MAX]; /* their tokens */
	struct progress progress;
	/* When this descriptor is readable, or has ended, @on_interrupt is
	 * called: 0 to go on, or the exit status for giving up. */
	int interrupt_fd;
	int (*on_interrupt)(void *arg);
	void *arg;
};

/* Note such an option. False: it is another, or its value makes no sense. */
bool request_option(struct lock_request *, enum cli_option);

/*
 * After the options: if no option named a lock, the first operand does, and
 * optind is at the next operand. 0, or the exit status; it complains.
 */
int request_operand(struct cli *, struct lock_request *, int argc, char **argv);

/*
 * What the holder is called: as --name says, or DDBLOCK_NAME, or else @own,
 * which may be NULL.
 */
const char *request_client_name(const struct lock_request *, const char *own);

#endif

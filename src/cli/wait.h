/*
 * Waiting for a lock, as `run` and `acquire` do it: until it is granted or
 * refused, with progress for people, and interruptible.
 */
#ifndef DDBLOCKD_CLI_WAIT_H
#define DDBLOCKD_CLI_WAIT_H

#include "cli/cli.h"

struct wait_request {
	const char *key;
	int64_t wait_ms;	/* 0: do not; negative: for ever */
	int busy_status;	/* exit status when somebody else has it */
	bool quiet;		/* no progress */
	/* When this can be read, or has ended, @on_interrupt is asked: 0 to
	 * go on, or the exit status to give up with. */
	int interrupt_fd;
	int (*on_interrupt)(void *arg);
	void *arg;
};

/* The hold, or 0 and the exit status (which may be 0, by -E). Complains. */
int wait_for_lock(struct cli *, struct ddblock *, const struct wait_request *,
    uint64_t *ret_id);

#endif

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
	enum ddblock_mode mode;
	uint32_t limit;		/* of those who share it; 0: none */
	int busy_status;	/* exit status when somebody else has it */
	bool quiet;		/* no progress */
	/* When this can be read, or has ended, @on_interrupt is asked: 0 to
	 * go on, or the exit status to give up with. */
	int interrupt_fd;
	int (*on_interrupt)(void *arg);
	void *arg;
};

/* What both commands call their options, for cli_getopt(). */
#define WAIT_SHORT_OPTIONS "nsc:w:E:"
#define WAIT_OPTIONS \
	{ "nonblock", no_argument, NULL, 'n' }, \
	{ "shared", no_argument, NULL, 's' }, \
	{ "limit", required_argument, NULL, 'c' }, \
	{ "wait", required_argument, NULL, 'w' }, \
	{ "timeout", required_argument, NULL, 'w' }, \
	{ "conflict-exit-code", required_argument, NULL, 'E' }

/* Take note of one of them. False: it is none, or its value makes no sense. */
bool wait_option(struct wait_request *, int option);

/* The hold, or 0 and the exit status (which may be 0, by -E). Complains. */
int wait_for_lock(struct cli *, struct ddblock *, const struct wait_request *,
    uint64_t *ret_id);

#endif

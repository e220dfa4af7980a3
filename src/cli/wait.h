/*
 * Waiting for a lock, as `run` and `acquire` do it: until it is granted or
 * refused, with progress for people, and interruptible.
 */
#ifndef DDBLOCKD_CLI_WAIT_H
#define DDBLOCKD_CLI_WAIT_H

#include "cli/cli.h"
#include "cli/keep.h"
#include "cli/progress.h"

#define WAIT_NAME_MAX 128
#define WAIT_TOKEN_MAX 64	/* of its text */

struct wait_request {
	const char *keys[DDBLOCK_KEYS_MAX];	/* several: all or none */
	size_t n_keys;
	const char *name;	/* of the lock, or of all, for people */
	char several[WAIT_NAME_MAX];
	int64_t wait_ms;	/* 0: do not; negative: as the daemon has it;
				 * DDBLOCK_WAIT_FOREVER */
	enum ddblock_mode mode;
	uint32_t limit;		/* of those who share it; 0: none */
	enum ddblock_policy policy;
	const char *owner;	/* what people see; NULL: as the daemon says */
	int64_t max_hold_ms;	/* 0: no bound */
	int64_t danger_ms;	/* 0: as the daemon has it; negative: never */
	bool for_process;	/* it ends with this one, and not with us: */
	int process_fd;
	int loss_signal;	/* to that; negative: none */
	struct keep keep;
	int busy_status;	/* exit status when somebody else has it */
	bool quiet;		/* no progress */
	bool reentrant;		/* what is had already is not waited for */
	bool inside;		/* all of it is: there is no new hold, and */
	char tokens[DDBLOCK_KEYS_MAX][WAIT_TOKEN_MAX];	/* these are its */
	struct progress progress;
	/* When this can be read, or has ended, @on_interrupt is asked: 0 to
	 * go on, or the exit status to give up with. */
	int interrupt_fd;
	int (*on_interrupt)(void *arg);
	void *arg;
};

/* What both commands call their options, for cli_getopt(). */
#define WAIT_OPTION_MAX_HOLD 1101
#define WAIT_OPTION_DANGER 1102
#define WAIT_OPTION_FAIL_CLOSED 1103
#define WAIT_OPTION_OWNER 1104
#define WAIT_SHORT_OPTIONS "k:nsc:w:E:"
#define WAIT_OPTIONS \
	{ "key", required_argument, NULL, 'k' }, \
	{ "nonblock", no_argument, NULL, 'n' }, \
	{ "shared", no_argument, NULL, 's' }, \
	{ "limit", required_argument, NULL, 'c' }, \
	{ "fail-closed", no_argument, NULL, WAIT_OPTION_FAIL_CLOSED }, \
	{ "wait", required_argument, NULL, 'w' }, \
	{ "timeout", required_argument, NULL, 'w' }, \
	{ "conflict-exit-code", required_argument, NULL, 'E' }, \
	{ "max-hold", required_argument, NULL, WAIT_OPTION_MAX_HOLD }, \
	{ "danger", required_argument, NULL, WAIT_OPTION_DANGER }, \
	{ "owner", required_argument, NULL, WAIT_OPTION_OWNER }, \
	KEEP_OPTIONS

/* Take note of one of them. False: it is none, or its value makes no sense. */
bool wait_option(struct wait_request *, int option);

/*
 * After the options: a lock that none of them named is the first operand, and
 * optind is at what follows. 0, or the exit status; it complains.
 */
int wait_operand(struct cli *, struct wait_request *, int argc, char **argv);

/*
 * The hold, or 0 and the exit status (which may be 0, by -E, or because all is
 * had already: ->inside). It complains. The request must live as long as the
 * connection.
 */
int wait_for_lock(struct cli *, struct ddblock *, struct wait_request *,
    uint64_t *ret_id);

#endif

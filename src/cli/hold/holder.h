/*
 * The helper that holds a lock for a process: it owns the connection, and ends
 * with that process or on SIGTERM.
 */
#ifndef DDBLOCKD_CLI_HOLD_HOLDER_H
#define DDBLOCKD_CLI_HOLD_HOLDER_H

#include <sys/types.h>

#include "cli/acquire/request.h"
#include "cli/base/cli.h"

/* Its name in listings, before the number of the process. */
#define HOLDER_NAME "for-pid:"
#define HOLDER_NAME_SIZE 32
void holder_name(pid_t, char ret[HOLDER_NAME_SIZE]);

/* The number of a process on the command line. */
bool holder_parse_pid(const char *text, pid_t *ret);

struct holder {
	struct cli *cli;
	struct lock_request request;
	pid_t pid;		/* that the lock is for */
	int pid_fd;
	int lost_signal;	/* to that process; 0: none */
};

/* The helper's report when it has the lock; then come outer_holds(). */
struct holder_report {
	uint64_t id;
	uint64_t tokens[DDBLOCK_KEYS_MAX];	/* as the locks were named */
};

/*
 * Run as the helper, until the end; report through @report_fd, and give up if
 * no reader is left. Returns the exit status.
 */
int holder_run(struct holder *, int report_fd);

#endif

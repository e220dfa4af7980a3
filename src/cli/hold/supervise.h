/*
 * A command that runs under a lock, watched until no process of it is left.
 */
#ifndef DDBLOCKD_CLI_HOLD_SUPERVISE_H
#define DDBLOCKD_CLI_HOLD_SUPERVISE_H

#include "cli/base/cli.h"
#include "cli/base/signals.h"
#include "cli/hold/child.h"
#include "cli/hold/front.h"

struct supervise {
	const char *name;	/* of the lock */
	struct ddblock *connection;
	uint64_t id;		/* of the hold */
	struct signals *signals;
	struct front *front;	/* the other process */
	int danger_signal;	/* to the group, in danger; 0: none */

	struct child child;
	int timer;		/* the group is killed when it runs out */
	uint64_t kill_ms;	/* boot time; DDBLOCK_NEVER_MS: not yet */
	bool killing;		/* until no process is left */
	bool ended;		/* the command itself */
	uint64_t ended_ms;	/* boot time */
	bool lost;		/* the lock, while a process of it ran */
	bool front_died;	/* the process in front, by a signal */
	bool told_to_end;	/* by a signal, which was passed on */
};

/*
 * Run @argv until it and the processes that it leaves in our session (after a
 * loss: in any session) have ended. Returns the exit status. It complains of
 * failures.
 */
int supervise_run(struct supervise *, char **argv);

#endif

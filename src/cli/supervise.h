/*
 * A command that runs under a lock, watched until nothing of it is left.
 */
#ifndef DDBLOCKD_CLI_SUPERVISE_H
#define DDBLOCKD_CLI_SUPERVISE_H

#include "cli/child.h"
#include "cli/cli.h"
#include "cli/front.h"
#include "cli/signals.h"

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
	bool killing;		/* until nothing is left */
	bool ended;		/* the command itself */
	uint64_t ended_ms;	/* boot time */
	bool lost;		/* the lock, while something of it ran */
	bool left_alone;	/* by the process in front, which was killed */
	bool told_to_end;	/* by a signal, which was passed on */
};

/*
 * Run @argv to its end and that of what it leaves behind in our session, or,
 * when the lock is lost, anywhere. The exit status. It complains of what goes
 * wrong.
 */
int supervise_run(struct supervise *, char **argv);

#endif

/*
 * Two processes for one command: the one that was started, which people see,
 * stop and kill, is in front; another one behind it has the lock and watches
 * the command. Each does the other's part as far as safety asks for it.
 */
#ifndef DDBLOCKD_CLI_FRONT_H
#define DDBLOCKD_CLI_FRONT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/family.h"
#include "cli/signals.h"

/* What both see. */
struct front_share {
	_Atomic uint64_t end_ms;	/* boot time: what still runs then is
					 * ended by the one in front */
	_Atomic bool lost;		/* the lock, before the command ended */
	_Atomic bool told_to_end;	/* by a signal, which was passed on */
};

struct front {
	struct front_share *share;
	struct signals *signals;
	pid_t pid;		/* of the process in front, */
	pid_t group;		/* its group, */
	pid_t behind;		/* and the other; */
	struct family_root self, other;	/* who descends from each */
	int fd;			/* to each other: lines to say, and the end */
	int timer;
	bool past;		/* it has looked, at that time */
	struct family before;	/* children from an earlier life */
};

/*
 * As fork(2): 0 is behind, where the same signals can be read, in a group of
 * its own; what it says goes out in front. -1 and errno.
 */
pid_t front_fork(struct front *, struct signals *);

/* Behind: nothing of the command may run after that. */
void front_set_end(struct front *, uint64_t end_ms);

/* In front: pass signals on until the other has ended, and see to it that
 * nothing is left of the command. The exit status. It complains. */
int front_wait(struct front *);

/* Either: let go. What is in ->share is to be read before. */
void front_done(struct front *);

#endif

/*
 * Two processes for one command. The process in front is the one that was
 * started, which users see, stop and kill. The process behind has the lock and
 * watches the command. Each replaces the other as far as safety requires.
 */
#ifndef DDBLOCKD_CLI_HOLD_FRONT_H
#define DDBLOCKD_CLI_HOLD_FRONT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/base/signals.h"
#include "cli/hold/descendants.h"

/* What both processes see. */
struct front_share {
	_Atomic uint64_t end_ms;	/* boot time: the process in front ends
					 * what still runs then */
	_Atomic bool lost;		/* the lock, before the command ended */
	_Atomic bool told_to_end;	/* by a signal, which was passed on */
};

struct front {
	struct front_share *share;
	struct signals *signals;
	pid_t pid;		/* of the process in front, */
	pid_t group;		/* its group, */
	pid_t behind;		/* and the other; */
	struct ancestor self, other;	/* of each, its descendants */
	int fd;			/* to each other: lines to say, and the end */
	int timer;
	int socket;		/* kept open in front; -1: none */
	bool past;		/* the front has looked, at that time */
	struct descendants before;	/* children from an earlier life */
};

/*
 * As fork(2): 0 in the process behind, which can read the same signals and has
 * a group of its own; the front prints its messages. -1 and errno.
 */
pid_t front_fork(struct front *, struct signals *);

/* Behind: no process of the command may run after that. */
void front_set_end(struct front *, uint64_t end_ms);

/* Behind: have the process in front keep this socket open, too, instead of the
 * last one. */
void front_give_socket(const struct front *, int socket);

/* In front: pass signals on until the other process has ended, and make sure
 * that no process of the command is left. The exit status. It complains. */
int front_wait(struct front *);

/* Either: close it. Read ->share before. */
void front_done(struct front *);

#endif

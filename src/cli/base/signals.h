/*
 * Signals as something to read, so that they come one at a time and where
 * they are expected.
 */
#ifndef DDBLOCKD_CLI_BASE_SIGNALS_H
#define DDBLOCKD_CLI_BASE_SIGNALS_H

#include <signal.h>

struct signals {
	int fd;
	sigset_t before;	/* what was blocked before */
};

/*
 * From now on the signals that a program may be sent (and SIGCHLD) are read
 * from ->fd. Ignored signals (nohup) remain ignored. 0, or -1 with errno.
 */
int signals_init(struct signals *);

/* The next signal that came, or 0. */
int signals_next(struct signals *);

#endif

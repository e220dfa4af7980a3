/*
 * The command that runs under a lock: its start, its process group, its end.
 */
#ifndef DDBLOCKD_CLI_CHILD_H
#define DDBLOCKD_CLI_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct child {
	pid_t pid;		/* and the group's number; 0: not started */
	bool running;		/* the command itself */
	bool stopped;		/* since it was last asked */
	int status;		/* as of waitpid(2), once it has ended */
	int terminal;		/* whose foreground group it is, or -1 */
};

/*
 * Start it in a group of its own, in the terminal's foreground if we are
 * there. @mask: the signals that it finds blocked. @keep: a descriptor that
 * it and all it starts inherit. 0, or the errno of what failed.
 */
int child_start(struct child *, char **argv, const sigset_t *mask, int keep);

/* A signal to the whole group. */
void child_signal(const struct child *, int number);

/* Take note of what has ended or stopped. */
void child_reap(struct child *);

/* Is anything of the group left? Reap first. */
bool child_left(const struct child *);

/*
 * The command has stopped: stop this process too, if somebody at a terminal
 * can continue it; and go on as this process goes on. In between the caller
 * looks whether the lock is still there.
 */
void child_stop_with(struct child *);
void child_continue(const struct child *);

/* The terminal is ours again. */
void child_take_terminal(struct child *);

/* The command's exit status, 128 + n after signal n. */
int child_exit_status(const struct child *);

#endif

/*
 * The command that runs under a lock: its start, its process group, its end.
 */
#ifndef DDBLOCKD_CLI_HOLD_CHILD_H
#define DDBLOCKD_CLI_HOLD_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cli/hold/descendants.h"

struct child {
	pid_t pid;		/* and the group's number; 0: not started */
	bool running;		/* the command itself */
	bool stopped;		/* since it was last asked */
	int status;		/* as of waitpid(2), once it has ended */
	int terminal;		/* whose foreground group it is, or -1 */
	pid_t front_pid;	/* the process that stops when it does; */
	pid_t front_group;	/* and its group, in the foreground else */
	struct ancestor self;	/* that it descends from */
	bool all_ended;		/* we have no descendants left */
};

/*
 * Start it in a group of its own, in the terminal's foreground if ->front_group
 * is there. @mask: the signals that it finds blocked. @keep: a descriptor that
 * it and all it starts inherit. 0, or the errno of what failed.
 */
int child_start(struct child *, char **argv, const sigset_t *mask, int keep);

/* It could not be started, for this errno; returns the exit status. */
int child_complain(const char *name, int error);

/* A signal to the whole group. */
void child_signal(const struct child *, int number);

/* A signal to its other descendants: in any session, or in ours only. Returns
 * how many there are. */
size_t child_signal_others(const struct child *, int number,
    bool all_sessions);

/* Note which processes have ended or stopped. */
void child_reap(struct child *);

/* Is any process of it left, in any session or in ours? Reap first. */
bool child_left(const struct child *, bool all_sessions);

/*
 * The command has stopped: stop the process in front too, if a user at a
 * terminal can continue it; and go on when it goes on.
 */
void child_stop_front(struct child *);
void child_continue(const struct child *);

/* The terminal is ours again. */
void child_take_terminal(struct child *);

/* The command's exit status, 128 + n after signal n. */
int child_exit_status(const struct child *);

#endif

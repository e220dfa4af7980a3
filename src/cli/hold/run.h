/*
 * One run of a command under a lock: `run` does it once, `elect` in each term.
 */
#ifndef DDBLOCKD_CLI_HOLD_RUN_H
#define DDBLOCKD_CLI_HOLD_RUN_H

#include "cli/acquire/request.h"
#include "cli/base/cli.h"
#include "cli/base/signals.h"

#define RUN_NAME_SIZE 64

struct run {
	struct cli *cli;
	struct lock_request request;
	int danger_signal;
	char **argv;		/* of the command */
	char *shell_text;	/* instead: for the shell; NULL */
	char *shell_argv[4];
	bool no_fork;		/* -F, which is refused */
	struct signals signals;
	struct ddblock *connection;
	char name[RUN_NAME_SIZE];	/* of the command */
	uint64_t id;		/* 0: the lock was not acquired */
	bool lost;		/* the lock, before the command ended */
	bool told_to_end;	/* by a signal */
};

/* An option of every run. False: its value makes no sense. */
bool run_option(struct run *, enum cli_option);

/* After the options: the key, unless they named some, and the command. 0, or
 * the exit status. It complains. */
int run_operands(struct run *, int argc, char **argv);

/* 0, or the exit status. It complains. */
int run_init(struct run *);

/* A signal while nothing runs: 0 to go on, or the exit status. */
int run_on_interrupt(void *run);

/* The exit status of the command, or of the reason why it did not run. */
int run_once(struct run *);

#endif

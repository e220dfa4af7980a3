/*
 * The commands of ddblock(1): each is a file of this folder and a row of the
 * table in main.c. It returns the exit status.
 */
#ifndef DDBLOCKD_CLI_COMMAND_COMMAND_H
#define DDBLOCKD_CLI_COMMAND_COMMAND_H

#include "cli/base/options.h"

/* ddblock check --access: @user is USER or USER:KEY, @unit that of its process
 * or NULL. */
int check_access(struct cli *, const char *user, const char *unit);

int command_acquire(struct cli *, int argc, char **argv);
int command_break(struct cli *, int argc, char **argv);
int command_check(struct cli *, int argc, char **argv);
int command_check_table(struct cli *, int argc, char **argv);
int command_drain(struct cli *, int argc, char **argv);
int command_elect(struct cli *, int argc, char **argv);
int command_get(struct cli *, int argc, char **argv);
int command_history(struct cli *, int argc, char **argv);
int command_held(struct cli *, int argc, char **argv);
int command_init_table(struct cli *, int argc, char **argv);
int command_list(struct cli *, int argc, char **argv);
int command_metrics(struct cli *, int argc, char **argv);
int command_raise_tokens(struct cli *, int argc, char **argv);
int command_release(struct cli *, int argc, char **argv);
int command_run(struct cli *, int argc, char **argv);
int command_shell(struct cli *, int argc, char **argv);
int command_status(struct cli *, int argc, char **argv);
int command_top(struct cli *, int argc, char **argv);
int command_undrain(struct cli *, int argc, char **argv);
int command_waiting(struct cli *, int argc, char **argv);
int command_watch(struct cli *, int argc, char **argv);
int command_why(struct cli *, int argc, char **argv);

#endif

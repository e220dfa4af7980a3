/*
 * The options of the commands, by the table in options.def.
 */
#ifndef DDBLOCKD_CLI_BASE_OPTIONS_H
#define DDBLOCKD_CLI_BASE_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/base/cli.h"

enum cli_option {
	CLI_OPTION_END = -1,	/* the operands are next */
	CLI_OPTION_BAD,		/* the complaint has been made */
#define OPTION(id, ...) CLI_OPTION_##id,
#define ALIAS(...)
#include "cli/base/options.def"
};

/* A row of the table. */
struct cli_option_row {
	enum cli_option id;
	const char *name;	/* NULL: another letter for the row before */
	char letter;		/* 0: none */
	int has_argument;	/* as in getopt_long(3) */
	const char *argument;	/* what it is called; NULL */
	const char *commands;
	const char *help;	/* NULL: hidden */
	const char *wanted;	/* of its value; NULL */
	bool alias;		/* of the row before; it has all else of it */
};

/* From row @i on, the next that this command has, or that may stand before any
 * command (NULL); @i is its index. NULL at the end. */
const struct cli_option_row *cli_option_next(const struct cli_command *,
    size_t *i);

/* Is it an option of every command? */
bool cli_option_is_common(const struct cli_option_row *);

/*
 * The next option of this command, with its value in optarg. The common options
 * are handled inside; but before the command, HELP and COMPLETION are about all
 * commands, and are returned. Operands and options may be mixed, unless a
 * command follows the operands.
 */
enum cli_option cli_getopt(struct cli *, int argc, char **argv);

/*
 * Give all options of the command to @on_option, which returns false if optarg
 * is no value for it. 0, and optind is at the operands; or the exit status, and
 * it has complained.
 */
typedef bool cli_on_option(void *arg, enum cli_option);
int cli_options(struct cli *, int argc, char **argv, cli_on_option *,
    void *arg);

/* For a command with none but common options: the index of the first operand,
 * or -1 when there was a complaint. */
int cli_operands(struct cli *, int argc, char **argv, int min, int max);

/* The same when the options are read: are there @min to @max operands? */
bool cli_count_operands(const struct cli *, int argc, char **argv, int min,
    int max);

/* Words that the shells complete: a line for each option, for programs. */
void cli_show_options(const struct cli_command *);

/* How a command is called, a line for each option, and where its manual is. */
void cli_show_usage(const struct cli_command *);

/* The options, a line for each; without a command, those before it. */
void cli_show_options_help(const struct cli_command *);

/* Only how it is called. */
void cli_print_call(FILE *, const struct cli_command *);

#endif

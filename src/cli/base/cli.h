/*
 * What the commands of ddblock(1) share. This file knows none of them.
 */
#ifndef DDBLOCKD_CLI_BASE_CLI_H
#define DDBLOCKD_CLI_BASE_CLI_H

#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ddblock.h"

/* Exit statuses that stand for no error code. */
#define CLI_USAGE 64
#define CLI_FAILED 71		/* a system call failed */
#define CLI_OUTPUT 74		/* standard output could not be written */
#define CLI_LOST 4
#define CLI_CANNOT_EXECUTE 126
#define CLI_NOT_FOUND 127
#define CLI_SIGNAL 128		/* plus the signal's number */

struct cli {
	const struct cli_command *command;	/* NULL: it is not read yet */
	const char *socket;	/* NULL: the library's default */
	const char *ns;		/* NULL: the daemon's default */
	const char *sort;	/* of the lock, or of a listing; NULL */
	bool json;
	bool verbose;
	const char *wait_daemon;	/* for a daemon: a time, "yes"; NULL */
};

struct cli_command {
	const char *name;
	const char *arguments;
	const char *summary;
	int (*run)(struct cli *, int argc, char **argv);
};

/*
 * As getopt_long(3), which stops at the first operand. The common options are
 * handled inside. But before the command, 'h' and CLI_OPTION_COMPLETION are
 * about all commands, and are returned. '?' means that the complaint has been
 * made.
 */
int cli_getopt(struct cli *, int argc, char **argv, const char *letters,
    const struct option *options);

#define CLI_OPTION_SOCKET 1001
#define CLI_OPTION_NS 1002
#define CLI_OPTION_JSON 1003
#define CLI_OPTION_COMPLETION 1004	/* what contrib/completion asks for */
#define CLI_OPTION_SORT 1005
#define CLI_OPTION_WAIT_DAEMON 1006
#define CLI_COMMON_OPTIONS \
	{ "socket", required_argument, NULL, CLI_OPTION_SOCKET }, \
	{ "ns", required_argument, NULL, CLI_OPTION_NS }, \
	{ "sort", required_argument, NULL, CLI_OPTION_SORT }, \
	{ "json", no_argument, NULL, CLI_OPTION_JSON }, \
	{ "wait-daemon", optional_argument, NULL, CLI_OPTION_WAIT_DAEMON }, \
	{ "verbose", no_argument, NULL, 'v' }, \
	{ "help", no_argument, NULL, 'h' }, \
	{ "completion-data", no_argument, NULL, CLI_OPTION_COMPLETION }

/* Words that the shells complete: a line for each option, for programs. */
void cli_show_options(const char *letters, const struct option *options);

/* How a command is called, and where its manual is. */
void cli_show_usage(const struct cli_command *);

/* For a command with none but common options: the index of the first operand,
 * or -1 when there was a complaint, or more operands than @max. */
int cli_operands(struct cli *, int argc, char **argv, int min, int max);

/* "ddblock: WHAT" on standard error (say.h), as one line and fit for a terminal
 * (cli_clean()), from wherever its parts are. */
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_vsay(const char *format, va_list)
    __attribute__((format(printf, 1, 0)));

/* Complain about the call; returns CLI_USAGE. */
int cli_misused(const struct cli *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Complain that optarg is no value for @option; returns CLI_USAGE. */
int cli_bad_value(const struct cli *, int option, const struct option *);

/* Connect, or complain and return the exit status. @name: of this client, or
 * NULL. If no daemon listens it waits as the user wants, and says so. */
int cli_open(const struct cli *, const char *name, struct ddblock **ret);

/* The same for a holder: with options of its own, and a wait of no more than
 * ->wait_ms unless that is 0. CLI_INTERRUPTED: ->interrupt_fd is readable. */
#define CLI_INTERRUPTED (-1)
int cli_connect(const struct cli *, struct ddblock_connect_options,
    struct ddblock **ret);

/* Say that the connection broke, or that there is another. */
void cli_say_connection(const struct ddblock *,
    const struct ddblock_event *);

/* The socket that it is connected to, by an absolute path if possible. @space
 * has PATH_MAX bytes. */
const char *cli_socket_path(const struct ddblock *, char *space);

/* Complain that @what failed with @code, and say what may help; returns the
 * exit status. */
int cli_failed(const struct ddblock *, const char *what, int code);

/* A duration or a bare number of seconds from the command line. */
bool cli_parse_wait(const char *text, int64_t *ret_ms);

/* "TERM", "SIGTERM", "15". 0: there is no such signal. */
int cli_parse_signal(const char *text);

/*
 * Bytes from outside, made fit for a terminal: control characters and what is
 * not UTF-8 become \xNN. Returns the number of columns (one per character).
 */
struct buffer;
size_t cli_clean(struct buffer *, const char *bytes, size_t length);

/* Send what was printed; returns @status, or CLI_OUTPUT if that failed. */
int cli_flush(int status);

#endif

/*
 * What the commands of ddblock(1) share. This file knows none of them.
 */
#ifndef DDBLOCKD_CLI_BASE_CLI_H
#define DDBLOCKD_CLI_BASE_CLI_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ddblock.h"

/* Exit statuses that stand for no error code. */
#define CLI_NOT_HELD 1		/* for --exit-code */
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

enum cli_kind {
	CLI_OWN,
	CLI_RUNS,	/* another command: what follows the key is its own */
	CLI_FOREIGN,	/* the options are another program's */
};

struct cli_command {
	const char *name;
	enum cli_kind kind;
	const char *operands;
	const char *summary;
	int (*run)(struct cli *, int argc, char **argv);
};

/* "ddblock: WHAT" on standard error (say.h), as one line and fit for a terminal
 * (cli_clean()), from wherever its parts are. */
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_vsay(const char *format, va_list)
    __attribute__((format(printf, 1, 0)));

/* Complain about the call; returns CLI_USAGE. */
int cli_misused(const struct cli *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

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

/* A duration or a bare number of seconds from the command line; or that or
 * "forever". */
bool cli_parse_time(const char *text, int64_t *ret_ms);
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

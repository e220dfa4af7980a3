/*
 * ddblock shell: lines from the input to the daemon, and back as they come.
 *
 * Parts: the two directions of the lines (shell.c), a line from the daemon
 * (line.c), the terminal (editor.c), the words that can be typed (words.c).
 */
#ifndef DDBLOCKD_CLI_SHELL_SHELL_H
#define DDBLOCKD_CLI_SHELL_SHELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/base/signals.h"
#include "cli/shell/editor.h"
#include "cli/shell/words.h"
#include "common/buffer.h"

/* Of the shell's own request, whose answer is not shown. */
#define SHELL_TAG "ddblock-shell"
#define SHELL_HEAD_SIZE 64

struct shell {
	int socket;
	bool json;
	bool clean;		/* the output is a terminal */
	struct editor *editor;	/* NULL: the input is not typed */
	bool hidden;		/* what is typed */
	struct signals signals;	/* ->fd -1: not read */
	struct words words;
	struct buffer in;	/* from the daemon */
	struct buffer out;	/* to it */
	struct buffer text;	/* a line to be shown */
	char head[SHELL_HEAD_SIZE];	/* of the line that is being sent */
	size_t head_length;
	bool input_ended;
	bool shut;		/* the daemon was told so */
	bool quit;		/* it was asked to close, or we are to end */
	bool ended;		/* no more lines will come */
	uint64_t n_requests;
	uint64_t n_answers;
	int status;		/* of the first ERR */
};

void shell_init(struct shell *, int socket);
void shell_done(struct shell *);

/* Send the shell's own request. */
void shell_ask(struct shell *, const char *line);

/* Send lines, or parts of lines, to the daemon. */
void shell_send(struct shell *, const char *bytes, size_t length);

/* Nothing more will be sent. */
void shell_end_input(struct shell *);

/* Serve both sides until there is input to be read, or (false) all is over. */
bool shell_wait(struct shell *);

/* A line from the daemon, without its LF; it is taken apart. */
void shell_line(struct shell *, char *line, size_t length);

/* The exit status; it says why the connection ended. */
int shell_finish(struct shell *);

#endif

/*
 * What the commands share: connecting, complaints, values, output.
 */
#include <config.h>

#include "cli/base/cli.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/utf8.h"
#include "ipc/codec.h"

#define CLI_NAME_BYTES 100	/* of a key, in a complaint */

const char *
cli_socket_path(const struct ddblock *d, char *space)
{
	return realpath(ddblock_path(d), space) == NULL ? ddblock_path(d) :
	    space;
}

/* Advice on a failure; NULL: none is known here. */
static const char *
cli_next_step(int code)
{
	switch (code) {
	case DDBLOCK_E_UNKNOWN_NAMESPACE:
		return "\"ddblock status\" lists them";
	case DDBLOCK_E_UNREACHABLE:
	case DDBLOCK_E_THROTTLED:
		return "\"ddblock status\" says how the store is";
	case DDBLOCK_E_ACCESS_DENIED:
	case DDBLOCK_E_NO_CREDENTIALS:
		return "\"ddblock check\" says why, and what to do";
	case DDBLOCK_E_STORE_BROKEN:
	case DDBLOCK_E_INTERNAL:
		return "the log of ddblockd says more";
	case DDBLOCK_E_NO_TABLE:
		return "\"ddblock init-table\" makes it, with the options "
		    "that ddblockd was started with (--store, --table, ...), "
		    "if it was";
	case DDBLOCK_E_WRONG_TABLE:
		return "\"ddblock check-table\" says why";
	case DDBLOCK_E_NO_DAEMON:
		return "does ddblockd still run?";
	case DDBLOCK_E_SHUTTING_DOWN:
		return "try again when it has restarted";
	case DDBLOCK_E_STORE_FULL:
		return "make room for the file of the store";
	default:
		return NULL;
	}
}

/* The name of what failed: any bytes, of any length. */
static void
cli_name(struct buffer *b, const char *what)
{
	size_t length = strlen(what);
	size_t shown = length < CLI_NAME_BYTES ? length : CLI_NAME_BYTES;

	/* No character is cut in two. */
	while (shown < length && ((unsigned char)what[shown] & 0xc0) == 0x80)
		shown--;
	if (length == 0)
		(void)buffer_append_text(b, "\"\"");
	(void)cli_clean(b, what, shown);
	if (shown < length)
		(void)buffer_append_text(b, "...");
}

int
cli_failed(const struct ddblock *d, const char *what, int code)
{
	const char *text = d == NULL ? "" : ddblock_last_text(d);
	const char *next = cli_next_step(code);
	bool known = text[0] == '\0' ||
	    strcmp(text, ddblock_error_text(code)) == 0;
	struct buffer b;

	buffer_init(&b, 16 * CLI_NAME_BYTES);
	cli_name(&b, what);
	/* For a bad call the daemon's words suffice. */
	cli_say("%s: %s%s%s (%s)%s%s", b.data == NULL ? "" : b.data,
	    known || ddblock_exit_status(code) != CLI_USAGE ?
	    ddblock_error_text(code) : "",
	    known || ddblock_exit_status(code) == CLI_USAGE ? "" : ": ",
	    known ? "" : text, ddblock_error_name(code),
	    next == NULL ? "" : "; ", next == NULL ? "" : next);
	buffer_done(&b);
	return ddblock_exit_status(code);
}

bool
cli_parse_time(const char *text, int64_t *ret_ms)
{
	uint64_t ms;

	if (!codec_parse_duration(text, strlen(text), &ms))
		return false;
	*ret_ms = (int64_t)ms; /* ten years at most */
	return true;
}

bool
cli_parse_wait(const char *text, int64_t *ret_ms)
{
	if (strcmp(text, "forever") != 0)
		return cli_parse_time(text, ret_ms);
	*ret_ms = DDBLOCK_WAIT_FOREVER;
	return true;
}

int
cli_parse_signal(const char *text)
{
	static const struct {
		const char *name;
		int number;
	} signals[] = {
		{ "HUP", SIGHUP }, { "INT", SIGINT }, { "QUIT", SIGQUIT },
		{ "KILL", SIGKILL }, { "USR1", SIGUSR1 },
		{ "USR2", SIGUSR2 }, { "ALRM", SIGALRM }, { "TERM", SIGTERM },
		{ "CONT", SIGCONT }, { "STOP", SIGSTOP }, { "TSTP", SIGTSTP },
		{ "WINCH", SIGWINCH },
	};
	uint64_t number;

	if (codec_parse_number(text, strlen(text), &number))
		return number <= (uint64_t)SIGRTMAX ? (int)number : 0;
	if (strncmp(text, "SIG", 3) == 0)
		text += 3;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		if (strcmp(signals[i].name, text) == 0)
			return signals[i].number;
	}
	return 0;
}

size_t
cli_clean(struct buffer *b, const char *bytes, size_t length)
{
	size_t columns = 0;
	size_t i = 0;

	while (i < length) {
		size_t n = utf8_shown(bytes + i, length - i);

		if (n > 0) {
			(void)buffer_append(b, bytes + i, n);
			columns++;
			i += n;
		} else {
			(void)buffer_printf(b, "\\x%02x",
			    (unsigned char)bytes[i]);
			columns += 4;
			i++;
		}
	}
	return columns;
}

int
cli_flush(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	cli_say("cannot write the output: %s", strerror(errno));
	return status == 0 ? CLI_OUTPUT : status;
}

/*
 * What the commands share: options, complaints, connecting.
 */
#include <config.h>

#include "cli/cli.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "ipc/codec.h"
#include "ipc/utf8.h"

int
cli_getopt(struct cli *cli, int argc, char **argv, const char *letters,
    const struct option *options)
{
	for (;;) {
		int option = getopt_long(argc, argv, letters, options, NULL);

		switch (option) {
		case CLI_OPTION_SOCKET:
			cli->socket = optarg;
			break;
		case CLI_OPTION_NS:
			cli->ns = optarg;
			break;
		case CLI_OPTION_JSON:
			cli->json = true;
			break;
		case 'v':
			cli->verbose = true;
			break;
		case 'h':
			cli_usage(cli->command == NULL ? NULL :
			    cli_command_find(cli->command));
			exit(cli_flush(0));
		default:
			return option;
		}
	}
}

int
cli_operands(struct cli *cli, int argc, char **argv, int min, int max)
{
	static const struct option options[] = {
		CLI_COMMON_OPTIONS,
		{ NULL, 0, NULL, 0 },
	};

	if (cli_getopt(cli, argc, argv, "hv", options) != -1)
		return -1;
	if (argc - optind < min || argc - optind > max) {
		(void)cli_misused(cli, argc - optind < min ?
		    "something is missing" : "that is too much");
		return -1;
	}
	return optind;
}

void
cli_say(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)fputs("ddblock: ", stderr);
	(void)vfprintf(stderr, format, arguments);
	(void)fputc('\n', stderr);
	va_end(arguments);
}

int
cli_misused(const struct cli *cli, const char *format, ...)
{
	const struct cli_command *command = NULL;
	va_list arguments;

	va_start(arguments, format);
	(void)fputs("ddblock: ", stderr);
	(void)vfprintf(stderr, format, arguments);
	va_end(arguments);
	if (cli->command != NULL)
		command = cli_command_find(cli->command);
	if (command != NULL)
		(void)fprintf(stderr, "\nusage: ddblock %s %s\n",
		    command->name, command->arguments);
	else
		(void)fputs("\nTry \"ddblock help\".\n", stderr);
	return CLI_USAGE;
}

int
cli_open(const struct cli *cli, const char *name, struct ddblock **ret)
{
	int r = ddblock_open(cli->socket, name, ret);
	int saved = errno;
	const char *path = cli->socket;

	if (r == 0)
		return 0;
	if (path == NULL || path[0] == '\0')
		path = getenv("DDBLOCK_SOCKET");
	if (path == NULL || path[0] == '\0')
		path = DDBLOCK_SOCKET;
	if (r == DDBLOCK_E_NO_DAEMON && saved == EACCES)
		cli_say("not allowed to connect to %s; its group may", path);
	else if (r == DDBLOCK_E_NO_DAEMON)
		cli_say("no daemon at %s: %s; start ddblockd, or name its "
		    "socket with --socket or DDBLOCK_SOCKET", path,
		    strerror(saved));
	else if (r == DDBLOCK_E_BAD_REQUEST)
		cli_say("%s: too long for the path of a socket", path);
	else
		cli_say("%s: %s", path, ddblock_error_text(r));
	return ddblock_exit_status(r);
}

int
cli_failed(const struct ddblock *d, const char *what, int code)
{
	const char *text = d == NULL ? "" : ddblock_last_text(d);

	if (text[0] == '\0' || strcmp(text, ddblock_error_text(code)) == 0)
		cli_say("%s: %s (%s)", what, ddblock_error_text(code),
		    ddblock_error_name(code));
	else
		cli_say("%s: %s: %s (%s)", what, ddblock_error_text(code),
		    text, ddblock_error_name(code));
	return ddblock_exit_status(code);
}

bool
cli_parse_wait(const char *text, int64_t *ret_ms)
{
	uint64_t ms;

	if (!codec_parse_duration(text, strlen(text), &ms))
		return false;
	*ret_ms = (int64_t)ms; /* ten years at most */
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
		size_t n = utf8_character(bytes + i, length - i);
		unsigned char c = (unsigned char)bytes[i];
		bool control = c < 0x20 || c == 0x7f || (n == 2 && c == 0xc2 &&
		    (unsigned char)bytes[i + 1] < 0xa0);

		if (n > 0 && !control) {
			(void)buffer_append(b, bytes + i, n);
			columns++;
			i += n;
		} else {
			(void)buffer_printf(b, "\\x%02x", c);
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

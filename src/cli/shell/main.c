/*
 * ddblock-shell: what `ddblock shell` becomes once it is connected. Its
 * arguments are the connection's descriptor, and "lines" or "json".
 */
#include <config.h>

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/base/cli.h"
#include "cli/shell/shell.h"
#include "ipc/codec.h"

#define MAIN_CHUNK_BYTES 65536

/* With a terminal that knows how to move its cursor. */
static bool
main_can_edit(void)
{
	const char *terminal = getenv("TERM");

	return isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 &&
	    terminal != NULL && terminal[0] != '\0' &&
	    strcmp(terminal, "dumb") != 0;
}

static bool
main_wait(void *shell)
{
	return shell_wait(shell);
}

static void
main_type(struct shell *s)
{
	const char *line;
	size_t length;

	/* The protocol is UTF-8 in every locale. */
	(void)setlocale(LC_CTYPE, "");
	if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
		(void)setlocale(LC_CTYPE, "C.UTF-8");
	if (signals_init(&s->signals) < 0 ||
	    (s->editor = editor_new(main_wait, s, &s->words)) == NULL) {
		cli_say("cannot edit lines: %s", strerror(errno));
		s->status = CLI_FAILED;
		s->ended = s->quit = true;
		return;
	}
	shell_ask(s, "HELP");
	while (!s->ended && (line = editor_line(s->editor, &length)) != NULL) {
		if (strspn(line, " \n") < length)
			shell_send(s, line, length);
	}
	shell_end_input(s);
}

static void
main_pass_on(struct shell *s)
{
	static char chunk[MAIN_CHUNK_BYTES];

	while (shell_wait(s)) {
		ssize_t n = read(STDIN_FILENO, chunk, sizeof(chunk));

		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			cli_say("cannot read the input: %s", strerror(errno));
		if (n > 0)
			shell_send(s, chunk, (size_t)n);
		else
			shell_end_input(s);
	}
}

int
main(int argc, char **argv)
{
	struct shell s;
	uint64_t number;
	int status;

	if (argc != 3 || !codec_parse_number(argv[1], strlen(argv[1]),
	    &number) || number > INT32_MAX) {
		cli_say("this is a part of \"ddblock shell\"");
		return CLI_USAGE;
	}
	shell_init(&s, (int)number);
	s.json = strcmp(argv[2], "json") == 0;
	s.clean = isatty(STDOUT_FILENO) == 1;
	if (main_can_edit())
		main_type(&s);
	else
		main_pass_on(&s);
	while (shell_wait(&s))
		continue;
	status = shell_finish(&s);
	shell_done(&s);
	return status;
}

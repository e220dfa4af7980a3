/*
 * ddblock shell: the protocol itself. A program of its own does it, because
 * line editing needs libraries that a lock in a script should not wait for.
 */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/sibling.h"
#include "cli/command/command.h"

int
command_shell(struct cli *cli, int argc, char **argv)
{
	static char name[] = "ddblock-shell";
	static char lines[] = "lines";
	static char json[] = "json";
	char number[16];
	char *arguments[] = { name, number, lines, NULL };
	struct ddblock *d;
	int status;
	int fd;

	if (cli_operands(cli, argc, argv, 0, 0) < 0)
		return CLI_USAGE;
	if (cli->ns != NULL)
		return cli_misused(cli, "a request has its own ns=%s", cli->ns);
	status = cli_open(cli, NULL, &d);
	if (status != 0)
		return status;
	/* The library sends its greeting with the first request, so nothing was
	 * sent on this connection yet. A copy of the descriptor outlives this
	 * program. */
	fd = dup(ddblock_socket(d));
	if (fd < 0) {
		cli_say("cannot copy the connection: %s", strerror(errno));
		status = CLI_FAILED;
	} else {
		if (cli->json)
			arguments[2] = json;
		(void)snprintf(number, sizeof(number), "%d", fd);
		status = sibling_exec(PKGLIBEXECDIR, arguments);
	}
	ddblock_close(d);
	return status;
}

/*
 * ddblock init-table and check-table: the daemon's own program does it, for
 * it alone knows the stores.
 */
#include <config.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

#define TABLE_ARGUMENTS_MAX 64

/* Beside this program, as in a build directory; or else where it belongs. */
static void
table_exec(char **arguments)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	if (n > 0) {
		path[n] = '\0';
		slash = strrchr(path, '/');
		if (slash != NULL && (size_t)(slash - path) +
		    sizeof("/ddblockd") <= sizeof(path)) {
			(void)memcpy(slash, "/ddblockd", sizeof("/ddblockd"));
			(void)execv(path, arguments);
		}
	}
	(void)execv(SBINDIR "/ddblockd", arguments);
	(void)execvp("ddblockd", arguments);
}

static int
table_run(struct cli *cli, const char *action, int argc, char **argv)
{
	static char name[] = "ddblockd";
	char *arguments[TABLE_ARGUMENTS_MAX + 4];
	char flag[32];
	char ns[256];
	int n = 0;

	if (argc > TABLE_ARGUMENTS_MAX)
		return cli_misused(cli, "that is too much");
	(void)snprintf(flag, sizeof(flag), "--%s", action);
	arguments[n++] = name;
	arguments[n++] = flag;
	if (cli->ns != NULL) {
		(void)snprintf(ns, sizeof(ns), "--namespace=%s", cli->ns);
		arguments[n++] = ns;
	}
	for (int i = 1; i < argc; i++)
		arguments[n++] = argv[i];
	arguments[n] = NULL;
	table_exec(arguments);
	cli_say("cannot run ddblockd: %s; is it installed?", strerror(errno));
	return errno == ENOENT ? CLI_NOT_FOUND : CLI_CANNOT_EXECUTE;
}

int
cmd_init_table(struct cli *cli, int argc, char **argv)
{
	return table_run(cli, "init-table", argc, argv);
}

int
cmd_check_table(struct cli *cli, int argc, char **argv)
{
	return table_run(cli, "check-table", argc, argv);
}

/*
 * ddblock init-table and check-table: the daemon's program does both, because
 * only it knows the stores.
 */
#include <config.h>

#include <stdio.h>

#include "cli/base/sibling.h"
#include "cli/command/command.h"

#define TABLE_ARGUMENTS_MAX 64

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
	return sibling_exec(SBINDIR, arguments);
}

int
command_init_table(struct cli *cli, int argc, char **argv)
{
	return table_run(cli, "init-table", argc, argv);
}

int
command_check_table(struct cli *cli, int argc, char **argv)
{
	return table_run(cli, "check-table", argc, argv);
}

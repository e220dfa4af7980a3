/*
 * ddblock(1): the command table. The program links nothing but libc, the
 * library and its codec, so that a lock costs a script little more than
 * flock(1) does.
 */
#include <config.h>

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/say.h"

static const struct cli_command cli_commands[] = {
	{ "run", "[-ns] [-c LIMIT] [-w TIME] [-E STATUS] [--fail-closed] "
	    "[--on-danger=SIGNAL] [--reentrant] KEY | -k KEY... -- "
	    "COMMAND...", "run a command under a lock", cmd_run },
	{ "elect", "[--once | --restart] [--on-danger=SIGNAL] "
	    "KEY -- COMMAND...", "run a command while leader", cmd_elect },
	{ "acquire", "[-ns] [-c LIMIT] [-w TIME] --for-pid=PID "
	    "[--on-lost=SIGNAL] KEY | -k KEY...", "hold a lock for a process",
	    cmd_acquire },
	{ "release", "[--for-pid=PID] [--best-effort] KEY | --all",
	    "end what acquire began",
	    cmd_release },
	{ "break", "[--token=N | --record=TEXT] --reason=TEXT KEY",
	    "take a lock from whoever holds it", cmd_break },
	{ "get", "KEY", "who holds a lock", cmd_get },
	{ "watch", "[-n COUNT] [--data] KEY",
	    "who holds a lock, and each change", cmd_watch },
	{ "list", "[--prefix=TEXT] [--state=WORDS]",
	    "the locks of a namespace", cmd_list },
	{ "held", "[KEY]", "what is held through this daemon", cmd_held },
	{ "waiting", "[KEY]", "who waits through this daemon", cmd_waiting },
	{ "status", "", "how the daemon and its stores are", cmd_status },
	{ "check", "", "whether the stores have all that they need",
	    cmd_check },
	{ "shell", "", "speak the protocol itself", cmd_shell },
	{ "init-table", "[DDBLOCKD-OPTION...]",
	    "create what a namespace needs", cmd_init_table },
	{ "check-table", "[DDBLOCKD-OPTION...]",
	    "see whether it is as it should be", cmd_check_table },
	{ "help", "[COMMAND]", "this", cmd_help },
};

#define CLI_COMMANDS (sizeof(cli_commands) / sizeof(cli_commands[0]))

const struct cli_command *
cli_command_find(const char *name)
{
	for (size_t i = 0; i < CLI_COMMANDS; i++) {
		if (strcmp(cli_commands[i].name, name) == 0)
			return &cli_commands[i];
	}
	return NULL;
}

void
cli_show_commands(void)
{
	for (size_t i = 0; i < CLI_COMMANDS; i++)
		(void)printf("command\t%s\t%s\t%s\n", cli_commands[i].name,
		    cli_commands[i].arguments, cli_commands[i].summary);
}

void
cli_usage(const struct cli_command *command)
{
	if (command != NULL) {
		(void)printf("usage: ddblock %s%s%s\n%s\n", command->name,
		    command->arguments[0] == '\0' ? "" : " ",
		    command->arguments, command->summary);
	} else {
		(void)printf("usage: ddblock [--socket=PATH] [--ns=NAMESPACE] "
		    "[--json] COMMAND ...\n\n");
		for (size_t i = 0; i < CLI_COMMANDS; i++)
			(void)printf("  %-12s %s\n", cli_commands[i].name,
			    cli_commands[i].summary);
	}
	(void)printf("\nSee ddblock(1).\n");
}

int
cmd_help(struct cli *cli, int argc, char **argv)
{
	const struct cli_command *command = NULL;
	int first = cli_operands(cli, argc, argv, 0, 1);

	if (first < 0)
		return CLI_USAGE;
	if (first < argc) {
		command = cli_command_find(argv[first]);
		if (command == NULL)
			return cli_misused(cli, "there is no command \"%s\"",
			    argv[first]);
	}
	cli_usage(command);
	return cli_flush(0);
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {
		CLI_COMMON_OPTIONS,
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	const struct cli_command *command;
	struct cli cli = { .command = NULL };
	int option, status;

	while ((option = cli_getopt(&cli, argc, argv, "+hVv", options)) != -1) {
		if (option != 'V')
			return CLI_USAGE;
		(void)printf("ddblock %s\n", PACKAGE_VERSION);
		return cli_flush(0);
	}
	if (optind == argc)
		return cli_misused(&cli, "which command?");
	command = cli_command_find(argv[optind]);
	if (command == NULL)
		return cli_misused(&cli, "there is no command \"%s\"",
		    argv[optind]);
	cli.command = command->name;
	argc -= optind;
	argv += optind;
	optind = 0; /* start again, with the command for a program name */
	status = command->run(&cli, argc, argv);
	say_rest();
	return status;
}

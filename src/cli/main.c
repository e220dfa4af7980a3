/*
 * ddblock(1): the table of commands, and the options for all of them. The
 * program links nothing but libc, the library and its codec, so that a lock
 * costs a script little more than flock(1) does.
 */
#include <config.h>

#include <stdio.h>
#include <string.h>

#include "cli/base/options.h"
#include "cli/base/say.h"
#include "cli/command/command.h"

static int main_help(struct cli *, int argc, char **argv);

static const struct cli_command main_commands[] = {
	{ "run", CLI_RUNS, "KEY | -k KEY... [--] COMMAND...",
	    "run a command under a lock", command_run },
	{ "elect", CLI_RUNS, "KEY [--] COMMAND...",
	    "run a command while leader", command_elect },
	{ "acquire", CLI_OWN, "--for-pid=PID KEY | -k KEY...",
	    "hold a lock for a process", command_acquire },
	{ "release", CLI_OWN, "KEY | --all", "end what acquire began",
	    command_release },
	{ "break", CLI_OWN, "--reason=TEXT KEY", "take a lock from its holders",
	    command_break },
	{ "get", CLI_OWN, "KEY", "the holder of a lock", command_get },
	{ "why", CLI_OWN, "KEY", "why it cannot be acquired, and what to do",
	    command_why },
	{ "history", CLI_OWN, "[KEY]", "who held it when, by the journal",
	    command_history },
	{ "watch", CLI_OWN, "KEY", "who holds a lock, and each change",
	    command_watch },
	{ "list", CLI_OWN, "", "the locks of a namespace", command_list },
	{ "held", CLI_OWN, "[KEY]", "what is held through this daemon",
	    command_held },
	{ "waiting", CLI_OWN, "[KEY]", "who waits through this daemon",
	    command_waiting },
	{ "status", CLI_OWN, "", "how the daemon and its stores are",
	    command_status },
	{ "top", CLI_OWN, "", "a screen of locks, holders and waiters",
	    command_top },
	{ "metrics", CLI_OWN, "", "what it has counted, for Prometheus",
	    command_metrics },
	{ "check", CLI_OWN, "", "whether the stores have all that they need",
	    command_check },
	{ "drain", CLI_OWN, "",
	    "grant no new locks, and wait until none is held", command_drain },
	{ "undrain", CLI_OWN, "", "grant locks again", command_undrain },
	{ "raise-tokens", CLI_OWN, "",
	    "after a restoration: raise the tokens of all records",
	    command_raise_tokens },
	{ "shell", CLI_OWN, "", "speak the protocol itself", command_shell },
	{ "init-table", CLI_FOREIGN, "[DDBLOCKD-OPTION...]",
	    "create what a namespace needs", command_init_table },
	{ "check-table", CLI_FOREIGN, "[DDBLOCKD-OPTION...]",
	    "see whether it is as it should be", command_check_table },
	{ "help", CLI_OWN, "[COMMAND]", "this", main_help },
};

#define MAIN_COMMANDS (sizeof(main_commands) / sizeof(main_commands[0]))

static const struct cli_command *
main_find(const struct cli *cli, const char *name)
{
	for (size_t i = 0; i < MAIN_COMMANDS; i++) {
		if (strcmp(main_commands[i].name, name) == 0)
			return &main_commands[i];
	}
	(void)cli_misused(cli, "there is no command \"%s\"", name);
	return NULL;
}

/* For programs: words with tabs between. */
static void
main_list_commands(void)
{
	for (size_t i = 0; i < MAIN_COMMANDS; i++)
		(void)printf("command\t%s\t%s\t%s\n", main_commands[i].name,
		    main_commands[i].operands, main_commands[i].summary);
}

static void
main_show_usage(void)
{
	(void)printf("usage: ddblock [OPTION...] COMMAND ...\n\n");
	for (size_t i = 0; i < MAIN_COMMANDS; i++)
		(void)printf("  %-12s %s\n", main_commands[i].name,
		    main_commands[i].summary);
	cli_show_options_help(NULL);
	(void)printf("\nSee ddblock(1).\n");
}

static int
main_help(struct cli *cli, int argc, char **argv)
{
	const struct cli_command *command;
	int first = cli_operands(cli, argc, argv, 0, 1);

	if (first < 0)
		return CLI_USAGE;
	if (first == argc) {
		main_show_usage();
		return cli_flush(0);
	}
	command = main_find(cli, argv[first]);
	if (command == NULL)
		return CLI_USAGE;
	cli_show_usage(command);
	return cli_flush(0);
}

/*
 * The options before the command. -1: the command is next. Else the exit
 * status.
 */
static int
main_options(struct cli *cli, int argc, char **argv)
{
	switch (cli_getopt(cli, argc, argv)) {
	case CLI_OPTION_END:
		return -1;
	case CLI_OPTION_VERSION:
		(void)printf("ddblock %s\n", PACKAGE_VERSION);
		return cli_flush(0);
	case CLI_OPTION_HELP:
		main_show_usage();
		return cli_flush(0);
	case CLI_OPTION_COMPLETION:
		main_list_commands();
		cli_show_options(NULL);
		return cli_flush(0);
	default:
		return CLI_USAGE;
	}
}

int
main(int argc, char **argv)
{
	struct cli cli = { .command = NULL };
	int status = main_options(&cli, argc, argv);

	if (status >= 0)
		return status;
	if (optind == argc)
		return cli_misused(&cli, "which command?");
	cli.command = main_find(&cli, argv[optind]);
	if (cli.command == NULL)
		return CLI_USAGE;
	argc -= optind;
	argv += optind;
	optind = 0; /* start again: the command is the name */
	status = cli.command->run(&cli, argc, argv);
	say_flush();
	return status;
}

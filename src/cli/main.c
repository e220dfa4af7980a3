/*
 * ddblock(1): the table of commands, and the options for all of them. The
 * program links nothing but libc, the library and its codec, so that a lock
 * costs a script little more than flock(1) does.
 */
#include <config.h>

#include <stdio.h>
#include <string.h>

#include "cli/base/cli.h"
#include "cli/base/say.h"
#include "cli/command/command.h"

static int main_help(struct cli *, int argc, char **argv);

static const struct cli_command main_commands[] = {
	{ "run", "[-ns] [-c LIMIT] [-w TIME] [-E STATUS] [--fail-closed] "
	    "[--on-danger=SIGNAL] [--reentrant] KEY | -k KEY... -- "
	    "COMMAND...", "run a command under a lock", command_run },
	{ "elect", "[--once | --restart] [--on-danger=SIGNAL] "
	    "KEY -- COMMAND...", "run a command while leader", command_elect },
	{ "acquire", "[-ns] [-c LIMIT] [-w TIME] --for-pid=PID "
	    "[--on-lost=SIGNAL] KEY | -k KEY...", "hold a lock for a process",
	    command_acquire },
	{ "release", "[--for-pid=PID] [--best-effort] KEY | --all",
	    "end what acquire began",
	    command_release },
	{ "break", "[--token=N | --record=TEXT] --reason=TEXT KEY",
	    "take a lock from its holders", command_break },
	{ "get", "KEY", "the holder of a lock", command_get },
	{ "watch", "[-n COUNT] [--data] KEY",
	    "who holds a lock, and each change", command_watch },
	{ "list", "[--prefix=TEXT] [--state=WORDS]",
	    "the locks of a namespace", command_list },
	{ "held", "[KEY]", "what is held through this daemon", command_held },
	{ "waiting", "[KEY]", "who waits through this daemon",
	    command_waiting },
	{ "status", "", "how the daemon and its stores are", command_status },
	{ "check", "[--access=USER[:KEY] [--unit=UNIT]]",
	    "whether the stores have all that they need", command_check },
	{ "drain", "[-n] [-w TIME]",
	    "grant no new locks, and wait until none is held", command_drain },
	{ "undrain", "", "grant locks again", command_undrain },
	{ "raise-tokens", "[-n] [--to=TOKEN] [--prefix=TEXT]",
	    "after a restoration: raise the tokens of all records",
	    command_raise_tokens },
	{ "shell", "", "speak the protocol itself", command_shell },
	{ "init-table", "[DDBLOCKD-OPTION...]",
	    "create what a namespace needs", command_init_table },
	{ "check-table", "[DDBLOCKD-OPTION...]",
	    "see whether it is as it should be", command_check_table },
	{ "help", "[COMMAND]", "this", main_help },
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
		    main_commands[i].arguments, main_commands[i].summary);
}

static void
main_show_usage(void)
{
	(void)printf("usage: ddblock [--socket=PATH] [--ns=NAMESPACE] "
	    "[--json] COMMAND ...\n\n");
	for (size_t i = 0; i < MAIN_COMMANDS; i++)
		(void)printf("  %-12s %s\n", main_commands[i].name,
		    main_commands[i].summary);
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
	static const char letters[] = "+hVv";
	static const struct option options[] = {
		CLI_COMMON_OPTIONS,
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};

	switch (cli_getopt(cli, argc, argv, letters, options)) {
	case -1:
		return -1;
	case 'V':
		(void)printf("ddblock %s\n", PACKAGE_VERSION);
		return cli_flush(0);
	case 'h':
		main_show_usage();
		return cli_flush(0);
	case CLI_OPTION_COMPLETION:
		main_list_commands();
		cli_show_options(letters, options);
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

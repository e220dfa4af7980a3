/*
 * What the commands share: options and operands, and complaints about them.
 */
#include <config.h>

#include "cli/base/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/protocol.h"

/* Are they the same, apart from hyphens? */
static bool
cli_is_argument(const char *option, const char *argument)
{
	while (*option != '\0' &&
	    *argument == (*option == '-' ? '_' : *option)) {
		option++;
		argument++;
	}
	return *option == *argument;
}

/* The words that an option takes if it is an argument of the protocol. */
static const char *
cli_words(const char *option)
{
	for (unsigned i = ARGUMENT_NONE + 1; i < ARGUMENTS; i++) {
		const struct protocol_argument_row *row = protocol_argument(i);

		if (cli_is_argument(option, row->word))
			return row->kind == KIND_BOOLEAN ? "yes|no" :
			    row->choices != NULL ? row->choices : "";
	}
	return "";
}

/*
 * Lists the tables that getopt itself reads, for the shells: a letter (or "-"),
 * whether it takes an argument, and which words that may be.
 */
void
cli_show_options(const char *letters, const struct option *options)
{
	for (; options->name != NULL; options++) {
		bool letter = options->val < 256 &&
		    strchr(letters, options->val) != NULL;

		if (options->val != CLI_OPTION_COMPLETION)
			(void)printf("option\t--%s\t%c\t%s\t%s\n",
			    options->name, letter ? options->val : '-',
			    options->has_arg == required_argument ? "yes" :
			    "no", options->has_arg != required_argument ? "" :
			    cli_words(options->name));
	}
}

void
cli_show_usage(const struct cli_command *command)
{
	(void)printf("usage: ddblock %s%s%s\n%s\n\nSee ddblock(1).\n",
	    command->name, command->arguments[0] == '\0' ? "" : " ",
	    command->arguments, command->summary);
}

static const char *
cli_option_name(int value, const struct option *options)
{
	while (options->name != NULL && options->val != value)
		options++;
	return options->name;
}

/* Why getopt failed: @word is the last that it looked at. */
static void
cli_bad_option(const struct cli *cli, const char *word, const char *letters,
    const struct option *options)
{
	const char *name = cli_option_name(optopt, options);
	bool is_long = strncmp(word, "--", 2) == 0;

	if (optopt != 0 && is_long && strchr(word, '=') != NULL)
		(void)cli_misused(cli, "--%s takes no value", name);
	else if (optopt != 0 && is_long)
		(void)cli_misused(cli, "--%s needs a value", name);
	else if (optopt != 0 && strchr(letters, optopt) != NULL)
		(void)cli_misused(cli, "-%c needs a value", optopt);
	else if (optopt != 0)
		(void)cli_misused(cli, "there is no option \"-%c\"", optopt);
	else
		(void)cli_misused(cli, "there is no option \"%s\"", word);
}

int
cli_bad_value(const struct cli *cli, int option,
    const struct option *options)
{
	static const struct {
		const char *name;
		const char *wanted;
	} values[] = {
		{ "attr", "NAME=TEXT or NAME:json=VALUE, and there may be 32 "
		    "of them" },
		{ "conflict-exit-code", "a number, 0 to 255" },
		{ "for-pid", "the number of a process" },
		{ "keep", "yes or no" },
		{ "key", "the name of a lock, and there may be 25 of them" },
		{ "limit", "how many may share the lock, 1 to 1000" },
		{ "on-danger", "the name of a signal, such as TERM" },
		{ "on-lost", "the name of a signal, such as TERM, or 0" },
		{ "replace-data", "yes or no" },
		{ "wait", "forever, or a time, such as 500ms, 30s, 5m or 1h" },
	};
	const char *name = cli_option_name(option, options);

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		if (name != NULL && strcmp(values[i].name, name) == 0)
			return cli_misused(cli, "--%s is %s, not \"%s\"", name,
			    values[i].wanted, optarg);
	}
	return cli_misused(cli, "--%s cannot be \"%s\"",
	    name == NULL ? "" : name, optarg);
}

int
cli_getopt(struct cli *cli, int argc, char **argv, const char *letters,
    const struct option *options)
{
	opterr = 0; /* complaints look alike */
	for (;;) {
		int option = getopt_long(argc, argv, letters, options, NULL);

		switch (option) {
		case CLI_OPTION_SOCKET:
			cli->socket = optarg;
			break;
		case CLI_OPTION_NS:
			cli->ns = optarg;
			break;
		case CLI_OPTION_SORT:
			cli->sort = optarg;
			break;
		case CLI_OPTION_JSON:
			cli->json = true;
			break;
		case CLI_OPTION_WAIT_DAEMON:
			cli->wait_daemon = optarg == NULL ? "yes" : optarg;
			break;
		case 'v':
			cli->verbose = true;
			break;
		case CLI_OPTION_COMPLETION:
			if (cli->command == NULL)
				return option;
			cli_show_options(letters, options);
			exit(cli_flush(0));
		case 'h':
			if (cli->command == NULL)
				return option;
			cli_show_usage(cli->command);
			exit(cli_flush(0));
		case '?':
			cli_bad_option(cli, argv[optind - 1], letters,
			    options);
			return option;
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
	if (argc - optind < min) {
		(void)cli_misused(cli, "which lock?");
		return -1;
	}
	if (argc - optind > max) {
		(void)cli_misused(cli, "\"%s\" is too much",
		    argv[optind + max]);
		return -1;
	}
	return optind;
}

int
cli_misused(const struct cli *cli, const char *format, ...)
{
	const struct cli_command *command = cli->command;
	va_list arguments;

	va_start(arguments, format);
	cli_vsay(format, arguments);
	va_end(arguments);
	if (command != NULL)
		(void)fprintf(stderr, "usage: ddblock %s%s%s\n",
		    command->name, command->arguments[0] == '\0' ? "" : " ",
		    command->arguments);
	else
		(void)fputs("Try \"ddblock help\".\n", stderr);
	return CLI_USAGE;
}

/*
 * What the commands share: options and operands, and complaints about them.
 */
#include <config.h>

#include "cli/base/options.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/when.h"

#define NO no_argument, NULL
#define NEEDS(what) required_argument, what
#define MAY(what) optional_argument, what

static const struct cli_option_row options_table[] = {
#define OPTION(id, name, letter, argument, commands, help, wanted) \
	{ CLI_OPTION_##id, name, letter, argument, commands, help, wanted, \
	    false },
#define ALIAS(id, name, letter) \
	{ CLI_OPTION_##id, name, letter, NO, NULL, NULL, NULL, true },
#include "cli/base/options.def"
};

#define OPTIONS_ROWS (sizeof(options_table) / sizeof(options_table[0]))
#define OPTIONS_LONG 256	/* getopt's values: above all letters */

/* The row whose name or letter this one is, too. */
static const struct cli_option_row *
options_first(const struct cli_option_row *row)
{
	while (row->alias)
		row--;
	return row;
}

static bool
options_has_word(const char *words, const char *word)
{
	size_t length = strlen(word);

	for (; *words != '\0'; words += words[0] == ' ') {
		size_t n = strcspn(words, " ");

		if (n == length && memcmp(words, word, n) == 0)
			return true;
		words += n;
	}
	return false;
}

bool
cli_option_is_common(const struct cli_option_row *row)
{
	return strcmp(options_first(row)->commands, "*") == 0;
}

const struct cli_option_row *
cli_option_next(const struct cli_command *command, size_t *i)
{
	for (; *i < OPTIONS_ROWS; (*i)++) {
		const struct cli_option_row *row = &options_table[*i];
		const char *commands = options_first(row)->commands;

		if (cli_option_is_common(row) || (command == NULL ?
		    commands[0] == '\0' :
		    options_has_word(commands, command->name)))
			return row;
	}
	return NULL;
}

/* ---- for getopt_long(3) ------------------------------------------- */

struct options_getopt {
	struct option options[OPTIONS_ROWS + 1];
	char letters[3 * OPTIONS_ROWS + 2];
};

static void
options_for_getopt(const struct cli_command *command,
    struct options_getopt *ret)
{
	const struct cli_option_row *row;
	size_t n = 0, n_letters = 0;

	*ret = (struct options_getopt){ .letters = "" };
	/* The words after the first operand are another command's. */
	if (command == NULL || command->kind == CLI_RUNS)
		ret->letters[n_letters++] = '+';
	for (size_t i = 0; (row = cli_option_next(command, &i)) != NULL; i++) {
		int has_argument = options_first(row)->has_argument;

		if (row->name != NULL)
			ret->options[n++] = (struct option){
				.name = row->name,
				.has_arg = has_argument,
				.val = OPTIONS_LONG + (int)row->id,
			};
		if (row->letter == '\0')
			continue;
		ret->letters[n_letters++] = row->letter;
		for (int k = 0; k < has_argument; k++)
			ret->letters[n_letters++] = ':';
	}
}

/* The row that getopt means, by a letter or a name of it; or NULL. */
static const struct cli_option_row *
options_find(const struct cli_command *command, int value)
{
	const struct cli_option_row *row;

	for (size_t i = 0; (row = cli_option_next(command, &i)) != NULL; i++) {
		if (value >= OPTIONS_LONG ?
		    (int)row->id == value - OPTIONS_LONG :
		    row->letter != '\0' && row->letter == value)
			return options_first(row);
	}
	return NULL;
}

/* Why getopt failed: @word is the last that it looked at. */
static void
options_bad(const struct cli *cli, const char *word)
{
	const struct cli_option_row *row = options_find(cli->command, optopt);
	bool is_long = strncmp(word, "--", 2) == 0;
	int length = (int)strcspn(word, "=");	/* as the user named it */

	if (optopt == 0)
		(void)cli_misused(cli, "there is no option \"%s\"", word);
	else if (is_long && row != NULL && strchr(word, '=') != NULL)
		(void)cli_misused(cli, "%.*s takes no value", length, word);
	else if (is_long && row != NULL)
		(void)cli_misused(cli, "%.*s needs a value", length, word);
	else if (row != NULL)
		(void)cli_misused(cli, "-%c needs a value", optopt);
	else
		(void)cli_misused(cli, "there is no option \"-%c\"", optopt);
}

static void
options_bad_value(const struct cli *cli, enum cli_option option)
{
	const struct cli_option_row *row = options_find(cli->command,
	    OPTIONS_LONG + (int)option);

	if (row->wanted == NULL)
		(void)cli_misused(cli, "--%s cannot be \"%s\"", row->name,
		    optarg);
	else
		(void)cli_misused(cli, "--%s is %s, not \"%s\"", row->name,
		    row->wanted, optarg);
}

/* ---- for the commands --------------------------------------------- */

/* An option of every command. False: it is another. */
static bool
options_common(struct cli *cli, enum cli_option option)
{
	switch (option) {
	case CLI_OPTION_SOCKET:
		cli->socket = optarg;
		return true;
	case CLI_OPTION_NS:
		cli->ns = optarg;
		return true;
	case CLI_OPTION_SORT:
		cli->sort = optarg;
		return true;
	case CLI_OPTION_JSON:
		cli->json = true;
		return true;
	case CLI_OPTION_WAIT_DAEMON:
		cli->wait_daemon = optarg == NULL ? "yes" : optarg;
		return true;
	case CLI_OPTION_VERBOSE:
		cli->verbose = true;
		return true;
	default:
		return false;
	}
}

enum cli_option
cli_getopt(struct cli *cli, int argc, char **argv)
{
	struct options_getopt getopt;

	options_for_getopt(cli->command, &getopt);
	opterr = 0; /* complaints look alike */
	for (;;) {
		int value = getopt_long(argc, argv, getopt.letters,
		    getopt.options, NULL);
		enum cli_option option;

		if (value == -1)
			return CLI_OPTION_END;
		if (value == '?') {
			options_bad(cli, argv[optind - 1]);
			return CLI_OPTION_BAD;
		}
		option = options_find(cli->command, value)->id;
		if (options_common(cli, option))
			continue;
		if (cli->command == NULL || (option != CLI_OPTION_HELP &&
		    option != CLI_OPTION_COMPLETION))
			return option;
		if (option == CLI_OPTION_HELP)
			cli_show_usage(cli->command);
		else
			cli_show_options(cli->command);
		exit(cli_flush(0));
	}
}

int
cli_options(struct cli *cli, int argc, char **argv, cli_on_option *on_option,
    void *arg)
{
	enum cli_option option;

	while ((option = cli_getopt(cli, argc, argv)) != CLI_OPTION_END) {
		if (option == CLI_OPTION_BAD)
			return CLI_USAGE;
		if (!on_option(arg, option)) {
			options_bad_value(cli, option);
			return CLI_USAGE;
		}
	}
	return 0;
}

bool
cli_count_operands(const struct cli *cli, int argc, char **argv, int min,
    int max)
{
	if (argc - optind < min)
		(void)cli_misused(cli, "which lock?");
	else if (argc - optind > max)
		(void)cli_misused(cli, "\"%s\" is too much",
		    argv[optind + max]);
	else
		return true;
	return false;
}

int
cli_operands(struct cli *cli, int argc, char **argv, int min, int max)
{
	if (cli_getopt(cli, argc, argv) != CLI_OPTION_END)
		return -1;
	return cli_count_operands(cli, argc, argv, min, max) ? optind : -1;
}

int
cli_misused(const struct cli *cli, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	cli_vsay(format, arguments);
	va_end(arguments);
	if (cli->command != NULL)
		cli_print_call(stderr, cli->command);
	else
		(void)fputs("Try \"ddblock help\".\n", stderr);
	return CLI_USAGE;
}

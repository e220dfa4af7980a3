/*
 * The table of options, for people (--help) and for the shells
 * (--completion-data).
 */
#include <config.h>

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/options.h"
#include "common/buffer.h"
#include "ipc/protocol.h"

#define HELP_COLUMN 30		/* where a line's explanation begins */
#define HELP_NAMES_MAX 256

/* ---- for people ---------------------------------------------------- */

/* "  -w, --wait, --timeout=TIME" */
static void
help_names(struct buffer *b, const struct cli_command *command,
    const struct cli_option_row *option)
{
	const struct cli_option_row *row;

	for (size_t i = 0; (row = cli_option_next(command, &i)) != NULL; i++) {
		if (row->id == option->id && row->letter != '\0')
			(void)buffer_printf(b, "%s-%c",
			    b->length == 0 ? "  " : ", ", row->letter);
	}
	for (size_t i = 0; (row = cli_option_next(command, &i)) != NULL; i++) {
		if (row->id == option->id && row->name != NULL)
			(void)buffer_printf(b, "%s--%s",
			    b->length == 0 ? "      " : ", ", row->name);
	}
	if (option->argument != NULL)
		(void)buffer_printf(b, option->has_argument ==
		    optional_argument ? "[=%s]" : "=%s", option->argument);
}

static void
help_options(const struct cli_command *command, bool common)
{
	const struct cli_option_row *row;

	for (size_t i = 0; (row = cli_option_next(command, &i)) != NULL; i++) {
		struct buffer b;

		if (row->help == NULL || cli_option_is_common(row) != common)
			continue;
		buffer_init(&b, HELP_NAMES_MAX);
		help_names(&b, command, row);
		if (b.length >= HELP_COLUMN - 1)
			(void)printf("%s\n%*s%s\n", b.data, HELP_COLUMN, "",
			    row->help);
		else
			(void)printf("%-*s%s\n", HELP_COLUMN, b.data,
			    row->help);
		buffer_done(&b);
	}
}

static bool
help_has_options(const struct cli_command *command)
{
	const struct cli_option_row *row;

	for (size_t i = 0; (row = cli_option_next(command, &i)) != NULL; i++) {
		if (!cli_option_is_common(row))
			return true;
	}
	return false;
}

void
cli_print_call(FILE *file, const struct cli_command *command)
{
	(void)fprintf(file, "usage: ddblock %s%s%s%s\n", command->name,
	    help_has_options(command) ? " [OPTION...]" : "",
	    command->operands[0] == '\0' ? "" : " ", command->operands);
}

void
cli_show_options_help(const struct cli_command *command)
{
	if (help_has_options(command)) {
		(void)puts(command == NULL ? "\nOptions of ddblock itself:" :
		    "\nOptions:");
		help_options(command, false);
	}
	(void)puts("\nOptions of every command:");
	help_options(command, true);
}

void
cli_show_usage(const struct cli_command *command)
{
	cli_print_call(stdout, command);
	(void)puts(command->summary);
	if (command->kind == CLI_FOREIGN)
		(void)puts("\nThe options are those of ddblockd.");
	else
		cli_show_options_help(command);
	(void)puts("\nSee ddblock(1).");
}

/* ---- for the shells ------------------------------------------------ */

/* Are they the same, apart from hyphens? */
static bool
help_is_argument(const char *option, const char *argument)
{
	while (*option != '\0' &&
	    *argument == (*option == '-' ? '_' : *option)) {
		option++;
		argument++;
	}
	return *option == *argument;
}

/* The words that the protocol has for an option that is an argument of it. */
static const char *
help_protocol_words(const char *option)
{
	for (unsigned i = ARGUMENT_NONE + 1; i < ARGUMENTS; i++) {
		const struct protocol_argument_row *row = protocol_argument(i);

		if (help_is_argument(option, row->word))
			return row->choices != NULL ? row->choices : "";
	}
	return "";
}

/* The words that its value may be: of "TIME|forever" those in small letters. */
static void
help_print_words(const struct cli_option_row *option, const char *name)
{
	const char *words = help_protocol_words(name);
	const char *part = option->argument;
	const char *before = "";

	if (option->has_argument != required_argument)
		return;
	if (words[0] != '\0') {
		(void)fputs(words, stdout);
		return;
	}
	for (size_t n; *part != '\0'; part += n + (part[n] == '|')) {
		n = strcspn(part, "|");
		if (!islower((unsigned char)part[0]))
			continue;
		(void)printf("%s%.*s", before, (int)n, part);
		before = "|";
	}
}

/* Of a name: --NAME, its letters or "-", whether a value must follow, the words
 * that it may be, what it is called, and the explanation. */
static void
help_print_name(const struct cli_command *command,
    const struct cli_option_row *option, const char *name)
{
	const struct cli_option_row *row;
	bool any = false;

	(void)printf("option\t--%s\t", name);
	for (size_t i = 0; (row = cli_option_next(command, &i)) != NULL; i++) {
		if (row->id == option->id && row->letter != '\0')
			any = putchar(row->letter) != EOF;
	}
	(void)printf("%s\t%s\t", any ? "" : "-",
	    option->has_argument == required_argument ? "yes" : "no");
	help_print_words(option, name);
	(void)printf("\t%s\t%s\n",
	    option->argument == NULL ? "" : option->argument, option->help);
}

void
cli_show_options(const struct cli_command *command)
{
	const struct cli_option_row *row, *option = NULL;

	for (size_t i = 0; (row = cli_option_next(command, &i)) != NULL; i++) {
		if (option == NULL || !row->alias)
			option = row; /* an alias is never the first */
		if (option->help != NULL && row->name != NULL)
			help_print_name(command, option, row->name);
	}
}

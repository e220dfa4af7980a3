/*
 * ddblock check: what the daemon's stores need from outside, whether they have
 * it, and what to do if not. Findings are written as they come.
 */
#include <config.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/rows.h"
#include "cli/base/row_value.h"
#include "cli/command/command.h"
#include "common/buffer.h"
#include "common/finding.h"

#define CHECK_TEXT_MAX 8192
#define CHECK_STATUS_ERRORS 1

struct checking {
	bool json;
	bool waits;		/* may be shown, */
	bool shown;		/* and is */
	bool failed;		/* out of memory */
	uint64_t n_rows, n_warnings, n_errors;
	struct buffer ns;	/* of the findings before */
	struct buffer out;
};

/* Between two findings a time-out may pass while the user watches. */
static void
check_wait(struct checking *k)
{
	if (!k->waits)
		return;
	(void)fflush(stdout);
	(void)fputs("checking...", stderr);
	k->shown = true;
}

static void
check_wipe(struct checking *k)
{
	if (k->shown)
		(void)fputs("\r\033[K", stderr);
	k->shown = false;
}

/* A field made fit for a terminal, as a text of its own in @b. */
static const char *
check_field(struct buffer *b, const struct ddblock_row *row,
    const char *name)
{
	size_t length;
	const char *value = ddblock_row_find(row, name, &length);

	buffer_init(b, CHECK_TEXT_MAX);
	if (value != NULL)
		(void)cli_clean(b, value, length);
	return b->data == NULL ? "" : b->data;
}

static void
check_finding(struct checking *k, const struct ddblock_row *row)
{
	static const char *const names[] = { "check", "state", "text",
		"advice", "ns" };
	struct buffer fields[5];
	const char *texts[5];

	for (size_t i = 0; i < 5; i++)
		texts[i] = check_field(&fields[i], row, names[i]);
	if (k->ns.data == NULL || strcmp(k->ns.data, texts[4]) != 0) {
		(void)buffer_printf(&k->out, "%s%s\n",
		    k->ns.length > 0 ? "\n" : "", texts[4]);
		buffer_clear(&k->ns);
		(void)buffer_append_text(&k->ns, texts[4]);
	}
	finding_show(&k->out, texts[0], texts[1], texts[2], texts[3]);
	for (size_t i = 0; i < 5; i++)
		buffer_done(&fields[i]);
}

static void
check_sums(struct checking *k, const struct ddblock_row *row)
{
	k->n_warnings = row_number_or(row, "warnings", 0);
	k->n_errors = row_number_or(row, "errors", 0);
	if (k->json) {
		(void)buffer_append_text(&k->out, "\n],\n\"sums\":");
		rows_object(&k->out, row);
		(void)buffer_append_text(&k->out, "}\n");
		return;
	}
	finding_show_sums(&k->out, row_number_or(row, "rows", 0), k->n_errors,
	    k->n_warnings);
}

static void
check_on_row(void *arg, const struct ddblock_row *row, bool final)
{
	struct checking *k = arg;

	check_wipe(k);
	if (final) {
		check_sums(k, row);
	} else if (k->json) {
		(void)buffer_append_text(&k->out,
		    k->n_rows == 0 ? "\n" : ",\n");
		rows_object(&k->out, row);
	} else {
		check_finding(k, row);
	}
	k->n_rows++;
	k->failed = k->failed || buffer_failed(&k->out) != 0;
	(void)fputs(k->out.data == NULL ? "" : k->out.data, stdout);
	buffer_clear(&k->out);
	if (!final)
		check_wait(k);
}

static int
check_ask(struct cli *cli, struct ddblock *d)
{
	struct ddblock_query_options query = DDBLOCK_QUERY_OPTIONS_INIT;
	struct checking k = {
		.json = cli->json,
		.waits = isatty(STDERR_FILENO) == 1 &&
		    isatty(STDOUT_FILENO) == 1 && !cli->json,
	};
	int r;

	buffer_init(&k.ns, CHECK_TEXT_MAX);
	buffer_init(&k.out, 8 * CHECK_TEXT_MAX);
	query.ns = cli->ns;
	if (k.json)
		(void)fputs("{\"findings\":[", stdout);
	check_wait(&k);
	r = ddblock_query(d, DDBLOCK_QUERY_CHECK, &query, check_on_row, &k);
	check_wipe(&k);
	if (r == 0 && k.failed)
		r = DDBLOCK_E_NOMEM;
	buffer_done(&k.ns);
	buffer_done(&k.out);
	if (r < 0)
		return cli_failed(d, "cannot check", r);
	return k.n_errors > 0 ? CHECK_STATUS_ERRORS : 0;
}

struct check_words {
	const char *user, *unit;
};

static bool
check_option(void *arg, enum cli_option option)
{
	struct check_words *words = arg;

	*(option == CLI_OPTION_ACCESS ? &words->user : &words->unit) = optarg;
	return true;
}

int
command_check(struct cli *cli, int argc, char **argv)
{
	struct check_words words = { .user = NULL };
	struct ddblock *d;
	int status = cli_options(cli, argc, argv, check_option, &words);

	if (status != 0)
		return status;
	if (optind < argc)
		return cli_misused(cli, "what is \"%s\"?", argv[optind]);
	if (words.user != NULL)
		return check_access(cli, words.user, words.unit);
	if (words.unit != NULL)
		return cli_misused(cli, "--unit goes with --access");
	status = cli_open(cli, NULL, &d);
	if (status != 0) {
		cli_say("\"ddblockd --check\" looks at the same without a "
		    "daemon that runs");
		return status;
	}
	status = check_ask(cli, d);
	ddblock_close(d);
	return cli_flush(status);
}

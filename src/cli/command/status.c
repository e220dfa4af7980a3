/*
 * ddblock status: the state of the daemon and its stores.
 */
#include <config.h>

#include <stdio.h>

#include "cli/base/rows.h"
#include "cli/command/command.h"
#include "common/buffer.h"

static void
status_field(const struct ddblock_row *row, const char *before,
    const char *name, const char *after)
{
	struct buffer clean;
	size_t length;
	const char *value = ddblock_row_find(row, name, &length);

	if (value == NULL)
		return;
	buffer_init(&clean, 4096);
	(void)cli_clean(&clean, value, length);
	(void)printf("%s%s%s", before, clean.data == NULL ? "" : clean.data,
	    after);
	buffer_done(&clean);
}

/* Its identity at AWS. */
static void
status_credentials(struct buffer *b, const struct ddblock_row *row)
{
	size_t length;

	if (ddblock_row_find(row, "credentials", &length) == NULL)
		return;
	rows_field(b, row, "credentials", "    credentials: ", "");
	rows_field(b, row, "credentials_of", ", ", "");
	rows_field(b, row, "credentials_remaining", ", for another ", "");
	(void)buffer_append_text(b, "\n");
	rows_field(b, row, "credentials_failure", "    ", "\n");
}

/* Is there any of what this field counts? */
static bool
status_has(const struct ddblock_row *row, const char *field)
{
	size_t length;
	const char *n = ddblock_row_find(row, field, &length);

	return n != NULL && !(length == 1 && *n == '0');
}

/* Renewals that were late. */
static void
status_hedges(struct buffer *b, const struct ddblock_row *row)
{
	if (!status_has(row, "hedges"))
		return;
	rows_field(b, row, "hedges", "    ", " late renewals sent twice");
	rows_field(b, row, "hedges_won", ", ",
	    " of them answered by the second\n");
}

/* Records whose tokens went back. */
static void
status_tokens(struct buffer *b, const struct ddblock_row *row)
{
	if (!status_has(row, "tokens_back"))
		return;
	rows_field(b, row, "ns", "", ": ");
	rows_field(b, row, "tokens_back", "", " records had lower tokens than "
	    "before: was the table restored from a\n    backup? \"ddblock "
	    "raise-tokens\" raises them\n");
}

/* Locks that other hosts spoke of. */
static void
status_heard(struct buffer *b, const struct ddblock_row *row)
{
	if (!status_has(row, "hints_heard"))
		return;
	rows_field(b, row, "ns", "", ": ");
	rows_field(b, row, "hints_heard", "", " hints of other hosts");
	rows_field(b, row, "hints_useful", ", by ",
	    " of them a lock changed hands\n");
}

/* The state of a namespace's endpoint. */
static void
status_note(struct buffer *b, const struct ddblock_row *row)
{
	size_t length;

	if (ddblock_row_find(row, "draining", &length) != NULL)
		rows_field(b, row, "ns", "", ": no new locks (drained)\n");
	if (ddblock_row_find(row, "removed", &length) != NULL)
		rows_field(b, row, "ns", "", ": no new locks (it is configured "
		    "no more)\n");
	status_tokens(b, row);
	status_heard(b, row);
	if (ddblock_row_find(row, "succeeded", &length) == NULL)
		return;
	rows_field(b, row, "ns", "", ": ");
	rows_field(b, row, "succeeded", "", " requests succeeded");
	rows_field(b, row, "latency_p50", ", lately half within ", "");
	rows_field(b, row, "latency_p99", " and 99 % within ", "");
	(void)buffer_append_text(b, "\n");
	status_hedges(b, row);
	status_credentials(b, row);
	if (ddblock_row_find(row, "failure", &length) == NULL)
		return;
	rows_field(b, row, "failed", "    ", " failed");
	rows_field(b, row, "failed_ago", ", the last ", " ago: ");
	rows_field(b, row, "failure", "", "\n");
}

/* Datagrams between the daemons of hosts, if they are on. */
static void
status_hints(const struct ddblock_row *row)
{
	size_t length;

	if (ddblock_row_find(row, "hints", &length) == NULL)
		return;
	if (length == 0)
		(void)fputs("hints: none yet, the log says why", stdout);
	status_field(row, length == 0 ? "" : "hints at ", "hints", "");
	status_field(row, ", peers: ", "hints_peers", "");
	status_field(row, ", sent: ", "hints_sent", "");
	status_field(row, ", not sent: ", "hints_unsent", "");
	status_field(row, ", accepted: ", "hints_accepted", "");
	status_field(row, ", late: ", "hints_late", "");
	status_field(row, ", refused: ", "hints_refused", "\n");
}

static void
status_footer(const struct ddblock_row *row)
{
	(void)fputs("\nddblockd", stdout);
	status_field(row, " ", "version", "");
	status_field(row, " on ", "host", "");
	status_field(row, ", pid ", "pid", "");
	status_field(row, ", up ", "uptime", "");
	status_field(row, ", connections: ", "connections", "");
	(void)fputs("\n", stdout);
	status_hints(row);
}

int
command_status(struct cli *cli, int argc, char **argv)
{
	const struct rows_view view = {
		.kind = DDBLOCK_QUERY_STATUS,
		.query = DDBLOCK_QUERY_OPTIONS_INIT,
		.columns = "ns store scope where session state remaining held "
		    "waiting granted lost cause",
		.about = "cannot learn the status",
		.json_array = "namespaces",
		.note = status_note,
		.footer = status_footer,
	};

	if (cli_operands(cli, argc, argv, 0, 0) < 0)
		return CLI_USAGE;
	return rows_print(cli, &view);
}

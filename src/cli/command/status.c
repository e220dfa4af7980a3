/*
 * ddblock status: the state of the daemon and its stores, in lines that fit a
 * terminal of 80 columns: the table has what is compared, and what may be long
 * stands below it.
 */
#include <config.h>

#include <stdio.h>
#include <string.h>

#include "cli/base/rows.h"
#include "cli/command/command.h"
#include "common/buffer.h"
#include "common/finding.h"

#define STATUS_TEXT_MAX 65536
#define STATUS_INDENT 4		/* of the rest of a line, beyond its own */

/* The lines of @text, the long ones in several. */
static void
status_wrap(struct buffer *b, const struct buffer *text)
{
	struct buffer line;
	const char *at = text->data == NULL ? "" : text->data;

	buffer_init(&line, STATUS_TEXT_MAX);
	while (*at != '\0') {
		size_t indent = strspn(at, " ");
		size_t length = strcspn(at, "\n");

		(void)buffer_append(&line, at, length);
		(void)buffer_printf(b, "%*s", (int)indent, "");
		finding_wrap(b, line.data == NULL ? "" : line.data, indent,
		    indent + STATUS_INDENT);
		buffer_clear(&line);
		at += length;
		at += *at == '\n';
	}
	buffer_done(&line);
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
	    "before: was the table restored from a backup? \"ddblock "
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

/* What became of the requests to its endpoint. */
static void
status_endpoint(struct buffer *b, const struct ddblock_row *row)
{
	size_t length;

	if (ddblock_row_find(row, "succeeded", &length) == NULL)
		return;
	rows_field(b, row, "ns", "", ": ");
	rows_field(b, row, "succeeded", "", " requests succeeded");
	/* Else it is how soon they were refused. */
	if (status_has(row, "succeeded")) {
		rows_field(b, row, "latency_p50", ", lately half within ", "");
		rows_field(b, row, "latency_p99", " and 99 % within ", "");
	}
	(void)buffer_append_text(b, "\n");
	status_hedges(b, row);
	status_credentials(b, row);
	if (ddblock_row_find(row, "failure", &length) == NULL)
		return;
	rows_field(b, row, "failed", "    ", " failed");
	rows_field(b, row, "failed_ago", ", the last ", " ago: ");
	rows_field(b, row, "failure", "", "\n");
}

/* What the table has no room for. */
static void
status_note(struct buffer *b, const struct ddblock_row *row)
{
	struct buffer text;
	size_t length;

	buffer_init(&text, STATUS_TEXT_MAX);
	rows_field(&text, row, "ns", "", "");
	rows_field(&text, row, "scope", " (", "): ");
	rows_field(&text, row, "where", "", "\n");
	rows_field(&text, row, "cause", "    its last problem: ", "\n");
	if (ddblock_row_find(row, "draining", &length) != NULL)
		rows_field(&text, row, "ns", "", ": no new locks (drained)\n");
	if (ddblock_row_find(row, "removed", &length) != NULL)
		rows_field(&text, row, "ns", "", ": no new locks (it is "
		    "configured no more)\n");
	status_tokens(&text, row);
	status_heard(&text, row);
	status_endpoint(&text, row);
	status_wrap(b, &text);
	buffer_done(&text);
}

/* Datagrams between the daemons of hosts, if they are on. */
static void
status_hints(struct buffer *b, const struct ddblock_row *row)
{
	size_t length;

	if (ddblock_row_find(row, "hints", &length) == NULL)
		return;
	if (length == 0)
		(void)buffer_append_text(b, "hints: none yet, the log says "
		    "why");
	else
		rows_field(b, row, "hints", "hints at ", "");
	rows_field(b, row, "hints_peers", ", peers: ", "");
	rows_field(b, row, "hints_sent", ", sent: ", "");
	rows_field(b, row, "hints_unsent", ", not sent: ", "");
	rows_field(b, row, "hints_accepted", ", accepted: ", "");
	rows_field(b, row, "hints_late", ", late: ", "");
	rows_field(b, row, "hints_refused", ", refused: ", "\n");
}

static void
status_footer(const struct ddblock_row *row)
{
	struct buffer text, lines;

	buffer_init(&text, STATUS_TEXT_MAX);
	buffer_init(&lines, STATUS_TEXT_MAX);
	(void)buffer_append_text(&text, "ddblockd");
	rows_field(&text, row, "version", " ", "");
	rows_field(&text, row, "host", " on ", "");
	rows_field(&text, row, "pid", ", pid ", "");
	rows_field(&text, row, "uptime", ", up ", "");
	rows_field(&text, row, "connections", ", connections: ", "");
	(void)buffer_append_text(&text, "\n");
	status_hints(&text, row);
	status_wrap(&lines, &text);
	(void)printf("\n%s", lines.data == NULL ? "" : lines.data);
	buffer_done(&text);
	buffer_done(&lines);
}

int
command_status(struct cli *cli, int argc, char **argv)
{
	const struct rows_view view = {
		.kind = DDBLOCK_QUERY_STATUS,
		.query = DDBLOCK_QUERY_OPTIONS_INIT,
		.columns = "ns store session state remaining held waiting "
		    "granted lost",
		.about = "cannot learn the status",
		.json_array = "namespaces",
		.note = status_note,
		.footer = status_footer,
	};

	if (cli_operands(cli, argc, argv, 0, 0) < 0)
		return CLI_USAGE;
	return rows_print(cli, &view);
}

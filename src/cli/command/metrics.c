/*
 * ddblock metrics: what the daemon has counted, as text that Prometheus reads.
 */
#include <config.h>

#include <stdio.h>
#include <unistd.h>

#include "cli/command/command.h"
#include "common/buffer.h"

#define METRICS_LINE_MAX 65536

struct metrics_print {
	bool terminal;
	struct buffer line;	/* fit for it */
};

static void
metrics_on_row(void *arg, const struct ddblock_row *row, bool final)
{
	struct metrics_print *m = arg;
	size_t length;
	const char *text = ddblock_row_find(row, "text", &length);

	if (final || text == NULL)
		return;
	if (m->terminal) {
		buffer_clear(&m->line);
		(void)cli_clean(&m->line, text, length);
		text = m->line.data == NULL ? "" : m->line.data;
		length = m->line.length;
	}
	/* What cannot be written is complained of at the end. */
	(void)fwrite(text, 1, length, stdout);
	(void)putchar('\n');
}

int
command_metrics(struct cli *cli, int argc, char **argv)
{
	struct ddblock_query_options query = DDBLOCK_QUERY_OPTIONS_INIT;
	struct metrics_print m = { .terminal = isatty(STDOUT_FILENO) == 1 };
	struct ddblock *d;
	int status, r;

	if (cli_operands(cli, argc, argv, 0, 0) < 0)
		return CLI_USAGE;
	if (cli->json)
		return cli_misused(cli, "metrics are OpenMetrics text, and not "
		    "JSON");
	status = cli_open(cli, NULL, &d);
	if (status != 0)
		return status;
	buffer_init(&m.line, METRICS_LINE_MAX);
	query.ns = cli->ns;
	r = ddblock_query(d, DDBLOCK_QUERY_METRICS, &query, metrics_on_row, &m);
	if (r < 0)
		status = cli_failed(d, "cannot read the metrics", r);
	buffer_done(&m.line);
	ddblock_close(d);
	return cli_flush(status);
}

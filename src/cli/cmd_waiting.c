/*
 * ddblock waiting: who waits through this daemon.
 */
#include <config.h>

#include "cli/cli.h"
#include "cli/rows.h"

int
cmd_waiting(struct cli *cli, int argc, char **argv)
{
	struct rows_view view = {
		.kind = DDBLOCK_QUERY_WAITING,
		.query = DDBLOCK_QUERY_OPTIONS_INIT,
		.columns = "ns key sort? mode?exclusive limit? ahead waited "
		    "pid uid name owner holders? cause?",
		.about = "cannot list who waits",
		.none = "Nobody waits.",
	};
	int first = cli_operands(cli, argc, argv, 0, 1);

	if (first < 0)
		return CLI_USAGE;
	if (first < argc)
		view.query.key = argv[first];
	view.query.ns = cli->ns;
	view.query.sort = cli->sort;
	return rows_print(cli, &view);
}

/*
 * ddblock held: what is held through this daemon.
 */
#include <config.h>

#include "cli/cli.h"
#include "cli/rows.h"

int
cmd_held(struct cli *cli, int argc, char **argv)
{
	struct rows_view view = {
		.kind = DDBLOCK_QUERY_HELD,
		.query = DDBLOCK_QUERY_OPTIONS_INIT,
		.columns = "id ns key sort? token mode?exclusive limit? "
		    "state held remaining pid uid name",
		.about = "cannot list what is held",
		.none = "Nothing is held.",
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

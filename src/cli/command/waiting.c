/*
 * ddblock waiting: the waiters of this daemon.
 */
#include <config.h>

#include "cli/base/rows.h"
#include "cli/command/command.h"

int
command_waiting(struct cli *cli, int argc, char **argv)
{
	struct rows_view view = {
		.kind = DDBLOCK_QUERY_WAITING,
		.query = DDBLOCK_QUERY_OPTIONS_INIT,
		.columns = "ns key sort? mode?exclusive limit? ahead place? "
		    "waited pid user name owner holders? cause?",
		.about = "cannot list the waiters",
		.none = "No waiters.",
	};


	if (cli_operands(cli, argc, argv, 0, 1) < 0)
		return CLI_USAGE;
	return rows_of_key(cli, argc, argv, &view);
}

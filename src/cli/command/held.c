/*
 * ddblock held: the locks held through this daemon.
 */
#include <config.h>

#include "cli/base/rows.h"
#include "cli/command/command.h"

int
command_held(struct cli *cli, int argc, char **argv)
{
	struct rows_view view = {
		.kind = DDBLOCK_QUERY_HELD,
		.query = DDBLOCK_QUERY_OPTIONS_INIT,
		.columns = "id ns key sort? token mode?exclusive limit? "
		    "state held remaining pid uid name",
		.about = "cannot list the holds",
		.none = "No holds.",
	};

	return rows_of_key(cli, argc, argv, &view);
}

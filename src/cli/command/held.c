/*
 * ddblock held: the locks held through this daemon.
 */
#include <config.h>

#include <string.h>

#include "cli/base/rows.h"
#include "cli/command/command.h"

/* The daemon lists a lost hold until its client has let go. */
static bool
held_is_held(const struct ddblock_row *row)
{
	const char *state = ddblock_row_find(row, "state", NULL);

	return state == NULL || strcmp(state, "lost") != 0;
}

static bool
held_option(void *arg, enum cli_option option)
{
	struct rows_view *view = arg;

	(void)option; /* there is only one */
	view->is_held = held_is_held;
	return true;
}

int
command_held(struct cli *cli, int argc, char **argv)
{
	struct rows_view view = {
		.kind = DDBLOCK_QUERY_HELD,
		.query = DDBLOCK_QUERY_OPTIONS_INIT,
		.columns = "id ns key sort? token mode?exclusive limit? "
		    "state held remaining at_least? owner",
		.about = "cannot list the holds",
		.none = "No holds.",
	};

	int status = cli_options(cli, argc, argv, held_option, &view);

	return status != 0 ? status : rows_of_key(cli, argc, argv, &view);
}

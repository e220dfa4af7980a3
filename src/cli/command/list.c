/*
 * ddblock list: the locks of one or more namespaces, from their stores.
 */
#include <config.h>

#include <string.h>

#include "cli/base/rows.h"
#include "cli/command/command.h"

static bool
list_option(void *arg, enum cli_option option)
{
	struct ddblock_query_options *query = arg;

	*(option == CLI_OPTION_PREFIX ? &query->prefix : &query->state) =
	    optarg;
	return true;
}

int
command_list(struct cli *cli, int argc, char **argv)
{
	struct rows_view view = {
		.kind = DDBLOCK_QUERY_LIST,
		.query = DDBLOCK_QUERY_OPTIONS_INIT,
		.columns = "key sort? state mode?exclusive limit? holders? "
		    "token owner unchanged",
		.sorted = true,
		.about = "cannot list the locks",
		.none = "There are no such locks.",
	};
	int status = cli_options(cli, argc, argv, list_option, &view.query);

	if (status != 0)
		return status;
	if (optind < argc)
		return cli_misused(cli, "what is \"%s\"?", argv[optind]);
	view.query.ns = cli->ns;
	view.query.sort = cli->sort;
	if (cli->ns != NULL && strchr(cli->ns, ',') != NULL)
		view.columns = "ns key sort? state mode?exclusive limit? "
		    "holders? token owner unchanged";
	return rows_print(cli, &view);
}

/*
 * ddblock list: the locks of one or more namespaces, from their stores.
 */
#include <config.h>

#include <string.h>

#include "cli/base/rows.h"
#include "cli/command/command.h"

int
command_list(struct cli *cli, int argc, char **argv)
{
	static const struct option options[] = {
		CLI_COMMON_OPTIONS,
		{ "prefix", required_argument, NULL, 'p' },
		{ "state", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	struct rows_view view = {
		.kind = DDBLOCK_QUERY_LIST,
		.query = DDBLOCK_QUERY_OPTIONS_INIT,
		.columns = "key sort? state mode?exclusive limit? holders? "
		    "token owner unchanged",
		.sorted = true,
		.about = "cannot list the locks",
		.none = "There are no such locks.",
	};
	int option;

	while ((option = cli_getopt(cli, argc, argv, "hv", options)) != -1) {
		if (option == 'p')
			view.query.prefix = optarg;
		else if (option == 's')
			view.query.state = optarg;
		else
			return CLI_USAGE;
	}
	if (optind < argc)
		return cli_misused(cli, "what is \"%s\"?", argv[optind]);
	view.query.ns = cli->ns;
	view.query.sort = cli->sort;
	if (cli->ns != NULL && strchr(cli->ns, ',') != NULL)
		view.columns = "ns key sort? state mode?exclusive limit? "
		    "holders? token owner unchanged";
	return rows_print(cli, &view);
}

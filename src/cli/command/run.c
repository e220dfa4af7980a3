/*
 * ddblock run: a command under a lock, with the conventions of flock(1).
 */
#include <config.h>

#include "cli/command/command.h"
#include "cli/hold/run.h"

static bool
run_on_option(void *arg, enum cli_option option)
{
	struct run *run = arg;

	if (option == CLI_OPTION_REENTRANT)
		return run->request.reentrant = true;
	return run_option(run, option);
}

int
command_run(struct cli *cli, int argc, char **argv)
{
	struct run run = {
		.cli = cli,
		.request = {
			.options = DDBLOCK_ACQUIRE_OPTIONS_INIT,
			.busy_status = 1,
		},
	};
	int status = cli_options(cli, argc, argv, run_on_option, &run);

	if (status == 0)
		status = run_operands(&run, argc, argv);
	if (status == 0)
		status = run_init(&run);
	return status == 0 ? run_once(&run) : status;
}

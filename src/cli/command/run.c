/*
 * ddblock run: a command under a lock, with the conventions of flock(1).
 */
#include <config.h>

#include "cli/command/command.h"
#include "cli/hold/run.h"

static bool
run_option(void *arg, enum cli_option option)
{
	struct run *run = arg;

	switch (option) {
	case CLI_OPTION_REENTRANT:
		run->request.reentrant = true;
		return true;
	case CLI_OPTION_ON_DANGER:
		run->danger_signal = cli_parse_signal(optarg);
		return run->danger_signal != 0;
	default:
		return request_option(&run->request, option);
	}
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
	int status = cli_options(cli, argc, argv, run_option, &run);

	if (status == 0)
		status = run_operands(&run, argc, argv);
	if (status == 0)
		status = run_init(&run);
	return status == 0 ? run_once(&run) : status;
}

/*
 * ddblock run: a command under a lock, with the conventions of flock(1).
 */
#include <config.h>

#include "cli/command/command.h"
#include "cli/hold/run.h"

static bool
run_option(struct run *run, int option)
{
	if (option == 'R')
		return run->request.reentrant = true;
	if (option != 'd')
		return request_option(&run->request, option);
	run->danger_signal = cli_parse_signal(optarg);
	return run->danger_signal != 0;
}

/* 0, or the exit status for a call that makes no sense. */
static int
run_arguments(struct run *run, int argc, char **argv)
{
	static const struct option options[] = {
		CLI_COMMON_OPTIONS,
		REQUEST_OPTIONS,
		{ "on-danger", required_argument, NULL, 'd' },
		{ "reentrant", no_argument, NULL, 'R' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	/* "+": the words after the key are the command's. */
	while ((option = cli_getopt(run->cli, argc, argv,
	    "+hv" REQUEST_SHORT_OPTIONS, options)) != -1) {
		if (option == '?')
			return CLI_USAGE;
		if (!run_option(run, option))
			return cli_bad_value(run->cli, option, options);
	}
	return run_operands(run, argc, argv);
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
	int status = run_arguments(&run, argc, argv);

	if (status != 0)
		return status;
	status = run_init(&run);
	return status == 0 ? run_once(&run) : status;
}

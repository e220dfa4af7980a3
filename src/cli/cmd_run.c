/*
 * ddblock run: a command under a lock, with the conventions of flock(1).
 */
#include <config.h>

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/signals.h"
#include "cli/supervise.h"
#include "cli/wait.h"
#include "common/clock.h"

struct run {
	struct cli *cli;
	struct wait_request request;
	int danger_signal;
	char **argv;		/* of the command */
	struct signals signals;
	struct ddblock *connection;
	uint64_t id;
};

static bool
run_option(struct run *run, int option)
{
	if (option != 'd')
		return wait_option(&run->request, option);
	run->danger_signal = cli_parse_signal(optarg);
	return run->danger_signal != 0;
}

/* 0, or the exit status for a call that makes no sense. */
static int
run_arguments(struct run *run, int argc, char **argv)
{
	static const struct option options[] = {
		CLI_COMMON_OPTIONS,
		WAIT_OPTIONS,
		{ "on-danger", required_argument, NULL, 'd' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	/* "+": what follows the key is the command's. */
	while ((option = cli_getopt(run->cli, argc, argv,
	    "+hv" WAIT_SHORT_OPTIONS, options)) != -1) {
		if (option == '?')
			return CLI_USAGE;
		if (!run_option(run, option))
			return cli_misused(run->cli,
			    "\"%s\" makes no sense there", optarg);
	}
	if (optind == argc)
		return cli_misused(run->cli, "which lock?");
	run->request.key = argv[optind++];
	if (optind < argc && strcmp(argv[optind], "--") == 0)
		optind++;
	if (optind == argc)
		return cli_misused(run->cli, "which command?");
	run->argv = argv + optind;
	return 0;
}

/* A signal while waiting: the command will not run. */
static int
run_on_interrupt(void *arg)
{
	struct run *run = arg;
	int number = signals_next(&run->signals);

	switch (number) {
	case SIGHUP:
	case SIGINT:
	case SIGQUIT:
	case SIGTERM:
	case SIGUSR1:
	case SIGUSR2:
		return CLI_SIGNAL + number;
	case SIGTSTP:
		(void)raise(SIGSTOP);
		return 0;
	default:
		return 0;
	}
}

static int
run_environment(const struct run *run)
{
	char path[PATH_MAX];
	char token[32];

	(void)snprintf(token, sizeof(token), "%llu", (unsigned long long)
	    ddblock_token(run->connection, run->id));
	/* The command may change its directory. */
	if (realpath(ddblock_path(run->connection), path) == NULL)
		(void)snprintf(path, sizeof(path), "%s",
		    ddblock_path(run->connection));
	if (setenv("DDBLOCK_KEY", run->request.key, 1) == 0 &&
	    setenv("DDBLOCK_TOKEN", token, 1) == 0 &&
	    setenv("DDBLOCK_SOCKET", path, 1) == 0)
		return 0;
	cli_say("cannot set the environment: %s", strerror(errno));
	return CLI_FAILED;
}

struct run_answer {
	bool given;
	int code;
};

static void
run_on_released(void *arg, struct ddblock *d,
    const struct ddblock_reply *reply)
{
	struct run_answer *answer = arg;

	(void)d;
	answer->given = true;
	answer->code = reply->code;
}

/*
 * Release, and know that it happened: whoever waits for us to end may rely on
 * it. Not beyond the hold's deadline, and not when told to end.
 */
static int
run_release(struct run *run)
{
	uint64_t until_ms = ddblock_until_boot_ms(run->connection, run->id);
	struct run_answer answer = { .given = false };
	int r = ddblock_release_start(run->connection, run->id,
	    run_on_released, &answer, NULL);

	while (r == 0 && !answer.given) {
		struct pollfd fds[2] = {
			{ .fd = ddblock_fd(run->connection),
			    .events = POLLIN },
			{ .fd = run->signals.fd, .events = POLLIN },
		};
		uint64_t now_ms = clock_boot_ms();
		uint64_t left_ms = until_ms > now_ms ? until_ms - now_ms : 0;

		if (left_ms == 0)
			return DDBLOCK_E_NO_DAEMON;
		if (poll(fds, 2, left_ms > INT_MAX ? INT_MAX :
		    (int)left_ms) < 0 && errno != EINTR)
			return DDBLOCK_E_SYSTEM;
		if (fds[1].revents != 0 && run_on_interrupt(run) != 0)
			return DDBLOCK_E_CANCELLED;
		r = ddblock_dispatch(run->connection);
	}
	return answer.given ? answer.code : r;
}

/* The command ran under the lock; was it its own to the end? */
static int
run_finish(struct run *run, const struct supervise *s, int status)
{
	uint64_t until_ms = ddblock_until_boot_ms(run->connection, run->id);
	int r;

	if (s->lost)
		return status;
	r = run_release(run);
	if (r == 0)
		return status;
	if (s->ended && (r == DDBLOCK_E_LOCK_STOLEN ||
	    s->ended_ms >= until_ms)) {
		cli_say("%s: the lock was lost while the command ran",
		    run->request.key);
		return CLI_LOST;
	}
	cli_say("%s: the lock could not be released (%s); it ends with its "
	    "lease", run->request.key, ddblock_error_text(r));
	return status;
}

static int
run_locked(struct run *run)
{
	struct supervise s = {
		.key = run->request.key,
		.connection = run->connection,
		.id = run->id,
		.signals = &run->signals,
		.danger_signal = run->danger_signal,
	};
	int status = run_environment(run);

	if (status == 0)
		status = supervise_run(&s, run->argv);
	return run_finish(run, &s, status);
}

int
cmd_run(struct cli *cli, int argc, char **argv)
{
	struct run run = {
		.cli = cli,
		.request = { .wait_ms = -1, .busy_status = 1 },
	};
	int status = run_arguments(&run, argc, argv);

	if (status != 0)
		return status;
	if (signals_init(&run.signals) < 0) {
		cli_say("cannot read signals: %s", strerror(errno));
		return CLI_FAILED;
	}
	status = cli_open(cli, NULL, &run.connection);
	if (status != 0)
		return status;
	run.request.interrupt_fd = run.signals.fd;
	run.request.on_interrupt = run_on_interrupt;
	run.request.arg = &run;
	status = wait_for_lock(cli, run.connection, &run.request, &run.id);
	if (run.id != 0)
		status = run_locked(&run);
	ddblock_close(run.connection);
	return status;
}

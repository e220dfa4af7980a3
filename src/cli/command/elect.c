/*
 * ddblock elect: run a command while this is the leader, and stand for election
 * again after a loss.
 *
 * After a short term it pauses, so that a command that fails at once does not
 * run in a tight loop: 1 s, twice as long each time, up to a minute.
 */
#include <config.h>

#include <errno.h>
#include <poll.h>

#include "cli/command/command.h"
#include "cli/hold/run.h"
#include "common/clock.h"

#define ELECT_PAUSE_MS 1000
#define ELECT_PAUSE_MAX_MS 60000

struct elect {
	struct run run;
	bool once;		/* no second campaign */
	bool restart;		/* also when the command ended by itself */
	uint64_t pause_ms;
};

static bool
elect_option(void *arg, enum cli_option option)
{
	struct elect *e = arg;

	switch (option) {
	case CLI_OPTION_ONCE:
		e->once = true;
		return true;
	case CLI_OPTION_RESTART:
		e->restart = true;
		return true;
	default:
		return run_option(&e->run, option);
	}
}

static int
elect_arguments(struct elect *e, int argc, char **argv)
{
	struct run *run = &e->run;
	int status = cli_options(run->cli, argc, argv, elect_option, e);

	if (status != 0)
		return status;
	if (e->once && e->restart)
		return cli_misused(run->cli,
		    "--once and --restart contradict each other");
	return run_operands(run, argc, argv);
}

/* Did the acquire fail for a temporary reason? */
static bool
elect_may_pass(int status)
{
	static const int codes[] = {
		DDBLOCK_E_NO_DAEMON, DDBLOCK_E_SHUTTING_DOWN,
		DDBLOCK_E_UNREACHABLE, DDBLOCK_E_THROTTLED,
	};

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		if (status == ddblock_exit_status(codes[i]))
			return true;
	}
	return false;
}

static bool
elect_goes_on(const struct elect *e, int status)
{
	const struct run *run = &e->run;

	if (e->once || run->told_to_end)
		return false;
	if (run->lost)
		return true;
	return run->id == 0 ? elect_may_pass(status) : e->restart;
}

/* Not 0: a signal came, and that is the exit status. */
static int
elect_pause(struct elect *e, uint64_t term_ms)
{
	uint64_t now_ms = clock_boot_ms();
	uint64_t until_ms;
	int status = 0;

	if (term_ms >= ELECT_PAUSE_MAX_MS || e->pause_ms == 0)
		e->pause_ms = ELECT_PAUSE_MS;
	until_ms = now_ms + e->pause_ms;
	if (e->pause_ms < ELECT_PAUSE_MAX_MS)
		e->pause_ms *= 2;
	for (; status == 0 && now_ms < until_ms; now_ms = clock_boot_ms()) {
		struct pollfd fd = { .fd = e->run.signals.fd,
			.events = POLLIN };

		if (poll(&fd, 1, (int)(until_ms - now_ms)) < 0 &&
		    errno != EINTR)
			return CLI_FAILED;
		if (fd.revents != 0)
			status = run_on_interrupt(&e->run);
	}
	return status;
}

int
command_elect(struct cli *cli, int argc, char **argv)
{
	struct elect e = {
		.run = {
			.cli = cli,
			.request = {
				.options = DDBLOCK_ACQUIRE_OPTIONS_INIT,
				.busy_status = 1,
			},
		},
	};
	int status;

	e.run.request.options.wait_ms = DDBLOCK_WAIT_FOREVER;
	status = elect_arguments(&e, argc, argv);
	if (status == 0)
		status = run_init(&e.run);
	while (status == 0) {
		uint64_t from_ms = clock_boot_ms();

		status = run_once(&e.run);
		if (!elect_goes_on(&e, status))
			return status;
		status = elect_pause(&e, clock_boot_ms() - from_ms);
	}
	return status;
}

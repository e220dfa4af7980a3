/*
 * A program that uses what a lock guards, for the test of a whole fleet.
 *
 *     guard_client [--rounds=N] [--touches=N] [--no-deadline]
 *         [--shared | --limit=N] SOCKET KEY
 *
 * What is guarded is the pipe on standard output, which many processes share:
 * it keeps the order of their lines and knows nothing of tokens. A line is
 * "KEY PID TOKEN WORD AT UNTIL"; `enter` and `touch` use the resource, other
 * words only tell the test how things are (`ask`, `leave`, `left`, `lost`,
 * `pausing`, `end`). AT is the boot time in microseconds, and UNTIL the hold's
 * deadline in milliseconds, as it was known then: what was true of a process
 * that is killed or stopped is in its last line. Who is lost was sure until it
 * looked: AT is the moment before that look.
 *
 * Every use is one small write right after a look at the hold's deadline. No
 * program can make the two one: a process that is stopped exactly between them
 * wakes up and writes, and only fencing tokens help against that. Being slow
 * there is what the margin after the deadline is for; being stopped there for
 * longer is left out of this test on purpose: on SIGUSR1 this program stops
 * itself (SIGSTOP), holding the lock, after one use and before it looks at the
 * deadline for the next.
 *
 * Who shares the lock, with any number or so many, uses it beside others: it
 * says `share` and `keep` instead, which the resource does not judge.
 *
 * --no-deadline is a defect, to show that the test finds it: the loss that
 * this host's clock tells of is ignored.
 */
#include <poll.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "ddblock.h"

#define GUARD_PACE_MS 2
#define GUARD_END_TROUBLE 3	/* the lock or the daemon was lost */

struct guard {
	struct ddblock *connection;
	const char *key;
	unsigned long rounds;	/* 0: until SIGTERM */
	unsigned long touches;	/* of each round; the same */
	bool no_deadline;
	struct ddblock_acquire_options options;
	uint64_t id;
	uint64_t token;
	uint64_t until_ms;
	uint64_t looked_us;
	bool lost;
};

static volatile sig_atomic_t guard_pause;
static volatile sig_atomic_t guard_stop;

static void
guard_on_signal(int number)
{
	if (number == SIGUSR1)
		guard_pause = 1;
	else
		guard_stop = 1;
}

/* One write, which the pipe takes whole. */
static void
guard_write_at(const struct guard *g, const char *word, uint64_t at_us)
{
	char line[200];
	int n = snprintf(line, sizeof(line), "%s %ld %" PRIu64 " %s %" PRIu64
	    " %" PRIu64 "\n", g->key, (long)getpid(), g->token, word, at_us,
	    g->until_ms);

	if (n < 0 || (size_t)n >= sizeof(line) ||
	    write(STDOUT_FILENO, line, (size_t)n) != n)
		exit(EXIT_FAILURE);
}

static void
guard_write(const struct guard *g, const char *word)
{
	guard_write_at(g, word, clock_boot_us());
}

static void
guard_on_event(void *arg, struct ddblock *d, const struct ddblock_event *event)
{
	struct guard *g = arg;

	(void)d;
	if (event->kind != DDBLOCK_EVENT_LOST || event->id != g->id)
		return;
	if (!g->no_deadline || event->loss != DDBLOCK_LOSS_EXPIRED)
		g->lost = true;
}

/* What has come in meanwhile is heard before the deadline is judged. */
static bool
guard_is_held(struct guard *g)
{
	int r;

	g->looked_us = clock_boot_us();
	r = ddblock_dispatch(g->connection);
	if (g->no_deadline)
		return r == 0 && !g->lost;
	if (r != 0 || g->lost ||
	    ddblock_remaining_ms(g->connection, g->id) == 0)
		return false;
	g->until_ms = ddblock_until_boot_ms(g->connection, g->id);
	return true;
}

static void
guard_wait(struct guard *g)
{
	struct pollfd fd = {
		.fd = ddblock_fd(g->connection), .events = POLLIN,
	};

	(void)poll(&fd, 1, GUARD_PACE_MS);
	if (!guard_pause)
		return;
	guard_pause = 0;
	guard_write(g, "pausing");
	(void)raise(SIGSTOP);
}

static void
guard_use(const struct guard *g, const char *word, const char *shared_word)
{
	guard_write(g,
	    g->options.mode == DDBLOCK_SHARED ? shared_word : word);
}

/* Enter, work in small steps, leave. False: the lock was lost. */
static bool
guard_work(struct guard *g)
{
	if (!guard_is_held(g))
		return false;
	guard_use(g, "enter", "share");
	for (unsigned long i = 0; g->touches == 0 || i < g->touches; i++) {
		guard_wait(g);
		if (!guard_is_held(g))
			return false;
		if (guard_stop)
			break;
		guard_use(g, "touch", "keep");
	}
	guard_write(g, "leave");
	return true;
}

static int
guard_round(struct guard *g)
{
	int r;

	g->token = g->until_ms = 0;
	guard_write(g, "ask");
	r = ddblock_acquire(g->connection, g->key, &g->options, &g->id);
	if (r < 0)
		return r;
	g->token = ddblock_token(g->connection, g->id);
	g->lost = false;
	if (!guard_work(g)) {
		guard_write_at(g, "lost", g->looked_us);
		return DDBLOCK_E_LOCK_LOST;
	}
	r = ddblock_release(g->connection, g->id);
	if (r == 0)
		guard_write(g, "left");
	return r;
}

static void
guard_options(struct guard *g, int argc, char **argv)
{
	static const struct option options[] = {
		{ "rounds", required_argument, NULL, 'r' },
		{ "touches", required_argument, NULL, 't' },
		{ "no-deadline", no_argument, NULL, 'd' },
		{ "shared", no_argument, NULL, 's' },
		{ "limit", required_argument, NULL, 'l' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'r')
			g->rounds = strtoul(optarg, NULL, 10);
		else if (c == 't')
			g->touches = strtoul(optarg, NULL, 10);
		else if (c == 'd')
			g->no_deadline = true;
		else if (c == 's' || c == 'l')
			g->options.mode = DDBLOCK_SHARED;
		else
			exit(EXIT_FAILURE);
		if (c == 'l')
			g->options.limit = (uint32_t)strtoul(optarg, NULL, 10);
	}
	if (argc - optind != 2 || strlen(argv[optind + 1]) > 100)
		exit(EXIT_FAILURE);
	g->key = argv[optind + 1];
}

int
main(int argc, char **argv)
{
	struct guard g = {
		.rounds = 1, .touches = 1,
		.options = DDBLOCK_ACQUIRE_OPTIONS_INIT,
	};
	struct sigaction action = { .sa_handler = guard_on_signal };
	int r;

	guard_options(&g, argc, argv);
	(void)sigaction(SIGUSR1, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
	r = ddblock_open(argv[optind], "guard", &g.connection);
	if (r == 0)
		ddblock_on_event(g.connection, guard_on_event, &g);
	for (unsigned long i = 0; r == 0 && !guard_stop &&
	    (g.rounds == 0 || i < g.rounds); i++)
		r = guard_round(&g);
	ddblock_close(g.connection);
	guard_write(&g, "end");
	return r == 0 ? EXIT_SUCCESS : GUARD_END_TROUBLE;
}

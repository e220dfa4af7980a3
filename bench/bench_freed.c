/*
 * From the release of a lock on one host to its grant on another, which waits
 * for it as the next in line: against a poll, and against two bare requests,
 * which is what a release and an acquire cost at least.
 *
 * The holds before it are of random length, up to three polls, and begin when
 * the record shows the line.
 */
#include "bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define FREED_TABLE "ddblock-bench-freed"
#define FREED_KEY "freed/"
#define TURNS 100
#define WARM_TURNS 5
#define POLL_MS 200
#define HOLD_POLLS 3
#define JOIN_MS 30000	/* within that a waiter stands in line */

/* Two hosts with the same settings. */
struct freed_series {
	const char *name;
	const char *daemon;	/* lines of its section, */
	const char *settings;	/* and beside those of all series */
	double poll_max;	/* the median at most, of a poll */
	double bare_max;	/* and of two bare requests; 0: no matter */
	struct daemon holding, waiting;
	struct line_client holder, waiter;
	double us[TURNS];
	struct pairs to_bare;
};

/* What is compared, turn by turn in one run: daemons with other settings are a
 * row here. */
static struct freed_series freed_series[] = {
	{ .name = "freed", .daemon = "", .settings = "", .poll_max = 0.4 },
	{ .name = "hinted", .daemon = "hints = 127.0.0.1:0\n",
	    .settings = "", .poll_max = 0.1, .bare_max = 1.3 },
};

#define N_SERIES (sizeof(freed_series) / sizeof(freed_series[0]))

static void
freed_start_one(const struct freed_series *s, struct daemon *d,
    const char *which)
{
	char name[64], settings[512];

	snprintf(name, sizeof(name), "%s-%s", s->name, which);
	snprintf(settings, sizeof(settings), "store = dynamodb\n"
	    "table = " FREED_TABLE "\npoll = %dms\n%s", POLL_MS, s->settings);
	daemon_start_set(d, name, settings, s->daemon);
}

static void
freed_start(struct freed_series *s)
{
	freed_start_one(s, &s->holding, "holding");
	freed_start_one(s, &s->waiting, "waiting");
	line_open(&s->holder, s->holding.socket);
	line_open(&s->waiter, s->waiting.socket);
	pairs_init(&s->to_bare, TURNS);
}

static void
freed_stop(struct freed_series *s)
{
	pairs_done(&s->to_bare);
	line_close(&s->holder);
	line_close(&s->waiter);
	daemon_stop(&s->holding);
	daemon_stop(&s->waiting);
}

static void
freed_wait_for_line(struct bare_dynamodb *bare, const char *key)
{
	double end_us = now_us() + JOIN_MS * 1000.0;

	while (!bare_dynamodb_has_line(bare, key)) {
		if (now_us() > end_us)
			die("%s: nobody stands in line", key);
		wait_ms(1);
	}
}

static int
freed_hold_ms(void)
{
	static uint32_t dice;

	dice = dice * 1103515245 + 12345;
	return (int)((dice >> 8) % (HOLD_POLLS * POLL_MS + 1));
}

/* How long the waiter waits after the release, in us. */
static double
freed_measure(struct freed_series *s, struct bare_dynamodb *bare, int hold_ms)
{
	char key[64];
	uint64_t id;
	double us;

	snprintf(key, sizeof(key), FREED_KEY "%s", s->name);
	line_send(&s->holder, "ACQUIRE %s\n", key);
	id = line_read_ok(&s->holder);
	line_send(&s->waiter, "ACQUIRE %s\n", key);
	freed_wait_for_line(bare, key);
	wait_ms(hold_ms);
	us = now_us();
	line_send(&s->holder, "RELEASE id=%" PRIu64 "\n", id);
	id = line_read_ok(&s->waiter);
	us = now_us() - us;
	line_read_ok(&s->holder);
	line_send(&s->waiter, "RELEASE id=%" PRIu64 "\n", id);
	line_read_ok(&s->waiter);
	return us;
}

static void
freed_turn(struct freed_series *s, struct bare_dynamodb *bare, int turn,
    int hold_ms)
{
	double us = freed_measure(s, bare, hold_ms), bare_us;

	/* They, too, come after a pause: nothing is warm. */
	wait_ms(hold_ms);
	bare_us = bare_dynamodb_cycle(bare, FREED_KEY "bare");
	if (turn < 0)
		return;
	s->us[turn] = us;
	pairs_add(&s->to_bare, us, bare_us);
}

static void
freed_report(const struct freed_series *s)
{
	char what[64], ours[32], theirs[32];
	double value_ms = median(s->us, TURNS) / 1000;

	snprintf(what, sizeof(what),
	    "%s: release to grant elsewhere, of a poll", s->name);
	snprintf(ours, sizeof(ours), "%.1f ms", value_ms);
	snprintf(theirs, sizeof(theirs), "%d ms", POLL_MS);
	report_row(what, ours, theirs, value_ms / POLL_MS, AT_MOST,
	    s->poll_max);
	value_ms = percentile(s->us, TURNS, 99) / 1000;
	snprintf(ours, sizeof(ours), "%.1f ms", value_ms);
	report_note("the same, p99", ours, theirs, value_ms / POLL_MS);
	if (s->bare_max > 0)
		report_us("  against two bare requests", &s->to_bare, AT_MOST,
		    s->bare_max);
	else
		report_note_us("against two bare requests", &s->to_bare);
}

void
bench_freed(void)
{
	struct bare_dynamodb *bare;

	if (getenv("AWS_ENDPOINT_URL_DYNAMODB") == NULL) {
		report_missed("release to grant elsewhere",
		    "there is no endpoint");
		return;
	}
	init_table(FREED_TABLE);
	bare = bare_dynamodb_open(FREED_TABLE);
	for (size_t i = 0; i < N_SERIES; i++)
		freed_start(&freed_series[i]);
	for (int turn = -WARM_TURNS; turn < TURNS; turn++) {
		int hold_ms = freed_hold_ms();

		for (size_t i = 0; i < N_SERIES; i++)
			freed_turn(&freed_series[i], bare, turn, hold_ms);
	}
	for (size_t i = 0; i < N_SERIES; i++) {
		freed_report(&freed_series[i]);
		freed_stop(&freed_series[i]);
	}
	bare_dynamodb_close(bare);
}

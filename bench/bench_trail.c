/*
 * The cost of the audit trail: locking and releasing at full speed with it,
 * against the same without.
 */
#include "bench.h"

#include <stdio.h>

#define CYCLES 20	/* in a repetition */

static double
trail_measure(struct line_client *c)
{
	double start_us = now_us();

	for (int i = 0; i < CYCLES; i++)
		line_cycle(c, "trail");
	return (now_us() - start_us) / CYCLES;
}

static void
trail_compare(const char *what, const char *name, const char *settings,
    double limit)
{
	struct daemon with, without;
	struct line_client ours, theirs;
	char directory[64];
	struct pairs pairs;

	snprintf(directory, sizeof(directory), "%s-all", name);
	daemon_start_trailed(&with, directory, settings, "all");
	snprintf(directory, sizeof(directory), "%s-no", name);
	daemon_start_trailed(&without, directory, settings, "no");
	line_open(&ours, with.socket);
	line_open(&theirs, without.socket);
	pairs_init(&pairs, BENCH_REPETITIONS);
	trail_measure(&ours);
	trail_measure(&theirs);
	for (int i = 0; i < BENCH_REPETITIONS; i++) {
		double mine = trail_measure(&ours);

		pairs_add(&pairs, mine, trail_measure(&theirs));
	}
	report_us(what, &pairs, AT_MOST, limit);
	pairs_done(&pairs);
	line_close(&ours);
	line_close(&theirs);
	daemon_stop(&with);
	daemon_stop(&without);
}

void
bench_trail(void)
{
	trail_compare("audit trail, memory, lock and release", "trail-memory",
	    "store = memory\n", 1.05);
	trail_compare("audit trail, sqlite, lock and release", "trail-sqlite",
	    "", 1.03);
}

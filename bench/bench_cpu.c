/*
 * Does the work for one lock depend on the number of other locks? The daemon's
 * processor time for locking and releasing fresh keys, with few and with many
 * locks held, and with few and with many connections: several daemons side by
 * side, in turns.
 */
#include "bench.h"

#include <inttypes.h>
#include <stdio.h>

#define SIZES 3
#define CYCLES 20	/* in a repetition */
#define REPETITIONS BENCH_REPETITIONS

struct cpu_bench {
	struct daemon daemons[SIZES];
	struct crowd crowds[SIZES];
	struct line_client clients[SIZES];
	double us[SIZES][REPETITIONS];
	uint64_t serial;
};

static double
cpu_measure(struct cpu_bench *b, int i)
{
	char key[64];
	double start_us = process_cpu_us(b->daemons[i].pid);

	for (int j = 0; j < CYCLES; j++) {
		snprintf(key, sizeof(key), "bench/cpu/%015" PRIu64,
		    b->serial++);
		line_cycle(&b->clients[i], key);
	}
	return (process_cpu_us(b->daemons[i].pid) - start_us) / CYCLES;
}

static void
cpu_report(const struct cpu_bench *b, const char *what)
{
	double us[SIZES];
	char first[32];
	char last[32];

	for (int i = 0; i < SIZES; i++)
		us[i] = median(b->us[i], REPETITIONS);
	snprintf(first, sizeof(first), "%.1f us", us[0]);
	snprintf(last, sizeof(last), "%.1f us", us[SIZES - 1]);
	report_row(what, last, first, us[SIZES - 1] / us[0], AT_MOST, 2);
}

static void
cpu_compare(const char *what, const char *name,
    const size_t connections[SIZES], const size_t locks_each[SIZES])
{
	static struct cpu_bench b;

	for (int i = 0; i < SIZES; i++) {
		char numbered[32];

		snprintf(numbered, sizeof(numbered), "%s-%d", name, i);
		daemon_start(&b.daemons[i], numbered, "");
		crowd_open(&b.crowds[i], b.daemons[i].socket, connections[i]);
		crowd_lock(&b.crowds[i], locks_each[i]);
		crowd_ask(&b.crowds[i], "PING\n");
		line_open(&b.clients[i], b.daemons[i].socket);
		cpu_measure(&b, i);
	}
	for (int j = 0; j < REPETITIONS; j++) {
		for (int i = 0; i < SIZES; i++)
			b.us[i][j] = cpu_measure(&b, i);
	}
	cpu_report(&b, what);
	for (int i = 0; i < SIZES; i++) {
		line_close(&b.clients[i]);
		crowd_close(&b.crowds[i]);
		daemon_stop(&b.daemons[i]);
	}
}

void
bench_cpu(void)
{
	static const size_t connections_same[SIZES] = { 100, 100, 100 };
	static const size_t locks[SIZES] = { 10, 100, 1000 };
	static const size_t connections[SIZES] = { 100, 1000, 10000 };
	static const size_t locks_none[SIZES] = { 0, 0, 0 };

	cpu_compare("CPU of lock + release, 100,000 / 1,000 held", "cpu-locks",
	    connections_same, locks);
	cpu_compare("CPU of the same, 10,000 / 100 connections",
	    "cpu-connections", connections, locks_none);
}

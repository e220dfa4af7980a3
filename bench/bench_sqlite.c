/*
 * The cost of the embedded store: locking and releasing fresh keys, against two
 * bare write transactions in the same directory; by one client, and by many at
 * once, whose writes the store commits together.
 */
#include "bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define CLIENTS 64

struct sqlite_bench {
	struct daemon daemon;
	struct bare_sqlite *bare;
	struct line_client *clients;	/* CLIENTS of them */
	uint64_t serial;	/* every key is new */
};

static double
sqlite_measure_bare(struct sqlite_bench *b)
{
	char key[64];
	double start_us = now_us();

	snprintf(key, sizeof(key), "bench/sqlite/%012" PRIu64, b->serial++);
	bare_sqlite_cycle(b->bare, key);
	return now_us() - start_us;
}

static double
sqlite_measure_one(struct sqlite_bench *b)
{
	char key[64];
	double start_us = now_us();

	snprintf(key, sizeof(key), "bench/sqlite/%012" PRIu64, b->serial++);
	line_cycle(&b->clients[0], key);
	return now_us() - start_us;
}

/* Every client one cycle, all at once; the time of one. */
static double
sqlite_measure_many(struct sqlite_bench *b)
{
	double start_us = now_us();

	for (int i = 0; i < CLIENTS; i++)
		line_send(&b->clients[i], "TRY bench/sqlite/%012" PRIu64 "\n",
		    b->serial++);
	for (int i = 0; i < CLIENTS; i++)
		line_send(&b->clients[i], "RELEASE id=%" PRIu64 "\n",
		    line_read_ok(&b->clients[i]));
	for (int i = 0; i < CLIENTS; i++)
		line_read_ok(&b->clients[i]);
	return (now_us() - start_us) / CLIENTS;
}

/* With a @limit of 0 it is only said, not judged. */
static void
sqlite_compare(struct sqlite_bench *b, const char *what,
    double (*measure)(struct sqlite_bench *), double limit)
{
	struct pairs pairs;

	pairs_init(&pairs, BENCH_REPETITIONS);
	for (int i = 0; i < BENCH_REPETITIONS; i++) {
		double ours = measure(b);

		pairs_add(&pairs, ours, sqlite_measure_bare(b));
	}
	if (limit > 0)
		report_us(what, &pairs, AT_MOST, limit);
	else
		report_note_us(what, &pairs);
	pairs_done(&pairs);
}

static void
sqlite_with(const char *name, const char *settings, const char *one,
    double one_limit, const char *many, double many_limit)
{
	char path[BENCH_PATH_MAX + 32];
	struct sqlite_bench b = { 0 };

	daemon_start(&b.daemon, name, settings);
	snprintf(path, sizeof(path), "%s/bare.db", b.daemon.directory);
	b.bare = bare_sqlite_open(path);
	b.clients = calloc(CLIENTS, sizeof(*b.clients));
	if (b.clients == NULL)
		die("out of memory");
	for (int i = 0; i < CLIENTS; i++)
		line_open(&b.clients[i], b.daemon.socket);
	sqlite_compare(&b, one, sqlite_measure_one, one_limit);
	sqlite_compare(&b, many, sqlite_measure_many, many_limit);
	for (int i = 0; i < CLIENTS; i++)
		line_close(&b.clients[i]);
	free(b.clients);
	bare_sqlite_close(b.bare);
	daemon_stop(&b.daemon);
}

/*
 * A released lock of the embedded store is kept for a moment, in case the next
 * client is near; then it is written together with others. Measured as it
 * comes, and, to be fair, also with that switched off, so that both writes of
 * the cycle are waited for.
 */
void
bench_sqlite(void)
{
	sqlite_with("sqlite", "", "embedded store, lock + release, 1 client",
	    1.5, "embedded store, lock + release, 64 clients", 0.5);
	sqlite_with("sqlite-idle0", "idle = 0\n",
	    "the same with idle = 0, 1 client", 0,
	    "the same with idle = 0, 64 clients", 0);
}

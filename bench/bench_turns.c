/*
 * Hosts that compete for one key: how evenly they get it. Clients of three
 * daemons on one table take and release the same lock all the time; with hints,
 * too. Against the same daemons without the order: no line, and nothing kept
 * between two clients of a host. Then the host gets a free lock whose look came
 * first.
 *
 * A turn is a grant. Both sides take turns of ten seconds, each on a key of its
 * own, and the least even round counts.
 */
#include "bench.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#define TURNS_TABLE "ddblock-bench-turns"
#define HOSTS 3
#define CLIENTS_MAX 3	/* of a host */
#define WARM_MS 2000
#define MEASURE_MS 10000
#define ROUNDS 2

struct turns_client {
	struct line_client line;
	uint64_t *turns;	/* of its host */
	bool holds;
};

/* A fleet with its settings. */
struct turns_series {
	const char *name;
	const char *daemon;	/* lines of its section, */
	const char *settings;	/* and of its namespace */
	struct daemon daemons[HOSTS];
	uint64_t most, fewest;	/* turns of a host, in the least even round */
	uint64_t all;		/* turns in all rounds */
};

static const char turns_store[] = "store = dynamodb\n"
    "table = " TURNS_TABLE "\nrequest_rate = 0\n";

static void
turns_start(struct turns_series *s)
{
	char name[64], settings[512];

	snprintf(settings, sizeof(settings), "%s%s", turns_store, s->settings);
	for (int i = 0; i < HOSTS; i++) {
		snprintf(name, sizeof(name), "turns-%s-%d", s->name, i);
		daemon_start_set(&s->daemons[i], name, settings, s->daemon);
	}
}

/* The answer to what the client has asked. */
static void
turns_go_on(struct turns_client *c, const char *key)
{
	uint64_t id = line_read_ok(&c->line);

	c->holds = !c->holds;
	if (c->holds) {
		(*c->turns)++;
		line_send(&c->line, "RELEASE id=%" PRIu64 "\n", id);
	} else {
		line_send(&c->line, "ACQUIRE %s\n", key);
	}
}

/* Counts the turns of each host. */
static void
turns_compete(struct turns_series *s, size_t clients, const char *key,
    int for_ms, uint64_t counts[HOSTS])
{
	static struct turns_client all[HOSTS * CLIENTS_MAX];
	struct pollfd polls[HOSTS * CLIENTS_MAX];
	const size_t n = HOSTS * clients;
	double end_us;

	for (size_t i = 0; i < n; i++) {
		all[i].turns = &counts[i % HOSTS];
		all[i].holds = false;
		line_open(&all[i].line, s->daemons[i % HOSTS].socket);
		polls[i] = (struct pollfd){ all[i].line.fd, POLLIN, 0 };
	}
	end_us = now_us() + for_ms * 1000.0;
	for (size_t i = 0; i < n; i++)
		line_send(&all[i].line, "ACQUIRE %s\n", key);
	while (now_us() < end_us && poll(polls, (nfds_t)n, 100) >= 0) {
		for (size_t i = 0; i < n; i++) {
			if ((polls[i].revents & POLLIN) != 0)
				turns_go_on(&all[i], key);
		}
	}
	for (size_t i = 0; i < n; i++)
		line_close(&all[i].line);
}

/* A host that had no turn counts as one that had one. */
static double
turns_ratio(uint64_t most, uint64_t fewest)
{
	return (double)most / (double)(fewest > 0 ? fewest : 1);
}

static void
turns_measure(struct turns_series *s, size_t clients, int round)
{
	uint64_t counts[HOSTS] = { 0 }, warm[HOSTS] = { 0 };
	uint64_t most = 0, fewest = UINT64_MAX;
	char key[64];

	/* The Java virtual machine needs a while to be itself. */
	snprintf(key, sizeof(key), "warm-%s-%zu", s->name, clients);
	if (round == 0)
		turns_compete(s, clients, key, WARM_MS, warm);
	snprintf(key, sizeof(key), "turns-%s-%zu-%d", s->name, clients, round);
	turns_compete(s, clients, key, MEASURE_MS, counts);
	for (int i = 0; i < HOSTS; i++) {
		most = counts[i] > most ? counts[i] : most;
		fewest = counts[i] < fewest ? counts[i] : fewest;
		s->all += counts[i];
	}
	if (round == 0 ||
	    turns_ratio(most, fewest) > turns_ratio(s->most, s->fewest)) {
		s->most = most;
		s->fewest = fewest;
	}
}

static void
turns_write_range(char text[32], const struct turns_series *s)
{
	snprintf(text, 32, "%" PRIu64 " to %" PRIu64, s->most, s->fewest);
}

static void
turns_compare(struct turns_series *ours, struct turns_series *theirs,
    size_t clients, const char *what)
{
	char ours_text[32], theirs_text[32];

	ours->all = theirs->all = 0;
	for (int round = 0; round < ROUNDS; round++) {
		turns_measure(ours, clients, round);
		turns_measure(theirs, clients, round);
	}
	turns_write_range(ours_text, ours);
	turns_write_range(theirs_text, theirs);
	report_row(what, ours_text, theirs_text,
	    turns_ratio(ours->most, ours->fewest), AT_MOST, 1.2);
	snprintf(ours_text, sizeof(ours_text), "%" PRIu64,
	    ours->all / ROUNDS);
	snprintf(theirs_text, sizeof(theirs_text), "%" PRIu64,
	    theirs->all / ROUNDS);
	report_note("turns in all, in ten seconds", ours_text, theirs_text,
	    (double)ours->all / (double)theirs->all);
}

static void
turns_stop(struct turns_series *s)
{
	for (int i = 0; i < HOSTS; i++)
		daemon_stop(&s->daemons[i]);
}

void
bench_turns(void)
{
	static struct turns_series ours = {
		.name = "line", .daemon = "", .settings = "",
	};
	static struct turns_series hinted = {
		.name = "hinted", .daemon = "hints = 127.0.0.1:0\n",
		.settings = "",
	};
	static struct turns_series theirs = {
		.name = "no-order", .daemon = "",
		.settings = "line = 0\nidle = 0s\n",
	};

	if (getenv("AWS_ENDPOINT_URL_DYNAMODB") == NULL) {
		report_missed("three hosts on one key", "there is no endpoint");
		return;
	}
	init_table(TURNS_TABLE);
	turns_start(&ours);
	turns_start(&hinted);
	turns_start(&theirs);
	turns_compare(&ours, &theirs, 1,
	    "3 hosts on one key, turns of each");
	turns_compare(&hinted, &theirs, 1, "the same, with hints");
	turns_compare(&ours, &theirs, CLIENTS_MAX,
	    "the same, 3 clients a host");
	turns_compare(&hinted, &theirs, CLIENTS_MAX,
	    "the same, with hints");
	turns_stop(&ours);
	turns_stop(&hinted);
	turns_stop(&theirs);
}

/*
 * The time that the daemon adds to DynamoDB: lock and release through the
 * socket, against the very same two requests, sent directly. Needs an endpoint
 * in the environment (`make bench` starts DynamoDB Local).
 */
#include "bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DYNAMODB_TABLE "ddblock-bench"
#define DYNAMODB_WHAT "DynamoDB Local, lock + release"
#define SEVERAL 10
#define SEVERAL_REPETITIONS 50

struct dynamodb_bench {
	struct daemon daemon;
	struct line_client client;
	struct bare_dynamodb *bare;
	uint64_t serial;
};

static double
dynamodb_measure_bare(struct dynamodb_bench *b)
{
	char key[64];

	snprintf(key, sizeof(key), "bench/dynamodb/%012" PRIu64,
	    b->serial++);
	return bare_dynamodb_cycle(b->bare, key);
}

static double
dynamodb_measure_ours(struct dynamodb_bench *b)
{
	char key[64];
	double start_us = now_us();

	snprintf(key, sizeof(key), "bench/dynamodb/%012" PRIu64,
	    b->serial++);
	line_cycle(&b->client, key);
	return now_us() - start_us;
}

/* How many requests the daemon has sent by now. */
static double
dynamodb_requests(struct dynamodb_bench *b)
{
	static const char name[] = " requests=";
	const char *found;
	double number;

	line_send(&b->client, "STATUS\n");
	found = strstr(line_read(&b->client), name);
	if (found == NULL)
		die("STATUS does not say how many requests there were");
	number = strtod(found + strlen(name), NULL);
	line_read_ok(&b->client);
	return number;
}

static double
dynamodb_several(struct dynamodb_bench *b)
{
	double before = dynamodb_requests(b), after;
	const char *line;
	uint64_t id;

	line_send(&b->client, "ACQUIRE");
	for (int i = 0; i < SEVERAL; i++)
		line_send(&b->client, " bench/%012" PRIu64, b->serial++);
	line_send(&b->client, "\n");
	while ((line = line_read(&b->client))[0] == '+')
		continue;
	if (strncmp(line, "OK id=", 6) != 0)
		die("several locks: %s", line);
	id = strtoull(line + 6, NULL, 10);
	after = dynamodb_requests(b);
	line_send(&b->client, "RELEASE id=%" PRIu64 "\n", id);
	line_read_ok(&b->client);
	return after - before;
}

/* The cost of several locks as one, when they are free. */
static void
dynamodb_report_several(struct dynamodb_bench *b)
{
	double requests[SEVERAL_REPETITIONS];
	double middle;
	char text[32];

	for (int i = 0; i < SEVERAL_REPETITIONS; i++)
		requests[i] = dynamodb_several(b);
	middle = median(requests, SEVERAL_REPETITIONS);
	snprintf(text, sizeof(text), "%.0f", middle);
	report_row("DynamoDB Local, requests for 10 locks as one", text, "",
	    middle, AT_MOST, 2);
}

static void
dynamodb_open(struct dynamodb_bench *b)
{
	init_table(DYNAMODB_TABLE);
	b->bare = bare_dynamodb_open(DYNAMODB_TABLE);
	daemon_start(&b->daemon, "dynamodb", "store = dynamodb\n"
	    "table = " DYNAMODB_TABLE "\nrequest_rate = 0\n");
	line_open(&b->client, b->daemon.socket);
}

void
bench_dynamodb(void)
{
	static struct dynamodb_bench b;
	struct pairs pairs;

	if (getenv("AWS_ENDPOINT_URL_DYNAMODB") == NULL) {
		report_missed(DYNAMODB_WHAT, "there is no endpoint");
		return;
	}
	dynamodb_open(&b);
	/* The Java virtual machine needs a while to be itself. */
	for (int i = 0; i < BENCH_REPETITIONS; i++) {
		dynamodb_measure_ours(&b);
		dynamodb_measure_bare(&b);
	}
	pairs_init(&pairs, BENCH_REPETITIONS);
	for (int i = 0; i < BENCH_REPETITIONS; i++) {
		double ours = dynamodb_measure_ours(&b);

		pairs_add(&pairs, ours, dynamodb_measure_bare(&b));
	}
	report_us(DYNAMODB_WHAT, &pairs, AT_MOST, 1.15);
	pairs_done(&pairs);
	dynamodb_report_several(&b);
	line_close(&b.client);
	daemon_stop(&b.daemon);
	bare_dynamodb_close(b.bare);
}

/*
 * A client that takes the same lock of DynamoDB again and again, and no other
 * host wants it: how many requests that takes, and how long it does against a
 * hand-over between two connections. Each side says RELEASE and ACQUIRE in one
 * write.
 */
#include "bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AGAIN_TABLE "ddblock-bench-again"
#define CYCLES 20	/* in a repetition */
#define REPETITIONS 500

/* Those of its namespace, so far. */
static uint64_t
again_requests(struct line_client *c)
{
	uint64_t n = 0;

	line_send(c, "STATUS\n");
	for (;;) {
		const char *line = line_read(c);
		const char *at = strstr(line, " requests=");

		if (strncmp(line, "OK", 2) == 0)
			return n;
		if (at != NULL)
			n = strtoull(at + strlen(" requests="), NULL, 10);
	}
}

/* From one connection to the other one, or to itself. */
static double
again_measure(struct line_client *const turn[2], const char *key,
    uint64_t *hold)
{
	double start_us = now_us();

	for (int i = 0; i < CYCLES; i++) {
		line_send(turn[i % 2], "RELEASE id=%" PRIu64 "\nACQUIRE %s\n",
		    *hold, key);
		*hold = line_read_grant(turn[1 - i % 2]);
	}
	return (now_us() - start_us) / CYCLES;
}

static uint64_t
again_take(struct line_client *c, const char *key)
{
	line_send(c, "ACQUIRE %s\n", key);
	return line_read_grant(c);
}

void
bench_again(void)
{
	static struct line_client one, two[2], asks;
	struct line_client *const ours[2] = { &one, &one };
	struct line_client *const theirs[2] = { &two[0], &two[1] };
	uint64_t hold, their_hold, requests;
	char text[32];
	struct daemon daemon;
	struct pairs pairs;

	if (getenv("AWS_ENDPOINT_URL_DYNAMODB") == NULL) {
		report_missed("the same lock again", "there is no endpoint");
		return;
	}
	init_table(AGAIN_TABLE);
	daemon_start(&daemon, "again", "store = dynamodb\n"
	    "table = " AGAIN_TABLE "\n");
	line_open(&one, daemon.socket);
	line_open(&asks, daemon.socket);
	for (int i = 0; i < 2; i++)
		line_open(&two[i], daemon.socket);
	hold = again_take(&one, "again");
	for (int i = 0; i < REPETITIONS; i++)
		(void)again_measure(ours, "again", &hold);
	requests = again_requests(&asks);
	for (int i = 0; i < REPETITIONS; i++)
		(void)again_measure(ours, "again", &hold);
	requests = again_requests(&asks) - requests;
	snprintf(text, sizeof(text), "%" PRIu64, requests);
	report_row("10,000 locks and releases of a key, requests for each",
	    text, "", (double)requests / (REPETITIONS * CYCLES), AT_MOST,
	    0.002);

	their_hold = again_take(&two[0], "turn");
	line_send(&two[1], "ACQUIRE turn\nPING\n");
	line_read_ok(&two[1]);
	pairs_init(&pairs, REPETITIONS);
	for (int i = 0; i < REPETITIONS; i++) {
		double us = again_measure(ours, "again", &hold);

		pairs_add(&pairs, us,
		    again_measure(theirs, "turn", &their_hold));
	}
	report_us("the same, against a hand-over", &pairs, AT_MOST, 1.5);
	pairs_done(&pairs);
	line_close(&one);
	line_close(&asks);
	for (int i = 0; i < 2; i++)
		line_close(&two[i]);
	daemon_stop(&daemon);
}

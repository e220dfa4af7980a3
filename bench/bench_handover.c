/*
 * How long a lock takes from one local connection to the next: two
 * connections take turns, each releasing and queueing again in one write.
 */
#include "bench.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GRANTS 20	/* in a repetition */

/* The grant of a waiting ACQUIRE: skips the answers to what came before. */
static uint64_t
handover_wait(struct line_client *c)
{
	for (;;) {
		uint64_t id = line_read_ok(c);

		if (id != 0)
			return id;
	}
}

static double
handover_measure(struct line_client turn[2], uint64_t *hold)
{
	double start_us = now_us();

	for (int i = 0; i < GRANTS; i++) {
		struct line_client *holder = &turn[i % 2];
		struct line_client *next = &turn[(i + 1) % 2];

		line_send(holder, "#r RELEASE id=%" PRIu64 "\n"
		    "#a ACQUIRE turn\n", *hold);
		*hold = handover_wait(next);
	}
	return (now_us() - start_us) / GRANTS;
}

static double
echo_measure(struct line_client *c)
{
	double start_us = now_us();

	for (int i = 0; i < GRANTS; i++) {
		line_send_bytes(c, "PING\n", 5);
		line_read(c);
	}
	return (now_us() - start_us) / GRANTS;
}

void
bench_handover(void)
{
	char path[BENCH_PATH_MAX + 32];
	struct line_client turn[2];
	struct line_client theirs;
	struct daemon daemon;
	struct pairs pairs;
	uint64_t hold;
	pid_t echo;

	snprintf(path, sizeof(path), "%s/echo-handover", bench_directory);
	echo = echo_server_start(path);
	daemon_start(&daemon, "handover", "");
	line_open(&turn[0], daemon.socket);
	line_open(&turn[1], daemon.socket);
	line_open(&theirs, path);

	line_send(&turn[0], "#a ACQUIRE turn\n");
	hold = handover_wait(&turn[0]);
	line_send(&turn[1], "#p PING\n#a ACQUIRE turn\n#p PING\n");
	line_read_ok(&turn[1]);
	line_read_ok(&turn[1]);

	pairs_init(&pairs, BENCH_REPETITIONS);
	handover_measure(turn, &hold);
	echo_measure(&theirs);
	for (int i = 0; i < BENCH_REPETITIONS; i++) {
		double ours = handover_measure(turn, &hold);

		pairs_add(&pairs, ours, echo_measure(&theirs));
	}
	report_us("hand-over between two connections, a grant", &pairs,
	    AT_MOST, 2.5);
	pairs_done(&pairs);
	line_close(&turn[0]);
	line_close(&turn[1]);
	line_close(&theirs);
	daemon_stop(&daemon);
	kill(echo, SIGKILL);
}

/*
 * How long a lock takes from one local connection to the next. For exclusive
 * use, and with a limit of one: two connections take turns, each releasing and
 * queueing again in one write. For shared use: the same, except that neither
 * connection needs to wait for the other.
 */
#include "bench.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GRANTS 20	/* in a repetition */

struct handover {
	const char *use;	/* the arguments of ACQUIRE */
	struct line_client turn[2];
	uint64_t hold;		/* of the next to release */
	uint64_t other;		/* of the other one, if they share it */
};

/* The holder lets the other one have it, and asks again. */
static void
handover_pass(struct handover *h, int turn)
{
	line_send(&h->turn[turn], "#r RELEASE id=%" PRIu64 "\n"
	    "#a ACQUIRE turn%s\n", h->hold, h->use);
	h->hold = line_read_grant(&h->turn[1 - turn]);
}

/* The other one has it too. */
static void
handover_join(struct handover *h, int turn)
{
	uint64_t mine;

	line_send(&h->turn[turn], "#r RELEASE id=%" PRIu64 "\n"
	    "#a ACQUIRE turn%s\n", h->hold, h->use);
	mine = line_read_grant(&h->turn[turn]);
	h->hold = h->other;
	h->other = mine;
}

static double
handover_measure(struct handover *h)
{
	double start_us = now_us();

	for (int i = 0; i < GRANTS; i++) {
		if (h->other != 0)
			handover_join(h, i % 2);
		else
			handover_pass(h, i % 2);
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

static void
handover_compare(const struct daemon *daemon, struct line_client *theirs,
    const char *what, const char *use, bool shared)
{
	struct handover h = { .use = use };
	struct pairs pairs;

	line_open(&h.turn[0], daemon->socket);
	line_open(&h.turn[1], daemon->socket);
	line_send(&h.turn[0], "#a ACQUIRE turn%s\n", use);
	h.hold = line_read_grant(&h.turn[0]);
	line_send(&h.turn[1], "#p PING\n#a ACQUIRE turn%s\n#p PING\n", use);
	line_read_ok(&h.turn[1]);
	h.other = line_read_ok(&h.turn[1]);
	if (shared != (h.other != 0))
		die("the second one %s", shared ? "waits" : "does not wait");
	if (shared)
		line_read_ok(&h.turn[1]);

	pairs_init(&pairs, BENCH_REPETITIONS);
	handover_measure(&h);
	echo_measure(theirs);
	for (int i = 0; i < BENCH_REPETITIONS; i++) {
		double ours = handover_measure(&h);

		pairs_add(&pairs, ours, echo_measure(theirs));
	}
	report_us(what, &pairs, AT_MOST, 2.5);
	pairs_done(&pairs);
	line_close(&h.turn[0]);
	line_close(&h.turn[1]);
}

void
bench_handover(void)
{
	char path[BENCH_PATH_MAX + 32];
	struct line_client theirs;
	struct daemon daemon;
	pid_t echo;

	snprintf(path, sizeof(path), "%s/echo-handover", bench_directory);
	echo = echo_server_start(path);
	daemon_start(&daemon, "handover", "");
	line_open(&theirs, path);
	handover_compare(&daemon, &theirs,
	    "hand-over between two connections, a grant", "", false);
	handover_compare(&daemon, &theirs, "the same of a semaphore's place",
	    " mode=shared limit=1", false);
	handover_compare(&daemon, &theirs, "joining another who shares it",
	    " mode=shared", true);
	line_close(&theirs);
	daemon_stop(&daemon);
	kill(echo, SIGKILL);
}

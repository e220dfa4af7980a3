/*
 * The cost of the socket side by itself: PING against a bare line echo server.
 */
#include "bench.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define PINGS 20	/* one at a time, in a repetition */
#define PIPELINED 100

static double
ping_one_at_a_time(struct line_client *c)
{
	double start_us = now_us();

	for (int i = 0; i < PINGS; i++) {
		line_send_bytes(c, "PING\n", 5);
		line_read(c);
	}
	return (now_us() - start_us) / PINGS;
}

static double
ping_pipelined(struct line_client *c)
{
	static const char ping[] = "PING\n";
	char lines[PIPELINED * (sizeof(ping) - 1)];
	double start_us;

	for (size_t i = 0; i < PIPELINED; i++)
		memcpy(lines + i * (sizeof(ping) - 1), ping, sizeof(ping) - 1);
	start_us = now_us();
	line_send_bytes(c, lines, sizeof(lines));
	for (int i = 0; i < PIPELINED; i++)
		line_read(c);
	return (now_us() - start_us) / PIPELINED;
}

static void
ping_compare(const char *what, struct line_client *daemon,
    struct line_client *echo, double (*measure)(struct line_client *),
    double limit)
{
	struct pairs pairs;

	pairs_init(&pairs, BENCH_REPETITIONS);
	measure(daemon);
	measure(echo);
	for (int i = 0; i < BENCH_REPETITIONS; i++) {
		double ours = measure(daemon);

		pairs_add(&pairs, ours, measure(echo));
	}
	report_us(what, &pairs, AT_LEAST, limit);
	pairs_done(&pairs);
}

void
bench_ping(void)
{
	char path[BENCH_PATH_MAX + 32];
	struct daemon daemon;
	struct line_client ours;
	struct line_client theirs;
	pid_t echo;

	snprintf(path, sizeof(path), "%s/echo-ping", bench_directory);
	echo = echo_server_start(path);
	daemon_start(&daemon, "ping", "");
	line_open(&ours, daemon.socket);
	line_open(&theirs, path);
	ping_compare("PING, one at a time (rate)", &ours, &theirs,
	    ping_one_at_a_time, 0.8);
	ping_compare("PING, 100 pipelined (rate)", &ours, &theirs,
	    ping_pipelined, 0.35);
	line_close(&ours);
	line_close(&theirs);
	daemon_stop(&daemon);
	kill(echo, SIGKILL);
}

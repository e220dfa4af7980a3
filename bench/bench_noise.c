/*
 * What strangers cost who send a daemon datagrams that are no hints: the time
 * of a lock and its release, against a daemon without hints. Both, and the
 * bytes that are sent, are there at the same time; those for the daemon without
 * hints go to a socket that nobody reads.
 */
#include "bench.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hints/hint_format.h"

#define NOISE_TABLE "ddblock-bench-noise"
#define NOISE_KEY "noise"
#define NOISE_PER_MS 10		/* to each of the two */
#define NOISE_BYTES_MAX 9000
#define WARM_CYCLES 50

/* A socket at a port of 127.0.0.1 that was free. */
static int
noise_socket(struct sockaddr_in *ret)
{
	socklen_t size = sizeof(*ret);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	*ret = (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	if (fd < 0 || bind(fd, (struct sockaddr *)ret, size) != 0 ||
	    getsockname(fd, (struct sockaddr *)ret, &size) != 0)
		die("no datagrams");
	return fd;
}

/* The next of: any bytes, a forged head, one of another version, one byte, very
 * many. */
static size_t
noise_make(uint8_t bytes[NOISE_BYTES_MAX], unsigned n)
{
	static const uint8_t marks[2][4] = {
		{ 'd', 'd', 'h', 1 }, { 'd', 'd', 'h', 2 } };
	static const size_t lengths[] = { HINT_BYTES, HINT_BYTES, HINT_BYTES, 1,
		NOISE_BYTES_MAX };

	for (size_t i = 0; i < HINT_BYTES; i++)
		bytes[i] = (uint8_t)lrand48();
	n %= sizeof(lengths) / sizeof(lengths[0]);
	if (n == 1 || n == 2)
		memcpy(bytes, marks[n - 1], sizeof(marks[0]));
	return lengths[n];
}

static void
noise_send_all(int fd, const struct sockaddr_in to[2])
{
	static uint8_t bytes[NOISE_BYTES_MAX];
	unsigned n = 0;

	for (;;) {
		for (int i = 0; i < NOISE_PER_MS; i++, n++) {
			size_t length = noise_make(bytes, n);

			for (int j = 0; j < 2; j++)
				(void)sendto(fd, bytes, length, MSG_DONTWAIT,
				    (const struct sockaddr *)&to[j],
				    sizeof(to[j]));
		}
		wait_ms(1);
	}
}

static double
noise_cycle(struct line_client *c)
{
	double us = now_us();

	line_cycle(c, NOISE_KEY);
	return now_us() - us;
}

void
bench_noise(void)
{
	static struct line_client ours, theirs;
	struct daemon hinted, plain;
	struct sockaddr_in to[2];
	struct pairs pairs;
	char lines[64];
	int fds[2];
	pid_t pid;

	if (getenv("AWS_ENDPOINT_URL_DYNAMODB") == NULL) {
		report_missed("beside strangers' datagrams",
		    "there is no endpoint");
		return;
	}
	init_table(NOISE_TABLE);
	for (int i = 0; i < 2; i++)
		fds[i] = noise_socket(&to[i]);
	close(fds[0]);
	snprintf(lines, sizeof(lines), "hints = 127.0.0.1:%d\n",
	    ntohs(to[0].sin_port));
	/* Nothing is kept: each lock and each release is a request. */
	daemon_start_set(&hinted, "noise-hinted", "store = dynamodb\n"
	    "table = " NOISE_TABLE "\nidle = 0s\nrequest_rate = 0\n", lines);
	daemon_start_set(&plain, "noise-plain", "store = dynamodb\n"
	    "table = " NOISE_TABLE "\nidle = 0s\nrequest_rate = 0\n", "");
	line_open(&ours, hinted.socket);
	line_open(&theirs, plain.socket);
	pid = fork();
	if (pid < 0)
		die("no process");
	if (pid == 0)
		noise_send_all(fds[1], to);
	pairs_init(&pairs, BENCH_REPETITIONS);
	for (int i = -WARM_CYCLES; i < BENCH_REPETITIONS; i++) {
		double us = noise_cycle(&ours), theirs_us;

		theirs_us = noise_cycle(&theirs);
		if (i >= 0)
			pairs_add(&pairs, us, theirs_us);
	}
	(void)kill(pid, SIGKILL);
	report_us("lock + release, 10,000 false hints a second", &pairs,
	    AT_MOST, 1.05);
	pairs_done(&pairs);
	line_close(&ours);
	line_close(&theirs);
	daemon_stop(&hinted);
	daemon_stop(&plain);
	close(fds[1]);
}

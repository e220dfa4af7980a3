/*
 * What a command under a lock costs: ddblock run against flock(1).
 */
#include "bench.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

/* posix_spawn() promises not to change the words, though not in its type. */
static double
run_measure(const char *const argv[])
{
	char *words[8];
	double start_us;
	pid_t pid;
	int r;

	memcpy(words, argv, sizeof(words));
	start_us = now_us();
	r = posix_spawnp(&pid, words[0], NULL, NULL, words, environ);

	if (r != 0)
		die("%s: %s", argv[0], strerror(r));
	process_wait(pid, argv[0]);
	return now_us() - start_us;
}

void
bench_run(void)
{
	char file[BENCH_PATH_MAX + 32];
	const char *ours[8] = { bench_ddblock(), "run", "bench/run", "--",
	    "true" };
	const char *theirs[8] = { "flock", file, "true" };
	struct daemon daemon;
	struct pairs pairs;

	daemon_start(&daemon, "run", "");
	snprintf(file, sizeof(file), "%s/flock", daemon.directory);
	setenv("DDBLOCK_SOCKET", daemon.socket, 1);
	run_measure(ours);
	run_measure(theirs);
	pairs_init(&pairs, BENCH_REPETITIONS);
	for (int i = 0; i < BENCH_REPETITIONS; i++) {
		double our_us = run_measure(ours);

		pairs_add(&pairs, our_us, run_measure(theirs));
	}
	report_us("ddblock run KEY -- true; flock FILE true", &pairs, AT_MOST,
	    1.5);
	pairs_done(&pairs);
	daemon_stop(&daemon);
}

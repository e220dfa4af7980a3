/*
 * Measures what README.md claims, prints the table, and fails when a target
 * is missed.
 *
 *     ddblock-bench DIRECTORY [NAME...]
 *
 * DIRECTORY should be on a real disk; what is written there is left there.
 */
#include "bench.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

static const struct {
	const char *name;
	void (*run)(void);
} benches[] = {
	{ "ping", bench_ping },
	{ "handover", bench_handover },
	{ "sqlite", bench_sqlite },
	{ "run", bench_run },
	{ "memory", bench_memory },
	{ "cpu", bench_cpu },
	{ "list", bench_list },
	{ "watch", bench_watch },
	{ "dynamodb", bench_dynamodb },
};

static bool
is_asked_for(const char *name, int argc, char *const argv[])
{
	for (int i = 2; i < argc; i++) {
		if (strcmp(argv[i], name) == 0)
			return true;
	}
	return argc <= 2;
}

/* Ten thousand connections need as many descriptors, here and there. */
static void
raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		die("getrlimit: %s", strerror(errno));
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < 20000)
		die("20,000 open files must be allowed (ulimit -n)");
}

void
wait_ms(int ms)
{
	while (poll(NULL, 0, ms) < 0 && errno == EINTR)
		continue;
}

int
main(int argc, char *argv[])
{
	if (argc < 2) {
		fprintf(stderr, "usage: %s DIRECTORY [NAME...]\n", argv[0]);
		return 2;
	}
	snprintf(bench_directory, sizeof(bench_directory), "%.80s/XXXXXX",
	    argv[1]);
	(void)mkdir(argv[1], 0700);
	if (mkdtemp(bench_directory) == NULL)
		die("%s: %s", bench_directory, strerror(errno));
	signal(SIGPIPE, SIG_IGN);
	raise_descriptor_limit();
	for (size_t i = 0; i < sizeof(benches) / sizeof(benches[0]); i++) {
		if (is_asked_for(benches[i].name, argc, argv))
			benches[i].run();
	}
	return report_all_met() ? 0 : 1;
}

/*
 * Measures what doc/costs.md claims, prints the table, and fails when a target
 * is missed.
 *
 *     ddblock-bench DIRECTORY [NAME...]
 *     ddblock-bench DIRECTORY strangers [--attack NAME] [--store NAME]
 *         [--json | --markdown]
 *
 * DIRECTORY should be on a real disk; the files written there stay.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define LISTEN_FD 3	/* sd_listen_fds(3) */

/*
 * Where it is turns that are measured, clients and servers share a processor:
 * to wake another one takes up to ten times as long as a turn, and whether that
 * is needed is the scheduler's whim, for each side its own.
 */
static const struct {
	const char *name;
	void (*run)(void);
	bool one_processor;
	bool only_named;	/* it takes long, and needs root */
} benches[] = {
	{ "ping", bench_ping, true, false },
	{ "handover", bench_handover, true, false },
	{ "sqlite", bench_sqlite, false, false },
	{ "run", bench_run, false, false },
	{ "memory", bench_memory, false, false },
	{ "cpu", bench_cpu, false, false },
	{ "list", bench_list, false, false },
	{ "watch", bench_watch, false, false },
	{ "journal", bench_journal, false, false },
	{ "hints", bench_hints, false, false },
	{ "dynamodb", bench_dynamodb, true, false },
	{ "again", bench_again, false, false },
	{ "turns", bench_turns, false, false },
	{ "freed", bench_freed, false, false },
	{ "noise", bench_noise, false, false },
	{ "endpoint", bench_endpoint, false, false },
	{ "hedge", bench_hedge, false, false },
	{ "trail", bench_trail, true, false },
	{ "hop", bench_hop, false, false },
	{ "strangers", bench_strangers, false, true },
};

/* @names: those of the command line, from the second on. */
static bool
is_asked_for(const char *name, bool only_named, char *const names[])
{
	if (names[0] == NULL)
		return !only_named;
	for (; names[0] != NULL; names++) {
		if (strcmp(names[0], name) == 0)
			return true;
	}
	return false;
}

/* Of the strangers. Afterwards the other arguments are the last ones. */
static void
read_options(int argc, char *argv[])
{
	static const struct option options[] = {
		{ "attack", required_argument, NULL, 'a' },
		{ "store", required_argument, NULL, 's' },
		{ "json", no_argument, NULL, 'j' },
		{ "markdown", no_argument, NULL, 'm' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'a')
			strangers_options.attack = optarg;
		else if (c == 's')
			strangers_options.store = optarg;
		else if (c == 'j')
			strangers_options.json = true;
		else if (c == 'm')
			strangers_options.markdown = true;
		else
			exit(2);
	}
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

/* The process that it starts with. */
static void
run_on_one_processor(void (*run)(void))
{
	processors_stay();
	run();
	processors_all();
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
	/* A service of a socket, for restarts.py. */
	if (strcmp(argv[1], "--echo") == 0) {
		(void)fcntl(LISTEN_FD, F_SETFL, O_NONBLOCK);
		echo_server_run(LISTEN_FD);
	}
	if (strcmp(argv[1], "--echo-keep") == 0) {
		raise_descriptor_limit();
		echo_service_run();
	}
	read_options(argc, argv);
	if (optind == argc)
		die("a directory is needed");
	snprintf(bench_directory, sizeof(bench_directory), "%.80s/XXXXXX",
	    argv[optind]);
	(void)mkdir(argv[optind], 0755);
	if (mkdtemp(bench_directory) == NULL)
		die("%s: %s", bench_directory, strerror(errno));
	signal(SIGPIPE, SIG_IGN);
	raise_descriptor_limit();
	for (size_t i = 0; i < sizeof(benches) / sizeof(benches[0]); i++) {
		if (!is_asked_for(benches[i].name, benches[i].only_named,
		    argv + optind + 1))
			continue;
		if (benches[i].one_processor)
			run_on_one_processor(benches[i].run);
		else
			benches[i].run();
	}
	return report_all_met() ? 0 : 1;
}

/*
 * ddblock-judge: judge the histories that real daemons wrote.
 *
 *     ddblock-judge [--lateness=MS] FILE...
 *
 * The status is 0 without a finding, 1 with one, and 2 if the files are not a
 * whole history.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "history.h"

/* How late a timer may fire on a busy machine before that is a finding. */
#define MAIN_LATENESS_MS 1000

static int
main_usage(void)
{
	(void)fprintf(stderr, "usage: ddblock-judge [--lateness=MS] FILE...\n"
	    "Judge the histories of daemons of one machine: a file each, as "
	    "\"log = json\" or\njournalctl -o json writes them.\n");
	return 2;
}

static int
main_read(struct history *h, const char *name)
{
	char text[512];
	FILE *from = fopen(name, "r");
	int r;

	if (from == NULL) {
		perror(name);
		return -1;
	}
	r = history_read(h, from, name, text, sizeof(text));
	(void)fclose(from);
	if (r < 0)
		(void)fprintf(stderr, "ddblock-judge: %s\n", text);
	return r;
}

static int
main_judge(const struct history *h, uint64_t lateness_ms)
{
	struct judge_rules rules = *history_rules(h);
	const struct judge_finding *finding;
	struct judge_counts counts;
	const struct fact *f;
	struct judge *j;
	uint64_t end_ms = 0;
	size_t n = 0;

	rules.lateness_ms = lateness_ms;
	j = judge_new(&rules, history_namespaces(h));
	if (j == NULL)
		return 2;
	while ((f = history_fact(h, n)) != NULL && judge_fact(j, f)) {
		end_ms = f->at_ms;
		n++;
	}
	(void)judge_end(j, end_ms);
	finding = judge_finding(j);
	judge_count(j, &counts);
	printf("%zu facts of %zu lives: %" PRIu64 " grants, %" PRIu64
	    " losses\n", n, history_lives(h), counts.grants, counts.losses);
	if (finding != NULL)
		printf("at %" PRIu64 ": %s: %s\n", finding->at_ms,
		    finding->invariant, finding->text);
	else
		printf("nothing is wrong\n");
	judge_free(j);
	return finding != NULL ? 1 : 0;
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "lateness", required_argument, NULL, 'l' },
		{ NULL, 0, NULL, 0 },
	};
	uint64_t lateness_ms = MAIN_LATENESS_MS;
	struct history *h;
	char text[512];
	int option, status = 0;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option != 'l')
			return main_usage();
		lateness_ms = strtoull(optarg, NULL, 10);
	}
	if (optind == argc)
		return main_usage();
	h = history_new();
	for (int i = optind; h != NULL && status == 0 && i < argc; i++)
		status = main_read(h, argv[i]) < 0 ? 2 : 0;
	if (h == NULL)
		return 2;
	if (status == 0 && history_finish(h, text, sizeof(text)) < 0) {
		(void)fprintf(stderr, "ddblock-judge: %s\n", text);
		status = 2;
	}
	if (status == 0)
		status = main_judge(h, lateness_ms);
	history_free(h);
	return status;
}

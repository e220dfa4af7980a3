/*
 * The effect of sending a late renewal a second time: an endpoint of which one
 * answer in a hundred is 2 s late, and how many renewals were late at the end,
 * against how many had been by their first attempt alone. It is seen from the
 * endpoint, renewal by renewal, so both sides are of the same ones.
 *
 * The heartbeat is short, for the more renewals; half of it, after which an
 * attempt is repeated in any case, is longer than the limit for late.
 */
#include "bench.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define HEARTBEAT_MS 600
#define LATE_MS 2000
#define ONE_IN 100
#define LIMIT_MS 100
#define WARM_MS 15000		/* until each knows when an answer is late */
#define MEASURE_MS 40000

/* A session for each table. */
static void
hedge_start(struct daemon *d, const char *url)
{
	char settings[ENDPOINT_TABLES * 512], name[64] = "";
	size_t length = 0;

	for (int i = 0; i < ENDPOINT_TABLES; i++) {
		if (i > 0)
			snprintf(name, sizeof(name), "%d", i);
		length += (size_t)snprintf(settings + length,
		    sizeof(settings) - length, "%s%s%sstore = dynamodb\n"
		    "table = " ENDPOINT_TABLE "%s\nendpoint = %s\n"
		    "region = us-east-1\naccess_key_id = AKIDEXAMPLE\n"
		    "secret_access_key = secret\nheartbeat = %dms\n",
		    i > 0 ? "[namespace n" : "", name, i > 0 ? "]\n" : "",
		    name, url, HEARTBEAT_MS);
	}
	daemon_start(d, "hedge", settings);
}

void
bench_hedge(void)
{
	struct endpoint_tail *tail = mmap(NULL, sizeof(*tail),
	    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char url[64], ours[64], theirs[64];
	struct daemon daemon;
	pid_t endpoint;

	if (tail == MAP_FAILED)
		die("no shared memory");
	*tail = (struct endpoint_tail){
		.one_in = ONE_IN, .late_ms = LATE_MS, .limit_ms = LIMIT_MS,
	};
	endpoint = endpoint_start(0, tail, url, sizeof(url));
	hedge_start(&daemon, url);
	wait_ms(WARM_MS);
	tail->counting = true;
	wait_ms(MEASURE_MS);
	tail->counting = false;
	if (tail->first_late == 0)
		die("no answer was late");
	snprintf(ours, sizeof(ours), "%" PRIu64, tail->late);
	snprintf(theirs, sizeof(theirs), "%" PRIu64, tail->first_late);
	report_row("1 % of answers 2 s late: renewals > 100 ms", ours, theirs,
	    (double)tail->late / (double)tail->first_late, AT_MOST, 0.2);
	snprintf(ours, sizeof(ours), "%" PRIu64, tail->attempts);
	snprintf(theirs, sizeof(theirs), "%" PRIu64, tail->renewals);
	report_row("requests for that", ours, theirs,
	    (double)tail->attempts / (double)tail->renewals, AT_MOST, 1.05);
	daemon_stop(&daemon);
	kill(endpoint, SIGKILL);
	waitpid(endpoint, NULL, 0);
	munmap(tail, sizeof(*tail));
}

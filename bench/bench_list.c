/*
 * Listing a table of a million locks: the memory that the daemon needs for it
 * beyond its idle memory, with a client that reads as fast as it can and with
 * one that does not; and how long it takes, against the same rows read by
 * SQLite alone. DynamoDB Local has fewer, because it is slow to fill.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_SQLITE 1000000
#define LIST_DYNAMODB 10000
#define LIST_ABOVE_IDLE_MB 20
#define LIST_PAUSE_ROWS 50	/* which the daemon makes in less than 1 ms */
#define LIST_FILL_BATCH 20	/* locks taken before they are released */

/* Read a whole listing; how many rows it had. */
static unsigned long
list_read(struct line_client *c, bool slowly)
{
	unsigned long n = 0;
	const char *line;

	line_send(c, "LIST\n");
	while ((line = line_read(c))[0] == '+') {
		n++;
		if (slowly && n % LIST_PAUSE_ROWS == 0)
			wait_ms(1);
	}
	if (strncmp(line, "OK ", 3) != 0)
		die("a listing ended with: %s", line);
	return n;
}

/* List it all. Returns the time; the peak above @idle_mb goes to the table. */
static double
list_measure(const struct daemon *d, const char *what, unsigned long n_locks,
    bool slowly, double idle_mb)
{
	struct line_client client;
	char text[32];
	double time_us;
	double above_mb;
	unsigned long n;

	line_open(&client, d->socket);
	process_forget_peak(d->pid);
	time_us = -now_us();
	n = list_read(&client, slowly);
	time_us += now_us();
	if (n != n_locks)
		die("a listing of %lu locks had %lu rows", n_locks, n);
	above_mb = process_peak_mb(d->pid) - idle_mb;
	line_close(&client);
	snprintf(text, sizeof(text), "%.1f MB", above_mb);
	report_row(what, text, "", above_mb, AT_MOST, LIST_ABOVE_IDLE_MB);
	return time_us;
}

static void
list_report_rate(const char *what, unsigned long n, double ours_us,
    double theirs_us)
{
	struct pairs pairs;

	pairs_init(&pairs, 1);
	pairs_add(&pairs, ours_us / (double)n, theirs_us / (double)n);
	report_note_us(what, &pairs);
	pairs_done(&pairs);
}

/* A new life, in which it has locked once. Returns its idle memory. */
static double
list_start_again(struct daemon *d)
{
	struct line_client client;

	daemon_start_again(d);
	line_open(&client, d->socket);
	line_cycle(&client, "list/0000000");
	line_close(&client);
	return process_resident_mb(d->pid);
}

static void
list_of_sqlite(void)
{
	char path[BENCH_PATH_MAX + 16];
	struct daemon daemon;
	double idle_mb;
	double ours_us;
	double theirs_us;

	daemon_start(&daemon, "list", "");
	daemon_stop(&daemon);
	snprintf(path, sizeof(path), "%s/default.db", daemon.directory);
	bare_sqlite_fill(path, LIST_SQLITE);
	theirs_us = bare_sqlite_scan(path, LIST_SQLITE);
	idle_mb = list_start_again(&daemon);
	ours_us = list_measure(&daemon, "LIST of 1,000,000 locks, above idle",
	    LIST_SQLITE, false, idle_mb);
	(void)list_measure(&daemon, "  the same, read slowly", LIST_SQLITE,
	    true, idle_mb);
	list_report_rate("  a row of it, against SQLite alone", LIST_SQLITE,
	    ours_us, theirs_us);
	daemon_stop(&daemon);
}

/* Take and release locks: free ones stay in the table. */
static void
list_fill_dynamodb(const struct daemon *d)
{
	static uint64_t ids[LIST_FILL_BATCH];
	struct line_client client;

	line_open(&client, d->socket);
	for (int at = 0; at < LIST_DYNAMODB; at += LIST_FILL_BATCH) {
		for (int i = 0; i < LIST_FILL_BATCH; i++)
			line_send(&client, "TRY list/%07d\n", at + i);
		for (int i = 0; i < LIST_FILL_BATCH; i++)
			ids[i] = line_read_ok(&client);
		for (int i = 0; i < LIST_FILL_BATCH; i++)
			line_send(&client, "RELEASE id=%llu\n",
			    (unsigned long long)ids[i]);
		for (int i = 0; i < LIST_FILL_BATCH; i++)
			(void)line_read_ok(&client);
	}
	line_close(&client);
}

static void
list_of_dynamodb(void)
{
	static const char what[] =
	    "LIST of 10,000 on DynamoDB Local, above idle";
	struct daemon daemon;
	double idle_mb;

	if (getenv("AWS_ENDPOINT_URL_DYNAMODB") == NULL) {
		report_missed(what, "there is no endpoint");
		return;
	}
	init_table("ddblock-bench-list");
	daemon_start(&daemon, "list-dynamodb", "store = dynamodb\n"
	    "table = ddblock-bench-list\nlist_capacity = 0\n");
	list_fill_dynamodb(&daemon);
	daemon_stop(&daemon);
	idle_mb = list_start_again(&daemon);
	(void)list_measure(&daemon, what, LIST_DYNAMODB, false, idle_mb);
	daemon_stop(&daemon);
}

void
bench_list(void)
{
	list_of_sqlite();
	list_of_dynamodb();
}

/*
 * The cost of a journal: what it adds to a lock and its release, how large it
 * is, and how long a daemon takes to go on from it.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/journal.h"

#define CYCLES 20	/* in a repetition */
#define CONNECTIONS 100
#define LOCKS_EACH 1000
#define KEY_LENGTH 30	/* of a crowd's */
#define TAKEOVERS 9
#define FILE_HEAD 64	/* before the journal (journal_file.c) */

/* Where a service manager has it, too: in memory. */
static char journal_directory[64];

static void
journal_path(char ret[BENCH_PATH_MAX], const char *name)
{
	snprintf(ret, BENCH_PATH_MAX, "%s/%s", journal_directory, name);
}

static void
journal_remove(const char *name)
{
	char path[BENCH_PATH_MAX], beside[BENCH_PATH_MAX + 8];

	journal_path(path, name);
	snprintf(beside, sizeof(beside), "%s.new", path);
	(void)unlink(path);
	(void)unlink(beside);
}

/* ---- a lock and its release --------------------------------------------- */

struct journal_side {
	struct manager manager;
	struct daemon daemon;
	struct line_client client;
};

static void
journal_side_start(struct journal_side *side, const char *name,
    const char *journal)
{
	manager_open(&side->manager);
	daemon_start_kept(&side->daemon, name, "", &side->manager, journal);
	line_open(&side->client, side->daemon.socket);
	line_send(&side->client, "HELLO\n");
	line_read_ok(&side->client);
	manager_read(&side->manager);
}

static void
journal_side_stop(struct journal_side *side)
{
	line_close(&side->client);
	daemon_stop(&side->daemon);
	manager_close(&side->manager);
}

static double
journal_measure(struct journal_side *side, bool fresh, uint64_t *serial)
{
	double start_us = process_cpu_us(side->daemon.pid);
	char key[64];

	for (int i = 0; i < CYCLES; i++) {
		snprintf(key, sizeof(key), "bench/journal/%015" PRIu64,
		    fresh ? (*serial)++ : 0);
		line_cycle(&side->client, key);
	}
	return (process_cpu_us(side->daemon.pid) - start_us) / CYCLES;
}

static void
journal_compare(struct journal_side *with, struct journal_side *without,
    const char *what, bool fresh, double limit)
{
	uint64_t serial = 1;
	struct pairs pairs;
	char ours[32], theirs[32];

	pairs_init(&pairs, BENCH_REPETITIONS);
	for (int i = 0; i < BENCH_REPETITIONS; i++) {
		/* The second pays for the caches that the first one cooled. */
		const bool first = i % 2 == 0;
		double us[2];

		us[0] = journal_measure(first ? with : without, fresh,
		    &serial);
		us[1] = journal_measure(first ? without : with, fresh,
		    &serial);
		pairs_add(&pairs, us[!first], us[first]);
	}
	snprintf(ours, sizeof(ours), "%.2f us", median(pairs.ours,
	    pairs.count));
	snprintf(theirs, sizeof(theirs), "%.2f us", median(pairs.theirs,
	    pairs.count));
	report_row(what, ours, theirs, pairs_median_ratio(&pairs), AT_MOST,
	    limit);
	pairs_done(&pairs);
}

static void
journal_of_cycles(void)
{
	static struct journal_side with, without;
	char path[BENCH_PATH_MAX];

	journal_path(path, "cycles");
	journal_side_start(&with, "journal-with", path);
	journal_side_start(&without, "journal-without", "no");
	journal_compare(&with, &without,
	    "journal, CPU of lock + release, fresh keys", true, 1.08);
	journal_compare(&with, &without,
	    "the same key again, which is kept idle", false,
	    1.15);
	journal_side_stop(&with);
	journal_side_stop(&without);
	journal_remove("cycles");
}

/* ---- many holds ---------------------------------------------------------- */

/* All of it that is in use, with what was over and is to be used again. */
static double
journal_bytes(const char *path)
{
	struct journal_entry e = { .place = 0 };
	size_t used = 0;
	struct stat st;
	uint8_t *memory;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) != 0)
		die("%s: %s", path, strerror(errno));
	memory = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		die("%s: %s", path, strerror(errno));
	while (journal_read(memory + FILE_HEAD,
	    (size_t)st.st_size - FILE_HEAD, &e))
		used = e.place + e.length;
	munmap(memory, (size_t)st.st_size);
	close(fd);
	return (double)used;
}

static void
journal_report_bytes(const char *what, const char *path)
{
	double value = journal_bytes(path) / (CONNECTIONS * LOCKS_EACH) -
	    KEY_LENGTH;
	char text[32];

	snprintf(text, sizeof(text), "%.0f", value);
	report_row(what, text, "", value, AT_MOST, 200);
}

/* From the exec to READY=1; @ret_cpu_us: the daemon's processor time. */
static double
journal_start_us(struct daemon *d, double *ret_cpu_us)
{
	double start_us = now_us();

	daemon_start_again(d);
	*ret_cpu_us = process_cpu_us(d->pid);
	return now_us() - start_us;
}

/* A new lock is granted when the session is proven. Without that it would be
 * over in a lease, after some restarts. */
static void
journal_prove(const struct daemon *d)
{
	struct line_client client;

	line_open(&client, d->socket);
	line_cycle(&client, "bench/journal/proof");
	line_close(&client);
}

static void
journal_take_over(const char *what, struct daemon *d, struct daemon *empty)
{
	struct pairs times, cpu;
	char ours[32], theirs[32];
	double value;

	pairs_init(&times, TAKEOVERS);
	pairs_init(&cpu, TAKEOVERS);
	for (int i = 0; i < TAKEOVERS; i++) {
		double us[2], cpu_us[2];

		daemon_kill(d);
		daemon_kill(empty);
		us[0] = journal_start_us(d, &cpu_us[0]);
		us[1] = journal_start_us(empty, &cpu_us[1]);
		pairs_add(&times, us[0], us[1]);
		pairs_add(&cpu, cpu_us[0], cpu_us[1]);
		journal_prove(d);
	}
	value = median(times.ours, times.count) / 1000;
	snprintf(ours, sizeof(ours), "%.0f ms", value);
	snprintf(theirs, sizeof(theirs), "%.0f ms",
	    median(times.theirs, times.count) / 1000);
	report_row(what, ours, theirs, value, AT_MOST, 300);
	report_note_us("  the processor's time of that", &cpu);
	pairs_done(&times);
	pairs_done(&cpu);
}

/* @hello: what each connection says first. */
static void
journal_of_holds(const char *name, const char *hello, const char *bytes,
    const char *takeover)
{
	char path[BENCH_PATH_MAX];
	char empty_name[64], empty_path[BENCH_PATH_MAX];
	struct manager manager, empty_manager;
	struct daemon daemon, empty;
	struct crowd crowd;

	journal_path(path, name);
	snprintf(empty_name, sizeof(empty_name), "%s-empty", name);
	journal_path(empty_path, empty_name);
	manager_open(&manager);
	manager_open(&empty_manager);
	daemon_start_kept(&daemon, name, "", &manager, path);
	daemon_start_kept(&empty, empty_name, "", &empty_manager, empty_path);
	crowd_open(&crowd, daemon.socket, CONNECTIONS);
	crowd_ask(&crowd, hello);
	manager_read(&manager);
	crowd_lock(&crowd, LOCKS_EACH);
	manager_read(&manager);
	journal_report_bytes(bytes, path);
	journal_take_over(takeover, &daemon, &empty);
	crowd_ask(&crowd, "PING\n");
	crowd_close(&crowd);
	daemon_kill(&daemon);
	daemon_kill(&empty);
	manager_close(&manager);
	manager_close(&empty_manager);
	journal_remove(name);
	journal_remove(empty_name);
}

void
bench_journal(void)
{
	snprintf(journal_directory, sizeof(journal_directory),
	    "/dev/shm/ddblock-bench-XXXXXX");
	if (mkdtemp(journal_directory) == NULL)
		die("%s: %s", journal_directory, strerror(errno));
	processors_stay();
	journal_of_cycles();
	processors_all();
	journal_of_holds("journal-holds", "HELLO\n",
	    "journal, bytes of a hold besides its key",
	    "100,000 holds taken over; an empty start");
	journal_of_holds("journal-resumed", "HELLO resume=yes\n",
	    "the same of one that may be resumed",
	    "the same of holds that may be resumed");
	(void)rmdir(journal_directory);
}

/*
 * What the benches share. Each bench measures ddblockd and something that a
 * reader knows, alternating between the two within one run, so that other load
 * of the machine hits both; the ratio counts.
 */
#ifndef DDBLOCKD_BENCH_BENCH_H
#define DDBLOCKD_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BENCH_REPETITIONS 1000
#define BENCH_LINE_MAX 4096
#define BENCH_PATH_MAX 1024

/* ---- measure.c: times, processes, medians ---- */

/* What two alternating sides took; the same index is the same repetition. */
struct pairs {
	double *ours;
	double *theirs;
	size_t count;
	size_t count_max;
};

void pairs_init(struct pairs *, size_t count_max);
void pairs_add(struct pairs *, double ours, double theirs);
void pairs_done(struct pairs *);
double pairs_median_ratio(const struct pairs *);	/* ours / theirs */

double median(const double *values, size_t count);
double percentile(const double *values, size_t count, unsigned percent);

double now_us(void);
double process_cpu_us(pid_t);	/* of all its threads, so far */
double process_resident_mb(pid_t);
double process_peak_mb(pid_t);	/* resident, since it was forgotten: */
void process_forget_peak(pid_t);

void wait_ms(int ms);

/* End the bench: it could not measure. */
void die(const char *format, ...)
    __attribute__((format(printf, 1, 2), noreturn));

/*
 * ---- processors.c: where to run; children inherit it ----
 *
 * On one processor, or on all but the last, which a process is then given to
 * itself; until processors_all().
 */
void processors_stay(void);
/* On the first; returns false if there is only one. */
bool processors_take_first(void);
void processors_leave_last(void);
void processors_take_last(pid_t);
void processors_all(void);

/* ---- report.c: the table ---- */

enum target { AT_MOST, AT_LEAST };

/* One line. @ours and @theirs are texts such as "12.3 us" (may be ""). */
void report_row(const char *what, const char *ours, const char *theirs,
    double value, enum target, double limit);
void report_us(const char *what, const struct pairs *, enum target,
    double limit);
/* A line that has no target. */
void report_note(const char *what, const char *ours, const char *theirs,
    double value);
void report_note_us(const char *what, const struct pairs *);
void report_missed(const char *what, const char *why);
/* A target that another table shows as missed. */
void report_miss(void);
bool report_all_met(void);

/* ---- peer.c: processes at the other end of a socket ---- */

/* A directory of the bench's own, and the programs under test. */
extern char bench_directory[BENCH_PATH_MAX];
const char *bench_ddblock(void);

/* A ddblockd with a directory of its own in bench_directory. */
struct daemon {
	pid_t pid;
	struct manager *manager;	/* that starts it; or NULL */
	const char *journal;		/* the setting; or NULL */
	const char *trail;		/* the same, with its log; or NULL */
	const char *limits;		/* lines for [daemon] */
	char directory[BENCH_PATH_MAX];
	char socket[BENCH_PATH_MAX];
};

/* @settings: lines for [namespace default]. Returns when it is ready. */
void daemon_start(struct daemon *, const char *name, const char *settings);
/* With this audit_trail, in its log. */
void daemon_start_trailed(struct daemon *, const char *name,
    const char *settings, const char *trail);
/* With a service manager that keeps its connections, and a journal at this path
 * ("no": without). */
void daemon_start_kept(struct daemon *, const char *name,
    const char *settings, struct manager *, const char *journal);
/* With these lines in its own section. */
void daemon_start_set(struct daemon *, const char *name, const char *settings,
    const char *lines);
/* With the default limits and log, and a socket for all users. */
void daemon_start_public(struct daemon *, const char *name,
    const char *settings);
void daemon_stop(struct daemon *);
void daemon_kill(struct daemon *);
/* Remove the files of one that has ended. */
void daemon_remove(struct daemon *);
/* A daemon that was stopped, with its state. */
void daemon_start_again(struct daemon *);
/* Make a table in DynamoDB, at the endpoint of the environment. */
void init_table(const char *table);

/* Wait for the end of a process that must end with status 0. */
void process_wait(pid_t, const char *what);

/* A bare libevent line echo server on a socket at @path. */
pid_t echo_server_start(const char *path);
/* The same, in this process, on a socket that listens. */
void echo_server_run(int fd) __attribute__((noreturn));

/* ---- echo_service.c: a service that keeps its connections ---- */

void echo_service_run(void) __attribute__((noreturn));

/* ---- manager.c: as much of a service manager as a daemon needs ---- */

struct manager {
	int fd;			/* notices come here */
	char address[64];	/* for NOTIFY_SOCKET */
	struct manager_kept *kept;	/* the daemon's descriptors */
	size_t n_kept;
};

void manager_open(struct manager *);
void manager_close(struct manager *);
/* Read what the daemon has sent. */
void manager_read(struct manager *);
/* Until READY=1. */
void manager_wait_ready(struct manager *, const char *directory);
/* In the process that will be the daemon. */
void manager_hand_over(struct manager *);

/* ---- endpoint.c: DynamoDB's model behind HTTP ---- */

#define ENDPOINT_TABLE "bench"
#define ENDPOINT_TABLES 40	/* of an endpoint with a tail: "bench1", ... */

/*
 * Renewals when some answers are late, in memory that is shared with the
 * endpoint. A renewal begins with its first attempt, and ends with the first
 * answer to any attempt.
 */
struct endpoint_tail {
	uint32_t one_in;	/* so many answers, one is late, by chance: */
	uint32_t late_ms;
	uint32_t limit_ms;	/* a renewal that takes longer is late */
	volatile bool counting;
	uint64_t renewals;	/* that ended */
	uint64_t attempts;	/* at them */
	uint64_t first_late;	/* whose first attempt was answered late, or
				 * would have been */
	uint64_t late;		/* all attempts of which were */
};

/* A process; kill it. Each answer comes after @delay_ms. @tail: NULL, or
 * shared memory. */
pid_t endpoint_start(int delay_ms, struct endpoint_tail *tail, char *ret_url,
    size_t url_size);

/* ---- line.c: a blocking client that speaks lines ---- */

struct line_client {
	int fd;
	size_t start;
	size_t end;
	char buffer[1 << 16];
};

void line_open(struct line_client *, const char *path);
void line_close(struct line_client *);
void line_send(struct line_client *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void line_send_bytes(struct line_client *, const char *, size_t length);
/* The next line without its LF, valid until the next call. */
const char *line_read(struct line_client *);
const char *line_read_or_end(struct line_client *);	/* NULL at the end */
/* The next line, which must be an OK; returns its id=, or 0. */
uint64_t line_read_ok(struct line_client *);
/* The grant of a waiting ACQUIRE: skips the answers to what came before. */
uint64_t line_read_grant(struct line_client *);
/* Lock and release a key. */
void line_cycle(struct line_client *, const char *key);

/* ---- crowd.c: many connections, many locks held by them ---- */

struct crowd {
	int *fds;
	size_t count;
};

void crowd_open(struct crowd *, const char *path, size_t connections);
void crowd_lock(struct crowd *, size_t locks);	/* of each connection */
void crowd_ask(struct crowd *, const char *request);	/* one OK each */
void crowd_close(struct crowd *);

/* ---- the benches ---- */

void bench_ping(void);
void bench_handover(void);
void bench_sqlite(void);
void bench_run(void);
void bench_memory(void);
void bench_cpu(void);
void bench_dynamodb(void);
void bench_turns(void);
void bench_again(void);
void bench_freed(void);
void bench_noise(void);
void bench_endpoint(void);
void bench_hedge(void);
void bench_trail(void);
void bench_hop(void);
void bench_list(void);
void bench_watch(void);
void bench_journal(void);
void bench_hints(void);
void bench_strangers(void);

/* What the command line says of it. */
struct strangers_options {
	const char *attack;	/* only this one; or NULL */
	const char *store;	/* only this one; or NULL */
	bool json;		/* a line for each attack */
	bool markdown;
};
extern struct strangers_options strangers_options;

/* bare_dynamodb.c: two conditional writes, and nothing else. */
struct bare_dynamodb;
struct bare_dynamodb *bare_dynamodb_open(const char *table);
/* Of this free lock: how many microseconds they took. */
double bare_dynamodb_cycle(struct bare_dynamodb *, const char *key);
/* Does a host stand in the line of this lock? */
bool bare_dynamodb_has_line(struct bare_dynamodb *, const char *key);
void bare_dynamodb_close(struct bare_dynamodb *);

/* bare_sqlite.c: two write transactions, and nothing else. */
struct bare_sqlite;
struct bare_sqlite *bare_sqlite_open(const char *path);
void bare_sqlite_cycle(struct bare_sqlite *, const char *key);
void bare_sqlite_close(struct bare_sqlite *);
/* Put free locks into the embedded store's file; and read them all, which takes
 * so many microseconds. */
void bare_sqlite_fill(const char *path, int n_locks);
double bare_sqlite_scan(const char *path, int n_locks);

#endif

/*
 * The cost of telling many watchers of a change: the daemon's processor time
 * for one change of a lock that they all watch, against that of a process which
 * only writes the same line to as many sockets.
 */
#include "bench.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define WATCHERS 10000
#define CHANGES 100

/* The ends that only write and read; each does it once for each byte told. */
struct bare {
	pid_t writer;
	pid_t reader;
	int tell_writer;
	int tell_reader;
	int told;		/* a byte, when all have read */
};

/* One line from each; they come whole. */
static void
watch_read_all(const struct crowd *c)
{
	char line[BENCH_LINE_MAX];

	for (size_t i = 0; i < c->count; i++) {
		ssize_t n;

		do {
			n = read(c->fds[i], line, sizeof(line));
		} while (n < 0 && errno == EINTR);
		if (n <= 0 || line[n - 1] != '\n')
			die("watcher %zu has not read a line", i);
	}
}

static void
watch_pass(int fd, bool tell)
{
	char byte = 0;

	if ((tell ? write(fd, &byte, 1) : read(fd, &byte, 1)) != 1)
		die("a process of the bench is gone");
}

static pid_t
watch_fork(void)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (pid == 0)
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static void
bare_write(const char *line, int listener, int told)
{
	static int fds[WATCHERS];
	size_t length = strlen(line);

	for (int i = 0; i < WATCHERS; i++) {
		fds[i] = accept(listener, NULL, NULL);
		if (fds[i] < 0)
			die("accept: %s", strerror(errno));
	}
	for (;;) {
		watch_pass(told, false);
		for (int i = 0; i < WATCHERS; i++) {
			if (write(fds[i], line, length) != (ssize_t)length)
				die("write: %s", strerror(errno));
		}
	}
}

static void
bare_read(const char *path, int told, int tell)
{
	struct crowd crowd;

	crowd_open(&crowd, path, WATCHERS);
	watch_pass(tell, true);
	for (;;) {
		watch_pass(told, false);
		watch_read_all(&crowd);
		watch_pass(tell, true);
	}
}

/* Returns when all are connected. Before there is a crowd of ours, which they
 * would inherit. */
static void
bare_start(struct bare *b, const char *line)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int writer[2], reader[2], told[2];

	snprintf(address.sun_path, sizeof(address.sun_path), "%.90s/bare",
	    bench_directory);
	if (listener < 0 || bind(listener, (struct sockaddr *)&address,
	    sizeof(address)) != 0 || listen(listener, 128) != 0 ||
	    pipe(writer) != 0 || pipe(reader) != 0 || pipe(told) != 0)
		die("%s: %s", address.sun_path, strerror(errno));
	b->writer = watch_fork();
	if (b->writer == 0)
		bare_write(line, listener, writer[0]);
	b->reader = watch_fork();
	if (b->reader == 0)
		bare_read(address.sun_path, reader[0], told[1]);
	b->tell_writer = writer[1];
	b->tell_reader = reader[1];
	b->told = told[0];
	(void)close(listener);
	(void)close(writer[0]);
	(void)close(reader[0]);
	(void)close(told[1]);
	watch_pass(b->told, false);
}

static void
bare_stop(const struct bare *b)
{
	kill(b->writer, SIGKILL);
	kill(b->reader, SIGKILL);
	(void)close(b->tell_writer);
	(void)close(b->tell_reader);
	(void)close(b->told);
}

static double
bare_measure(const struct bare *b)
{
	double start_us = process_cpu_us(b->writer);

	watch_pass(b->tell_reader, true);
	watch_pass(b->tell_writer, true);
	watch_pass(b->told, false);
	return process_cpu_us(b->writer) - start_us;
}

/* The lock is acquired, and all are told; then it is free again. */
static double
watch_measure(const struct daemon *d, struct line_client *holder,
    const struct crowd *watchers)
{
	double start_us = process_cpu_us(d->pid), us;

	line_send(holder, "TRY bench/leader\n");
	watch_read_all(watchers);
	us = process_cpu_us(d->pid) - start_us;
	line_send(holder, "RELEASE id=%llu\n",
	    (unsigned long long)line_read_ok(holder));
	(void)line_read_ok(holder);
	watch_read_all(watchers);
	return us;
}

/* The line that each watcher is told. */
static void
watch_line(const struct daemon *d, struct line_client *holder,
    char line[BENCH_LINE_MAX])
{
	struct line_client *one = calloc(1, sizeof(*one));

	if (one == NULL)
		die("out of memory");
	line_open(one, d->socket);
	line_send(one, "WATCH bench/leader\n");
	(void)line_read_ok(one);
	line_cycle(holder, "bench/leader");
	snprintf(line, BENCH_LINE_MAX, "%s\n", line_read(one));
	line_close(one);
	free(one);
}

void
bench_watch(void)
{
	struct line_client holder;
	struct daemon daemon;
	struct crowd watchers;
	struct pairs pairs;
	struct bare bare;
	char line[BENCH_LINE_MAX];

	daemon_start(&daemon, "watch", "");
	line_open(&holder, daemon.socket);
	watch_line(&daemon, &holder, line);
	bare_start(&bare, line);
	crowd_open(&watchers, daemon.socket, WATCHERS);
	crowd_ask(&watchers, "WATCH bench/leader\n");
	(void)watch_measure(&daemon, &holder, &watchers);
	(void)bare_measure(&bare);
	pairs_init(&pairs, CHANGES);
	for (int i = 0; i < CHANGES; i++) {
		double ours = watch_measure(&daemon, &holder, &watchers);

		pairs_add(&pairs, ours, bare_measure(&bare));
	}
	report_us("telling 10,000 watchers of a change, processor", &pairs,
	    AT_MOST, 1.5);
	pairs_done(&pairs);
	bare_stop(&bare);
	crowd_close(&watchers);
	line_close(&holder);
	daemon_stop(&daemon);
}

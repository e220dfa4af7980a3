/*
 * Other users of a daemon that a stranger attacks: how long they wait for
 * their answers, and what they lose.
 *
 * Each request has a time at which it is due, and its wait counts from there:
 * one that is sent late, because the answer before it was, counts as late.
 */
#define _GNU_SOURCE 1 /* setresuid(), ppoll() */

#include "bench.h"
#include "strangers.h"

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define HELD 100
#define LOCKERS 32
#define LOCKER_KEYS 20		/* of each; used again after the idle time */
#define LOCKER_PACE_US 100000
#define PING_PACE_US 1000
#define ROOT_PACE_US 50000
#define PATIENCE_US 5e6		/* with the last answers */
#define ROOT_PATIENCE_S 2

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

/* A connection with a request at a time. */
struct person {
	struct line_client line;
	double pace_us;
	double due_us;		/* of the next request, or of the present one */
	bool asking;		/* a request has no answer yet */
	uint64_t id;		/* of its lock; 0: it has none */
	uint64_t serial;
	struct served *phase;	/* of the present request; NULL: do not count */
};

struct neighbour {
	struct arena *arena;
	struct person held;
	struct person people[1 + LOCKERS];	/* the first one only pings */
};

static void __attribute__((format(printf, 2, 3)))
neighbour_lost(struct neighbour *n, const char *format, ...)
{
	va_list arguments;

	if (n->arena->lost++ > 0)
		return;
	va_start(arguments, format);
	(void)vsnprintf(n->arena->loss, sizeof(n->arena->loss), format,
	    arguments);
	va_end(arguments);
}

static void
times_add(struct times *t, double us)
{
	if (t->count < TIMES_MAX)
		t->us[t->count++] = (float)us;
}

static struct served *
arena_served(struct arena *a)
{
	return a->phase == ARENA_QUIET ? &a->quiet :
	    a->phase == ARENA_ATTACK ? &a->attacked : NULL;
}

static bool
served_counts(const struct arena *a, const struct served *phase)
{
	return phase == &a->attacked || a->phase == ARENA_QUIET;
}

/* ---- one request ---- */

static bool
person_pings(const struct neighbour *n, const struct person *p)
{
	return p == &n->people[0];
}

static void
person_write(struct neighbour *n, struct person *p, const char *line)
{
	size_t length = strlen(line);

	if (send(p->line.fd, line, length, MSG_NOSIGNAL) != (ssize_t)length)
		neighbour_lost(n, "a connection: %s", strerror(errno));
}

static void
person_ask(struct neighbour *n, struct person *p)
{
	char line[128];

	p->asking = true;
	p->phase = arena_served(n->arena);
	if (person_pings(n, p))
		snprintf(line, sizeof(line), "PING\n");
	else
		snprintf(line, sizeof(line), "TRY neighbour/%td/%" PRIu64 "\n",
		    p - n->people, p->serial++ % LOCKER_KEYS);
	person_write(n, p, line);
}

static void
person_answered(struct neighbour *n, struct person *p)
{
	double us = now_us() - p->due_us;

	/* One that began in quiet may have met the attack: of neither. */
	if (p->phase != NULL && served_counts(n->arena, p->phase))
		times_add(person_pings(n, p) ? &p->phase->ping :
		    &p->phase->cycle, us);
	p->asking = false;
	p->due_us += p->pace_us;
}

static void
person_take_line(struct neighbour *n, struct person *p, const char *line)
{
	const char *id = strstr(line, " id=");
	char text[64];

	if (line[0] == '!') {
		if (strncmp(line, "!LOCK_LOST", 10) == 0)
			neighbour_lost(n, "%.150s", line);
		return;
	}
	if (strncmp(line, "OK", 2) != 0 || (p == &n->held &&
	    strcmp(line, "OK released=" TEXT(HELD)) != 0))
		neighbour_lost(n, "%.150s", line);
	if (id != NULL && p->id == 0) {
		p->id = strtoull(id + 4, NULL, 10);
		snprintf(text, sizeof(text), "RELEASE id=%" PRIu64 "\n",
		    p->id);
		person_write(n, p, text);
		return;
	}
	p->id = 0;
	person_answered(n, p);
}

static void
person_end(struct neighbour *n, struct person *p)
{
	neighbour_lost(n, "a connection was ended");
	close(p->line.fd);
	p->line.fd = -1;
	p->asking = false;
}

static void
person_read(struct neighbour *n, struct person *p)
{
	struct line_client *c = &p->line;
	ssize_t got = recv(c->fd, c->buffer + c->end,
	    sizeof(c->buffer) - c->end, MSG_DONTWAIT);
	char *end;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		person_end(n, p);
		return;
	}
	c->end += (size_t)got;
	while ((end = memchr(c->buffer, '\n', c->end)) != NULL) {
		size_t length = (size_t)(end + 1 - c->buffer);

		*end = '\0';
		person_take_line(n, p, c->buffer);
		c->end -= length;
		memmove(c->buffer, end + 1, c->end);
	}
}

/* ---- all of them ---- */

/* Those that are due ask; returns when the next one is. */
static double
neighbour_ask(struct neighbour *n)
{
	double now = now_us(), next = now + LOCKER_PACE_US;

	if (n->arena->phase == ARENA_OVER)
		return next;
	for (size_t i = 0; i < 1 + LOCKERS; i++) {
		struct person *p = &n->people[i];

		if (p->line.fd < 0 || p->asking)
			continue;
		if (p->due_us <= now)
			person_ask(n, p);
		else
			next = fmin(next, p->due_us);
	}
	return next;
}

/* Until there is something to read, or this time. */
static void
neighbour_read(struct neighbour *n, double until_us)
{
	struct pollfd polls[2 + LOCKERS];
	double us = fmax(until_us - now_us(), 0);
	struct timespec left = { (time_t)(us / 1e6),
	    (long)(fmod(us, 1e6) * 1000) };

	for (size_t i = 0; i < 1 + LOCKERS; i++)
		polls[i] = (struct pollfd){ n->people[i].line.fd, POLLIN, 0 };
	polls[1 + LOCKERS] = (struct pollfd){ n->held.line.fd, POLLIN, 0 };
	if (ppoll(polls, 2 + LOCKERS, &left, NULL) <= 0)
		return;
	for (size_t i = 0; i < 1 + LOCKERS; i++) {
		if (polls[i].revents != 0)
			person_read(n, &n->people[i]);
	}
	if (polls[1 + LOCKERS].revents != 0)
		person_read(n, &n->held);
}

static bool
neighbour_waits(const struct neighbour *n)
{
	for (size_t i = 0; i < 1 + LOCKERS; i++) {
		if (n->people[i].asking)
			return true;
	}
	return false;
}

/* The last answers; and the locks are still there. */
static void
neighbour_finish(struct neighbour *n)
{
	double end_us = now_us() + PATIENCE_US;

	while (neighbour_waits(n) && now_us() < end_us)
		neighbour_read(n, end_us);
	for (size_t i = 0; i < 1 + LOCKERS; i++) {
		if (n->people[i].asking) {
			neighbour_lost(n, "a request was not answered");
			person_answered(n, &n->people[i]);
		}
	}
	n->held.asking = true;
	person_write(n, &n->held, "RELEASE all=yes\n");
	end_us = now_us() + PATIENCE_US;
	while (n->held.asking && n->held.line.fd >= 0 && now_us() < end_us)
		neighbour_read(n, end_us);
	if (n->held.asking)
		neighbour_lost(n, "the release was not answered");
}

static void
become_another(void)
{
	if (setgroups(0, NULL) != 0 ||
	    setresgid(NEIGHBOUR_UID, NEIGHBOUR_UID, NEIGHBOUR_UID) != 0 ||
	    setresuid(NEIGHBOUR_UID, NEIGHBOUR_UID, NEIGHBOUR_UID) != 0)
		die("another user: %s", strerror(errno));
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_TIMERSLACK, 1L);
}

void
neighbour_run(struct arena *arena, const char *path)
{
	struct neighbour *n = calloc(1, sizeof(*n));
	double start_us;

	become_another();
	if (n == NULL)
		die("out of memory");
	n->arena = arena;
	line_open(&n->held.line, path);
	for (int i = 0; i < HELD; i++) {
		line_send(&n->held.line, "TRY neighbour/held/%d\n", i);
		(void)line_read_ok(&n->held.line);
	}
	n->held.line.start = n->held.line.end = 0;
	for (size_t i = 0; i < 1 + LOCKERS; i++) {
		line_open(&n->people[i].line, path);
		n->people[i].pace_us = i == 0 ? PING_PACE_US : LOCKER_PACE_US;
	}
	arena->neighbour_ready = true;
	while (arena->phase == ARENA_PREPARE)
		wait_ms(2);
	start_us = now_us();
	for (size_t i = 0; i < 1 + LOCKERS; i++)
		n->people[i].due_us = start_us +
		    (double)i * LOCKER_PACE_US / LOCKERS;
	while (arena->phase != ARENA_OVER)
		neighbour_read(n, neighbour_ask(n));
	neighbour_finish(n);
	_exit(0);
}

/* ---- root ---- */

static bool
root_ask(int fd, const char *line, char *answer, size_t size)
{
	size_t length = strlen(line), got = 0;

	if (send(fd, line, length, MSG_NOSIGNAL) != (ssize_t)length)
		return false;
	do {
		ssize_t n = recv(fd, answer + got, size - 1 - got, 0);

		if (n <= 0)
			return false;
		got += (size_t)n;
		answer[got] = '\0';
	} while (answer[got - 1] != '\n' && got < size - 1);
	return strncmp(answer, "OK", 2) == 0;
}

/* Connect, PING, TRY; what it said last is in @answer. */
static bool
root_come(const char *path, uint64_t serial, char *answer, size_t size)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct timeval patience = { .tv_sec = ROOT_PATIENCE_S };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char line[64];
	bool ok;

	memcpy(address.sun_path, path, strlen(path) + 1);
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience,
	    sizeof(patience));
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
	    sizeof(patience));
	snprintf(answer, size, "no connection");
	ok = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
	if (ok) {
		snprintf(answer, size, "no answer");
		snprintf(line, sizeof(line), "TRY root/%" PRIu64 "\n", serial);
		ok = root_ask(fd, "PING\n", answer, size);
		if (ok)
			snprintf(answer, size, "no answer to a TRY");
		ok = ok && root_ask(fd, line, answer, size);
	}
	close(fd);
	return ok;
}

void
neighbour_run_root(struct arena *arena, const char *path)
{
	char answer[COMPLAINT_MAX];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (arena->phase == ARENA_PREPARE)
		wait_ms(2);
	for (uint64_t i = 0; arena->phase != ARENA_OVER; i++) {
		struct served *phase = arena_served(arena);
		double start_us = now_us(), us;
		bool ok = root_come(path, i, answer, sizeof(answer));

		us = now_us() - start_us;
		if (phase != NULL && served_counts(arena, phase))
			times_add(&phase->root, us);
		if (!ok && arena->root_failed++ == 0)
			snprintf(arena->root_failure,
			    sizeof(arena->root_failure), "%.*s",
			    (int)strcspn(answer, "\n"), answer);
		if (us < ROOT_PACE_US)
			wait_ms((int)((ROOT_PACE_US - us) / 1000));
	}
	_exit(0);
}

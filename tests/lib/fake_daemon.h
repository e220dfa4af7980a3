/*
 * A daemon that sends the lines that a test gives it, in the test's own thread:
 * they wait in the socket until the library reads it, so that a call that
 * blocks finds its answer there.
 */
#ifndef DDBLOCKD_TESTS_FAKE_DAEMON_H
#define DDBLOCKD_TESTS_FAKE_DAEMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ddblock;

struct fake_daemon {
	char folder[64];
	char path[96];
	int listener;
	int connection;
	char received[65536];	/* read but not yet expected */
	size_t length;
};

/* Listen in a folder of its own. Every failure fails the test. */
void fake_init(struct fake_daemon *);
void fake_done(struct fake_daemon *);

/* A connection to it, greeted. */
struct ddblock *fake_open(struct fake_daemon *);

/* A connection of a client that resumes: nothing is said on it yet, or it is
 * greeted; the daemon may be an @older one. */
struct ddblock *fake_connect_resuming(struct fake_daemon *);
struct ddblock *fake_open_resuming(struct fake_daemon *, bool older);

/* The next connection. */
void fake_accept(struct fake_daemon *);

/* Send text as it is, or the words of printf(3). */
void fake_send(struct fake_daemon *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The next line that arrived, until the next call. */
const char *fake_next(struct fake_daemon *);

/* The next line that arrived (without its LF) must be this. */
void fake_expect(struct fake_daemon *, const char *line);

/* Nothing more has arrived. */
void fake_expect_nothing(struct fake_daemon *);

/* End the connection. */
void fake_hang_up(struct fake_daemon *);

#endif

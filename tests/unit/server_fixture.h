/*
 * A server over real sockets, with a core that is a script: shared by the
 * tests of the server.
 */
#ifndef DDBLOCKD_TESTS_SERVER_FIXTURE_H
#define DDBLOCKD_TESTS_SERVER_FIXTURE_H

#include <check.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/server.h"

struct event_base;

#define EVENTS_MAX 4096

/* The content of the scripted views. */
struct core {
	uint64_t holder;		/* the client of the scripted holds */
	uint64_t n_holds;
	uint64_t sorted;		/* the hold with a sort value */
	enum lock_mode mode;		/* in what use all locks are */
	uint32_t limit;
	uint64_t watcher;		/* the watcher of all locks */
	uint64_t token;			/* of the holder */
	uint32_t ahead;			/* before the waiter */
	uint64_t waiter_ns;		/* what a look at it takes */
};

/* What reached the core. */
struct seen {
	enum core_event_type type;
	struct core_request request;
	char key[64];	/* what fits of it */
	size_t key_length;
	char owner[128];
	uint64_t client;
};

struct fixture {
	struct event_base *base;
	struct server *server;
	char directory[64];
	char path[96];
	struct core core;
	struct seen seen[EVENTS_MAX];
	size_t n_seen;
	int refuse;		/* step returns this */
	bool answer;		/* requests are answered at once */
	size_t list_pages;	/* pages of a LIST still to come */
	bool quiet_lists;	/* the test says what a LIST finds */
	void (*on_step)(void);	/* called in each step; or NULL */
	char log[512];
};

extern struct fixture t;
extern const struct server_calls fake_calls;

/* Answer a request of the script, with a grant if @code is 0. */
void perform_reply(const struct core_request *, int code);
/* Small limits: 50 connections, 40 of a user, 16 requests, 1 MiB. */
struct server_config configuration(void);
void start_with(const struct server_config *config);
/* Before and after each test. */
void setup(void);
void teardown(void);
/* A new connection; it does not block. */
int client(void);
/* Run the loop until there is nothing left that it could do at once. */
void turn(void);
/* Send and let the server work. */
void say(int fd, const char *text);
/* Exactly these bytes have come. */
void expect(int fd, const char *text);
void expect_nothing(int fd);
/* The server has closed it. Closes this side too. */
void expect_end(int fd);
/* say() and expect(). */
void ask(int fd, const char *request, const char *reply);
/* Read all there is; count the lines. */
size_t drain_lines(int fd);

#endif

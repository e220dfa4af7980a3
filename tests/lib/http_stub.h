/*
 * A small HTTP server on loopback, in the loop of the test, that does what
 * its owner says (@obey), or else the operation's name in X-Amz-Target:
 *
 *   Echo       200 with the body of the request
 *   EchoClose  the same, then closes
 *   Refuse     400 with an error of an unknown kind
 *   Close      closes without an answer
 *   Garbage    bytes that are not HTTP, then closes
 *   Truncate   less than its Content-Length says, then closes
 *   Huge       30 MB
 *   Hang       nothing
 *
 * and some that are sent as they stand in a table (stub_fixed).
 */
#ifndef DDBLOCKD_TESTS_HTTP_STUB_H
#define DDBLOCKD_TESTS_HTTP_STUB_H

#include <stdbool.h>
#include <stddef.h>

#define STUB_CONNECTIONS_MAX 256

struct bufferevent;
struct event_base;
struct evconnlistener;

/* A whole request. */
struct stub_request {
	const char *bytes;
	size_t length;
	const char *operation;	/* and the rest of the head */
	const char *body;
	size_t body_length;
};

struct stub {
	struct event_base *base;
	struct evconnlistener *listener;
	unsigned int port;
	unsigned int connections;	/* ever */
	unsigned int requests;		/* whole ones, ever */
	unsigned int early;		/* close so many at their first byte */
	char last[4096];		/* request */
	char date[64];			/* of the answers; empty: none */
	struct bufferevent *open[STUB_CONNECTIONS_MAX];
	size_t n_open;

	/* How to speak on a new connection; NULL: as it is. */
	struct bufferevent *(*speak)(struct stub *, int fd);
	/* What to do with a request instead; true: with stub_close(). */
	bool (*obey)(struct stub *, struct bufferevent *,
	    const struct stub_request *);
	/* A connection is gone; may be NULL. */
	void (*closed)(struct stub *, struct bufferevent *);
	void *arg;			/* of these */
};

void stub_init(struct stub *, struct event_base *);
void stub_done(struct stub *);
void stub_close(struct stub *, struct bufferevent *);

#endif

/*
 * A small HTTP server on loopback, in the loop of the test, that does what
 * the operation's name in X-Amz-Target says:
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

#include <stddef.h>

#define STUB_CONNECTIONS_MAX 64

struct bufferevent;
struct event_base;
struct evconnlistener;

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
	void *arg;			/* of that */
};

void stub_init(struct stub *, struct event_base *);
void stub_done(struct stub *);

#endif

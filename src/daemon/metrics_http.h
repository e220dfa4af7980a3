/*
 * Metrics by HTTP: GET /metrics on a Unix socket or a loopback address, and
 * nothing else.
 */
#ifndef DDBLOCKD_DAEMON_METRICS_HTTP_H
#define DDBLOCKD_DAEMON_METRICS_HTTP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define METRICS_HTTP_CONNECTIONS_MAX 8

struct buffer;
struct event_base;
struct metrics_http;

struct metrics_http_config {
	const char *listen;	/* as the configuration has it: it was checked
				 * there. Copied */
	mode_t mode;		/* of a Unix socket */
	gid_t group;		/* (gid_t)-1: leave it */
	/* As server_calls.metrics. */
	bool (*metrics)(void *arg, uint64_t namespaces, uint64_t *position,
	    struct buffer *);
	void *arg;
};

/*
 * Listen there; if that fails, which the log says once, again and again, from
 * the loop: it is no reason to be no daemon.
 *
 * DDBLOCK_E_NOMEM
 */
int metrics_http_new(struct event_base *, const struct metrics_http_config *,
    struct metrics_http **ret);

/* Accepts NULL. */
void metrics_http_free(struct metrics_http *);

#endif

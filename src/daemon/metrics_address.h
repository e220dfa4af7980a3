/*
 * Where metrics are served by HTTP: a Unix socket, or an address of this host
 * that no other host can reach.
 */
#ifndef DDBLOCKD_DAEMON_METRICS_ADDRESS_H
#define DDBLOCKD_DAEMON_METRICS_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

struct metrics_address {
	struct sockaddr_storage socket;
	socklen_t length;
	const char *path;	/* of a Unix socket: borrowed; or NULL */
};

/* "/run/ddblockd/metrics.sock", "127.0.0.1:9876" or "[::1]:9876". False: it is
 * none of these, and *@ret_rule says what must be. */
bool metrics_address_read(const char *text, struct metrics_address *ret,
    const char **ret_rule);

#endif

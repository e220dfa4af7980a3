/*
 * CHECK of a running daemon: which store is being checked, and for which
 * client.
 */
#ifndef DDBLOCKD_DAEMON_CLIENT_CHECK_H
#define DDBLOCKD_DAEMON_CLIENT_CHECK_H

#include <stdbool.h>
#include <stdint.h>

struct server;
struct store;

/* That of one namespace; there is one at a time. Zeroed: none so far. */
struct client_check_run {
	bool running;
	struct server *server;
	uint64_t client;
	uint64_t request;
};

/*
 * The server gets the findings. The check must outlive the store.
 *
 * DDBLOCK_E_LIMIT, DDBLOCK_E_NOMEM
 */
int client_check_start(struct client_check_run *, struct store *,
    struct server *,
    uint64_t client, uint64_t request);

#endif

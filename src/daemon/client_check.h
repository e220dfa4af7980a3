/*
 * CHECK of a running daemon: which namespace is being checked, and for which
 * client.
 */
#ifndef DDBLOCKD_DAEMON_CLIENT_CHECK_H
#define DDBLOCKD_DAEMON_CLIENT_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/hint_check.h"

struct server;

/* That of one namespace; there is one at a time. Zeroed: none so far. */
struct client_check_run {
	bool running;
	bool failed;		/* there was an error */
	struct hint_check_config config;
	struct hint_check *hints;	/* under way; or NULL */
	struct server *server;
	uint64_t client;
	uint64_t request;
};

/*
 * Check the store, and then the hints if the configuration has a hinter. The
 * server gets the findings. The check must outlive the store.
 *
 * DDBLOCK_E_LIMIT, DDBLOCK_E_NOMEM
 */
int client_check_start(struct client_check_run *,
    const struct hint_check_config *, struct server *, uint64_t client,
    uint64_t request);

/* After the store's end: nothing is said any more. */
void client_check_cancel(struct client_check_run *);

#endif

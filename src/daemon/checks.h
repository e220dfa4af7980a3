/*
 * CHECK of a running daemon: which store is looked at, and for whom.
 */
#ifndef DDBLOCKD_DAEMON_CHECKS_H
#define DDBLOCKD_DAEMON_CHECKS_H

#include <stdbool.h>
#include <stdint.h>

struct server;
struct store;

/* That of one namespace; there is one at a time. Zeroed: none so far. */
struct checks_run {
	bool running;
	struct server *server;
	uint64_t client;
	uint64_t request;
};

/*
 * The server hears what is found. The check must outlive the store.
 *
 * DDBLOCK_E_LIMIT, DDBLOCK_E_NOMEM
 */
int checks_start(struct checks_run *, struct store *, struct server *,
    uint64_t client, uint64_t request);

#endif

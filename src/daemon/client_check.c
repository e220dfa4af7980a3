/*
 * CHECK of a running daemon. A check goes on when its client has disconnected,
 * and its findings are dropped: it is short, and there is one at a time.
 */
#include "daemon/client_check.h"

#include <stddef.h>

#include "ddblock.h"
#include "ipc/server.h"
#include "store/store.h"

static void
client_check_on_finding(void *arg, const struct finding *f)
{
	struct client_check_run *run = arg;

	/* What follows may begin another one. */
	if (f == NULL)
		run->running = false;
	server_finding(run->server, run->client, run->request, f);
}

int
client_check_start(struct client_check_run *run, struct store *store,
    struct server *server, uint64_t client, uint64_t request)
{
	int r;

	if (run->running)
		return DDBLOCK_E_LIMIT;
	run->server = server;
	run->client = client;
	run->request = request;
	r = store_check(store, client_check_on_finding, run);
	run->running = r == 0;
	return r;
}

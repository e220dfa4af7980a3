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
client_check_tell(struct client_check_run *run, const struct finding *f)
{
	/* What follows may begin another one. */
	if (f == NULL)
		run->running = false;
	server_finding(run->server, run->client, run->request, f);
}

static void
client_check_on_hints(void *arg, const struct finding *f)
{
	client_check_tell(arg, f);
}

/* Of a store: hints depend on it, so they are left out if it has an error. */
static void
client_check_on_finding(void *arg, const struct finding *f)
{
	struct client_check_run *run = arg;

	if (f != NULL)
		run->failed = run->failed || f->state == FINDING_ERROR;
	if (f != NULL || run->failed || run->config.hinter == NULL ||
	    hint_check_start(&run->config, client_check_on_hints, run,
	    &run->hints) < 0)
		client_check_tell(run, f);
}

int
client_check_start(struct client_check_run *run,
    const struct hint_check_config *config, struct server *server,
    uint64_t client, uint64_t request)
{
	int r;

	if (run->running)
		return DDBLOCK_E_LIMIT;
	run->failed = false;
	run->config = *config;
	run->server = server;
	run->client = client;
	run->request = request;
	r = store_check(config->store, client_check_on_finding, run);
	run->running = r == 0;
	return r;
}

void
client_check_cancel(struct client_check_run *run)
{
	hint_check_free(run->hints);
	run->hints = NULL;
	run->running = false;
}

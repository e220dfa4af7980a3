/*
 * Another process takes the place of this one (replace.h): what it gets, and
 * when.
 */
#include <config.h>	/* the build's */

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "daemon/engine_state.h"
#include "daemon/replace.h"
#include "ddblock.h"

#define ENGINE_PATIENCE_MIN_MS 100

/* While this process stands still no holder is told of a loss: it is not to be
 * so long that one could come. */
static uint64_t
engine_patience_ms(const struct engine *e)
{
	const uint64_t now_ms = clock_boot_ms();
	uint64_t least_ms = REPLACE_GIVE_MAX_MS;
	struct core_namespace_view v;

	for (uint32_t i = 0; i < e->n_namespaces; i++) {
		uint64_t left_ms;

		core_view_namespace(e->core, i, now_ms, &v);
		if (v.held == 0)
			continue;
		/* A lease of each record: of the first that ends little is
		 * known. */
		left_ms = v.remaining_ms > 0 ? v.remaining_ms :
		    e->config->namespaces[i].margin_ms;
		if (left_ms / 2 < least_ms)
			least_ms = left_ms / 2;
	}
	return least_ms;
}

static int
engine_parts(struct engine *e, struct replace_parts *ret, char *text,
    size_t size)
{
	struct server_handover h;
	int r;

	ret->journal = keeper_descriptor(&e->keeper);
	if (ret->journal < 0 || !keeper_keeps_all(&e->keeper)) {
		(void)snprintf(text, size, ret->journal < 0 ?
		    "it has no journal" : "what is held in store = memory ends "
		    "with it");
		return DDBLOCK_E_UNSUPPORTED;
	}
	ret->patience_ms = engine_patience_ms(e);
	if (ret->patience_ms < ENGINE_PATIENCE_MIN_MS) {
		(void)snprintf(text, size, "a lease would end meanwhile; try "
		    "again when the store answers");
		return DDBLOCK_E_SYSTEM;
	}
	r = server_hand_over(e->server, e->successor, &h, text, size);
	if (r < 0)
		return r;
	ret->listening = h.listening;
	ret->memory = h.memory;
	ret->connections = h.connections;
	ret->n_connections = h.n_connections;
	return 0;
}

/* Between two turns of the loop. */
static void
engine_on_replace(evutil_socket_t fd, short what, void *arg)
{
	struct engine *e = arg;
	struct replace_parts parts;
	char text[REPLACE_TEXT_MAX];
	int r = engine_parts(e, &parts, text, sizeof(text));

	(void)fd;
	(void)what;
	if (r == 0) {
		r = replace_give(e->successor_fd, &parts, text, sizeof(text));
		free((void *)(uintptr_t)parts.connections);
	}
	if (r == 0) {
		e->closing = true;
		(void)server_leave(e->server);
		e->calls.replaced(e->arg);
		/* It sees by this socket, too, when we have ended. */
		return;
	}
	log_write(LOG_WARNING, NULL, "another process was to take the place "
	    "of this one: %s; going on", text);
	(void)close(e->successor_fd);
	e->successor = 0;
}

int
engine_replace(void *arg, uint64_t client, int fd, char *text, size_t size)
{
	const struct timeval now = { 0 };
	struct engine *e = arg;
	struct replace_parts parts;
	int r;

	if (e->successor != 0) {
		(void)snprintf(text, size, "another process does that");
		return DDBLOCK_E_LIMIT;
	}
	e->successor = client;
	r = engine_parts(e, &parts, text, size);
	if (r == 0) {
		free((void *)(uintptr_t)parts.connections);
		e->successor_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		if (e->successor_fd < 0 || event_base_once(e->base, -1,
		    EV_TIMEOUT, engine_on_replace, e, &now) < 0) {
			(void)snprintf(text, size, "%s", strerror(errno));
			r = DDBLOCK_E_SYSTEM;
		}
	}
	if (r < 0)
		e->successor = 0;
	return r;
}

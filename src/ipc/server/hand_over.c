/*
 * A process takes the place of this one while both run: which descriptors it
 * gets. What it needs to know of them is in the journal at any moment.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "ddblock.h"
#include "ipc/connection/keep.h"
#include "ipc/server/room.h"

static int
hand_over_refuse(char *text, size_t size, const char *why)
{
	(void)snprintf(text, size, "%s", why);
	return DDBLOCK_E_UNSUPPORTED;
}

/* One that is not kept would end, and its client would not know why. */
static int
hand_over_connections(struct server *s, uint64_t client,
    struct server_handover *ret, char *text, size_t size)
{
	for (uint32_t i = 0; i < s->n_slots; i++) {
		struct connection *c = s->slots[i];

		if (c != NULL && c->fresh)
			connection_begin(c);
		if (c == NULL || c->doomed || c->client == client)
			continue;
		keep_begin(c);	/* it said nothing yet */
		if (!c->kept.on)
			return hand_over_refuse(text, size, "there are "
			    "connections that are older than the journal");
		ret->connections[ret->n_connections++] = c->fd;
	}
	return 0;
}

int
server_hand_over(struct server *s, uint64_t client,
    struct server_handover *ret, char *text, size_t size)
{
	int r;

	*ret = (struct server_handover){
		.listening = s->fd, .memory = s->wire_fd,
	};
	if (s->stopping || s->fd < 0)
		return hand_over_refuse(text, size, "it is stopping");
	if (!s->file.ours)
		return hand_over_refuse(text, size, "the service manager made "
		    "its socket: let that restart it");
	if (s->journal == NULL || s->wire == NULL)
		return hand_over_refuse(text, size, "it has no journal");
	ret->connections = calloc((size_t)s->n_connections + 1, sizeof(int));
	if (ret->connections == NULL) {
		(void)snprintf(text, size, "out of memory");
		return DDBLOCK_E_NOMEM;
	}
	r = hand_over_connections(s, client, ret, text, size);
	if (r < 0) {
		free(ret->connections);
		ret->connections = NULL;
	} else {
		keep_commit(s);
	}
	return r;
}

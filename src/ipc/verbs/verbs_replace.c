/*
 * REPLACE: another process takes the place of this one. What follows is between
 * the two daemons (src/daemon/replace.h).
 */
#include "ddblock.h"
#include "ipc/verbs/room.h"

int
verbs_replace(struct connection *c, const struct protocol_request *q)
{
	struct server *s = c->server;

	(void)q;
	if (s->calls.replace == NULL)
		return connection_reason(c, DDBLOCK_E_UNSUPPORTED,
		    "this daemon cannot hand anything over");
	return s->calls.replace(s->arg, c->client, c->fd, s->reason,
	    sizeof(s->reason));
}

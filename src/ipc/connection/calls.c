/*
 * Calls to the daemon (struct server_calls) from more than one place.
 */
#include <stdarg.h>
#include <stdio.h>

#include "ipc/connection/connection.h"
#include "ipc/connection/rights.h"

#define SERVER_LOG_MAX 512

void
server_log(struct server *s, int priority, int64_t user, const char *format,
    ...)
{
	char text[SERVER_LOG_MAX];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	s->calls.log(s->arg, priority, user, text);
}

void
connection_tell_refusal(const struct connection *c, struct server_refusal *r)
{
	const struct server *s = c->server;
	const struct server_client who = peer_view(&c->peer);

	if (s->calls.refused == NULL)
		return;
	r->client = c->client;
	r->who = &who;
	s->calls.refused(s->arg, r);
}

int
connection_step(struct connection *c, struct core_event *event)
{
	struct core_user_limits room;
	int r;

	c->in_core = true;
	if (event->type == CORE_REQUEST) {
		event->request.limits = rights_limits(c, &room);
		event->request.user = c->peer.uid;
		event->request.privileged = user_has_reserve(c);
		event->request.again = c->server->again != NULL;
	}
	r = c->server->calls.step(c->server->arg, event);
	if (event->type == CORE_REQUEST)
		event->request.limits = NULL;
	return r;
}

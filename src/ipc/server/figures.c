/*
 * What the server counts, for metrics.
 */
#include "ipc/server/room.h"

void
server_view_figures(const struct server *s, struct server_figures *ret)
{
	*ret = (struct server_figures){
		.connections = s->n_connections,
		.requests = s->n_requests,
	};
	for (const struct user *u = s->users; u != NULL; u = u->next)
		ret->queued_bytes += u->queued_bytes;
}

uint64_t
server_requests(const struct server *s, enum protocol_verb verb)
{
	return s->n_run[verb];
}

size_t
server_view_users(const struct server *s,
    struct server_user_memory ret[SERVER_USERS_MAX])
{
	const struct core *core = s->calls.core(s->arg);
	size_t n = 0;

	for (const struct user *u = s->users; u != NULL; u = u->next) {
		const struct server_user_memory has = { u->uid,
			u->queued_bytes + core_view_memory(core, u->uid) };
		size_t i = n < SERVER_USERS_MAX ? n++ : SERVER_USERS_MAX;

		/* Those with less move down; the last of a full list goes. */
		if (i == SERVER_USERS_MAX && has.bytes <= ret[--i].bytes)
			continue;
		for (; i > 0 && ret[i - 1].bytes < has.bytes; i--)
			ret[i] = ret[i - 1];
		ret[i] = has;
	}
	return n;
}

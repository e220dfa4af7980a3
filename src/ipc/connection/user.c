/*
 * Users of this host, and how much of what all share each of them may have.
 */
#include <stdlib.h>

#include "common/share.h"
#include "ipc/connection/connection.h"

/* There are few users on a host, so a list will do. */
struct user *
user_find(struct server *s, uid_t uid)
{
	struct user *u;

	for (u = s->users; u != NULL; u = u->next) {
		if (u->uid == uid)
			return u;
	}
	u = calloc(1, sizeof(*u));
	if (u == NULL)
		return NULL;
	u->uid = uid;
	u->next = s->users;
	s->users = u;
	return u;
}

/* The user's entry is freed with its last connection or process, and not in its
 * turn. */
void
user_free_if_unused(struct server *s, struct user *u)
{
	struct user **link = &s->users;

	if (u->n_connections > 0 || u->n_processes > 0 || s->serving == u)
		return;
	while (*link != u)
		link = &(*link)->next;
	*link = u->next;
	free(u);
}

void
user_leave(struct server *s, struct user *u)
{
	u->n_connections--;
	user_free_if_unused(s, u);
}

void
user_leave_process(struct server *s, struct user *u)
{
	s->n_processes--;
	u->n_processes--;
	user_free_if_unused(s, u);
}

/* An administrator, or the user that the daemon runs as. */
static bool
user_is_privileged(struct connection *c, int fd)
{
	return peer_is_own(&c->peer) ||
	    peer_is_admin(&c->peer, fd, c->server);
}

const char *
user_why_full(struct connection *c, int fd)
{
	const struct server *s = c->server;
	uint32_t all = s->n_connections + s->n_processes;
	uint32_t has = c->user->n_connections + c->user->n_processes;

	/* Itself, if it is new. */
	has -= c->client == 0;
	if (all >= s->limits.connections_max)
		return "there are too many connections (connections_max)";
	if (has >= s->limits.connections_per_uid_max)
		return "there are too many connections of this user "
		    "(connections_per_uid_max)";
	if (share_allows(has, all, s->limits.connections_max) ||
	    user_is_privileged(c, fd))
		return NULL;
	return "this user has as many connections as are left for the others "
	    "(connections_max)";
}

bool
user_has_reserve(struct connection *c)
{
	if (c->reserve_serial != c->server->access_serial) {
		c->has_reserve = user_is_privileged(c, c->fd);
		c->reserve_serial = c->server->access_serial;
	}
	return c->has_reserve;
}

bool
user_may_ask(struct connection *c)
{
	const struct server *s = c->server;

	return s->again != NULL ||
	    share_allows(c->user->n_requests, s->n_requests,
	    s->limits.requests_max) || user_has_reserve(c);
}

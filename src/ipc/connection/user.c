/*
 * Users of this host: the limits on all connections and processes of a user.
 */
#include <stdlib.h>

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

bool
user_has_room(const struct server *s, const struct user *u)
{
	return s->n_connections + s->n_processes < s->limits.connections_max &&
	    u->n_connections + u->n_processes <
	    s->limits.connections_per_uid_max;
}

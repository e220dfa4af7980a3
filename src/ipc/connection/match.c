/*
 * Which of the rules of access are for a client: that is found out once, when
 * something first depends on it, and again after a reload; a request then costs
 * a look at those. And what they limit.
 */
#include <stdlib.h>

#include "ipc/connection/rights.h"

_Static_assert(CORE_NAMESPACES_MAX <= 64, "a rule has a bit for each");

bool
rights_are_ruled(const struct server *s)
{
	return s->access != NULL && s->access->n_rules > 0;
}

void
rights_configure(struct server *s, const struct access *access)
{
	s->access = access;
	s->access_serial++;
	s->access_limits = false;
	for (int i = 0; rights_are_ruled(s) && i < ACCESS_LIMITS; i++)
		s->access_limits = s->access_limits ||
		    (i != ACCESS_LIMIT_CONNECTIONS &&
		    access_has_limit(access, (enum access_limit)i));
}

void
rights_begin(struct connection *c)
{
	if (rights_are_ruled(c->server) &&
	    access_asks_units(c->server->access))
		(void)peer_unit(&c->peer, c->fd, true);
}

/* What it may where no rule decides. */
static unsigned
rights_standing(struct connection *c)
{
	if (peer_is_admin(&c->peer, c->fd, c->server))
		return ACCESS_ALL;
	return peer_is_own(&c->peer) ?
	    ACCESS_ALL & ~(unsigned)ACCESS_BREAK : ACCESS_NONE;
}

const struct access_match *
rights_match(struct connection *c)
{
	const struct server *s = c->server;
	struct access_client client = {
		.uid = c->peer.uid,
		.gid = c->peer.gid,
	};
	gid_t *groups = NULL;

	if (c->match_serial == s->access_serial)
		return &c->match;
	if (access_asks_groups(s->access) &&
	    peer_groups(c->fd, &groups, &client.n_groups) < 0)
		return NULL;
	client.groups = groups;
	if (access_asks_units(s->access))
		client.unit = peer_unit(&c->peer, c->fd, false);
	client.standing = rights_standing(c);
	access_match(s->access, &client, &c->match);
	c->match_serial = s->access_serial;
	free(groups);
	return &c->match;
}

bool
rights_have_room(struct connection *c)
{
	const struct server *s = c->server;
	const struct user *u = c->user;
	const struct access_match *m;
	const struct access_rule *rule;
	uint64_t most;

	if (!rights_are_ruled(s) ||
	    !access_has_limit(s->access, ACCESS_LIMIT_CONNECTIONS))
		return true;
	m = rights_match(c);
	if (m == NULL)
		return false;
	most = access_limit(s->access, m, ACCESS_LIMIT_CONNECTIONS, &rule);
	/* Those that came after it have not begun. */
	return most == 0 ||
	    u->n_connections - u->n_fresh + u->n_processes <= most;
}

const struct core_user_limits *
rights_limits(struct connection *c, struct core_user_limits *room)
{
	static const enum access_limit which[] = { ACCESS_LIMIT_LOCKS,
		ACCESS_LIMIT_WATCHES, ACCESS_LIMIT_MEMORY,
		ACCESS_LIMIT_REQUEST_RATE };
	struct core_user_limit *to[] = { &room->locks, &room->watches,
		&room->bytes, &room->rate };
	const struct access *a = c->server->access;
	const struct access_match *m =
	    c->server->access_limits ? rights_match(c) : NULL;
	const struct access_rule *rule;

	if (m == NULL)
		return NULL;
	for (size_t i = 0; i < sizeof(to) / sizeof(to[0]); i++) {
		to[i]->most = access_limit(a, m, which[i], &rule);
		to[i]->by = rule == NULL ? NULL : rule->title;
	}
	return room;
}

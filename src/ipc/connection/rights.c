/*
 * What a client may do by the rules of access. Which of the rules are for it is
 * found out once, when something first depends on it, and again after a reload;
 * a request then costs a look at those.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <syslog.h>
#include <unistd.h>

#include "common/error.h"
#include "ipc/connection/rights.h"

/* What everybody may where there are no rules. */
#define RIGHTS_OF_ALL (ACCESS_ALL & ~(unsigned)(ACCESS_BREAK | ACCESS_ADMIN))

_Static_assert(CORE_NAMESPACES_MAX <= 64, "a rule has a bit for each");

void
rights_configure(struct server *s, const struct access *access)
{
	s->access = access;
	s->access_serial++;
}

bool
rights_are_ruled(const struct server *s)
{
	return s->access != NULL && s->access->n_rules > 0;
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

/* Its match; NULL: there is no memory to find it out, so it may do nothing. */
static const struct access_match *
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
	uint32_t most;
	bool limits = false;

	for (size_t i = 0; rights_are_ruled(s) && i < s->access->n_rules; i++)
		limits = limits ||
		    s->access->rules[i].limits.connections_max > 0;
	if (!limits)
		return true;
	m = rights_match(c);
	if (m == NULL)
		return false;
	most = access_limits(s->access, m).connections_max;
	/* Those that came after it have not begun. */
	return most == 0 ||
	    u->n_connections - u->n_fresh + u->n_processes <= most;
}

/* ---- questions ---------------------------------------------------------- */

static int
rights_deny(struct connection *c, const struct access_rule *rule,
    uint32_t namespace_index, const struct key *name, unsigned rights)
{
	struct server *s = c->server;
	char text[ACCESS_TEXT_MAX];
	unsigned lacks = rights & ~(rule == NULL ? 0 : rule->rights);

	access_refusal(rule, c->peer.uid, lacks == 0 ? rights : lacks,
	    s->calls.namespace_name(s->arg, namespace_index), name, text);
	server_log(s, LOG_WARNING, (int64_t)c->peer.uid,
	    "client %s (pid %ld): %s", c->peer.name, (long)c->peer.pid, text);
	return connection_reason(c, DDBLOCK_E_DENIED, "%s", text);
}

static bool
rights_decide(struct connection *c, uint32_t namespace_index,
    const struct key *name, unsigned rights,
    const struct access_rule **ret_rule)
{
	const struct server *s = c->server;
	const struct access_match *m;

	if (!rights_are_ruled(s))
		return true;
	m = rights_match(c);
	return m != NULL && access_allows(s->access, m, namespace_index, name,
	    rights, ret_rule);
}

int
rights_check(struct connection *c, uint32_t namespace_index,
    const struct key *name, unsigned rights)
{
	const struct access_rule *rule = NULL;

	return rights_decide(c, namespace_index, name, rights, &rule) ? 0 :
	    rights_deny(c, rule, namespace_index, name, rights);
}

int
rights_check_some(struct connection *c, uint32_t namespace_index,
    struct key prefix, unsigned rights)
{
	const struct server *s = c->server;
	const struct access_rule *rule = NULL;
	const struct access_match *m;

	if (!rights_are_ruled(s))
		return 0;
	m = rights_match(c);
	if (m != NULL && access_allows_some(s->access, m, namespace_index,
	    prefix, rights, &rule))
		return 0;
	return rights_deny(c, rule, namespace_index,
	    prefix.length > 0 ? &prefix : NULL, rights);
}

bool
rights_allow(struct connection *c, uint32_t namespace_index, struct key name,
    unsigned rights)
{
	const struct access_rule *rule;

	return rights_decide(c, namespace_index, &name, rights, &rule);
}

bool
rights_allow_each(struct connection *c, uint32_t namespace_index,
    unsigned rights)
{
	const struct server *s = c->server;
	const struct access_match *m;

	if (!rights_are_ruled(s))
		return true;
	m = rights_match(c);
	return m != NULL && access_allows_each(s->access, m, namespace_index,
	    rights);
}

unsigned
rights_standing_of(const struct server *s, const struct access_client *client)
{
	bool is_admin = client->uid == 0 || client->gid == s->admin_group;

	if (s->admin_group == (gid_t)-1)
		is_admin = client->uid == 0;
	for (size_t i = 0; i < client->n_groups; i++)
		is_admin = is_admin || client->groups[i] == s->admin_group;
	if (is_admin)
		return ACCESS_ALL;
	return client->uid == geteuid() ?
	    ACCESS_ALL & ~(unsigned)ACCESS_BREAK : ACCESS_NONE;
}

void
rights_explain(const struct server *s, const struct access_client *client,
    uint32_t namespace_index, const struct key *name,
    struct rights_answer *ret)
{
	struct access_match m;

	ret->rule = NULL;
	if (!rights_are_ruled(s)) {
		ret->allowed = ((client->standing | RIGHTS_OF_ALL) &
		    ret->right) != 0;
		return;
	}
	access_match(s->access, client, &m);
	ret->allowed = access_allows(s->access, &m, namespace_index,
	    ret->right == ACCESS_ADMIN ? NULL : name, ret->right, &ret->rule);
}

unsigned
rights_of_terms(const struct core_terms *terms)
{
	return (terms->mode == LOCK_MODE_SHARED ? ACCESS_SHARE : ACCESS_TAKE) |
	    (terms->fail_closed ? ACCESS_FAIL_CLOSED : ACCESS_NONE);
}

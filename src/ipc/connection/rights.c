/*
 * What a client may do by the rules of access.
 */
#include <syslog.h>
#include <unistd.h>

#include "common/error.h"
#include "ipc/connection/rights.h"

/* What everybody may where there are no rules. */
#define RIGHTS_OF_ALL (ACCESS_ALL & ~(unsigned)(ACCESS_BREAK | ACCESS_ADMIN))

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

uint64_t
rights_explain_limit(const struct server *s,
    const struct access_client *client, enum access_limit which,
    const struct access_rule **ret_rule)
{
	struct access_match m;

	*ret_rule = NULL;
	if (!rights_are_ruled(s))
		return 0;
	access_match(s->access, client, &m);
	return access_limit(s->access, &m, which, ret_rule);
}

unsigned
rights_of_terms(const struct core_terms *terms)
{
	return (terms->mode == LOCK_MODE_SHARED ? ACCESS_SHARE : ACCESS_TAKE) |
	    (terms->fail_closed ? ACCESS_FAIL_CLOSED : ACCESS_NONE);
}

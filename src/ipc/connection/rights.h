/*
 * What a client may do by the rules of access (ipc/access.h). Without rules it
 * is what it was before there were any: everybody may use all locks, and
 * administrators break them and order the daemon about.
 */
#ifndef DDBLOCKD_IPC_CONNECTION_RIGHTS_H
#define DDBLOCKD_IPC_CONNECTION_RIGHTS_H

#include "ipc/access.h"
#include "ipc/connection/connection.h"

/* A row of a listing is for a client that has both. */
#define RIGHTS_LISTED (ACCESS_SEE | ACCESS_LIST)

/* Other rules from now on: borrowed until the next ones. */
void rights_configure(struct server *, const struct access *);
/* Are there any? */
bool rights_are_ruled(const struct server *);

/* match.c: which are for it; NULL: there is no memory to find it out, so it may
 * do nothing. */
const struct access_match *rights_match(struct connection *);

/* It has just connected: what only then can be known of it. */
void rights_begin(struct connection *);
/* Do the rules leave room for this connection, with those of its user? */
bool rights_have_room(struct connection *);
/* What its user may have at the most by the rules, in @room; NULL: they do not
 * say. */
const struct core_user_limits *rights_limits(struct connection *,
    struct core_user_limits *room);

/*
 * May it do all of @rights with this lock, or (NULL) with the namespace as a
 * whole? 0, or DDBLOCK_E_DENIED with the reason, and a line in the log.
 */
int rights_check(struct connection *, uint32_t namespace_index,
    const struct key *name, unsigned rights);
/* The same for some lock whose key begins so. */
int rights_check_some(struct connection *, uint32_t namespace_index,
    struct key prefix, unsigned rights);

/* As rights_check(), without a word. */
bool rights_allow(struct connection *, uint32_t namespace_index,
    struct key name, unsigned rights);
/* Each lock of the namespace? */
bool rights_allow_each(struct connection *, uint32_t namespace_index,
    unsigned rights);

/* What a user may that is not connected now, and which rule says so (NULL:
 * none). @ret->right is set before. */
struct rights_answer {
	unsigned right;
	bool allowed;
	const struct access_rule *rule;
};
void rights_explain(const struct server *, const struct access_client *,
    uint32_t namespace_index, const struct key *name,
    struct rights_answer *ret);
/* And to what its rules limit it (access_limit()). */
uint64_t rights_explain_limit(const struct server *,
    const struct access_client *, enum access_limit,
    const struct access_rule **ret_rule);
/* Its standing; root is that of the daemon's own pid namespace. */
unsigned rights_standing_of(const struct server *,
    const struct access_client *);

/* What an acquire with these terms takes. */
unsigned rights_of_terms(const struct core_terms *);

#endif

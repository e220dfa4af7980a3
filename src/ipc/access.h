/*
 * Rules of access: which client may do what with which locks. Pure.
 *
 * A rule says for which clients it is (user, group, unit), for which locks
 * (namespaces, beginnings of keys) and what they may do. The first rule that is
 * for the client and for the lock decides; what none decides is refused, except
 * to administrators. For these only rules count that name somebody.
 *
 * The unit of a client may not be known, for example because its process has
 * ended. Then a rule for a unit may be for it or not: what it allows counts
 * only if the rules after it allow it, too.
 */
#ifndef DDBLOCKD_IPC_ACCESS_H
#define DDBLOCKD_IPC_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/key.h"

#define ACCESS_RULES_MAX 128
#define ACCESS_UNIT_MAX 512	/* with its slices, and a NUL */
#define ACCESS_TEXT_MAX 384	/* the longest refusal fits */
#define ACCESS_TITLE_MAX 160

/* A bit each. */
enum access_right {
	ACCESS_NONE = 0,
#define ACCESS(name, bit, ...) ACCESS_##name = 1 << (bit),
#include "ipc/access.def"
	ACCESS_RIGHTS_END,
	ACCESS_ALL = 2 * (ACCESS_RIGHTS_END - 1) - 1,
};

/* What a rule limits, for each user by itself. */
enum access_limit {
#define ACCESS_LIMIT(name, ...) ACCESS_LIMIT_##name,
#include "ipc/access.def"
	ACCESS_LIMITS
};

struct access_rule {
	const char *name;
	const char *file;	/* where it stands; NULL: nowhere */
	unsigned line;
	const char *title;	/* access_title(), for as long as it is; or
				 * NULL */
	uid_t *users;		/* any of these; none: all */
	size_t n_users;
	gid_t *groups;
	size_t n_groups;
	const char **units;
	size_t n_units;
	uint64_t namespaces;	/* a bit each */
	const char **prefixes;	/* none: all keys */
	size_t n_prefixes;
	unsigned rights;
	uint64_t limits[ACCESS_LIMITS];	/* 0: it does not limit that */
};

struct access {
	struct access_rule *rules;	/* in the order of the file */
	size_t n_rules;
};

struct access_client {
	uid_t uid;
	gid_t gid;
	const gid_t *groups;	/* the others */
	size_t n_groups;
	const char *unit;	/* access_unit(); NULL: not known */
	unsigned standing;	/* what it may where no rule decides; not 0:
				 * it is an administrator */
};

/* Which rules are for a client, a bit each. */
struct access_match {
	uint64_t sure[ACCESS_RULES_MAX / 64];
	uint64_t perhaps[ACCESS_RULES_MAX / 64];
	unsigned standing;
};

/* Does any rule ask for a group, or for a unit? Then a client has to have
 * them. */
bool access_asks_groups(const struct access *);
bool access_asks_units(const struct access *);

void access_match(const struct access *, const struct access_client *,
    struct access_match *ret);

/*
 * May it do all of @rights with this lock? NULL: with the namespace as a whole,
 * which no rule decides that is for some keys only. @ret_rule decides that;
 * NULL: none does.
 */
bool access_allows(const struct access *, const struct access_match *,
    uint32_t namespace_index, const struct key *name, unsigned rights,
    const struct access_rule **ret_rule);

/* With some lock whose key begins like this? If not, @ret_rule as above. Locks
 * that rules hide from each other count as some. */
bool access_allows_some(const struct access *, const struct access_match *,
    uint32_t namespace_index, struct key prefix, unsigned rights,
    const struct access_rule **ret_rule);
/* With each lock of the namespace? */
bool access_allows_each(const struct access *, const struct access_match *,
    uint32_t namespace_index, unsigned rights);

/* What the rules for this client limit its user to, and which does; 0: none.
 * The first one that has such a limit counts. */
uint64_t access_limit(const struct access *, const struct access_match *,
    enum access_limit, const struct access_rule **ret_rule);
/* Does any rule limit this? */
bool access_has_limit(const struct access *, enum access_limit);

/* The right of this word ("fail-closed"), ACCESS_ALL, or 0: there is none. */
unsigned access_right(const char *word, size_t length);
/* The word of one right. */
const char *access_word(unsigned right);
/* The setting of one limit. */
const char *access_limit_word(enum access_limit);

/* Which it is, for people: `rule "NAME" (line 3 of FILE)`. */
void access_title(const struct access_rule *, char ret[ACCESS_TITLE_MAX]);

/* Where it stands: FILE:LINE. */
void access_where(const struct access_rule *, char ret[ACCESS_TEXT_MAX]);

/* Why not: `rule "NAME" (line 3 of FILE) does not let uid 7 take "k" in
 * namespace "n"`. Of several rights it names the first. */
void access_refusal(const struct access_rule *, uid_t uid, unsigned right,
    const char *namespace_name, const struct key *name,
    char ret[ACCESS_TEXT_MAX]);

/*
 * access_unit.c: the unit of the service manager that a process belongs to,
 * with the slices that it is in ("system.slice/a.service"), from its file
 * /proc/PID/cgroup; empty: none. False: that cannot be told.
 *
 * What is below a unit is that unit's own, and may have any name.
 */
bool access_unit(const char *cgroup, char ret[ACCESS_UNIT_MAX]);
/* Is it this unit, or in this slice? */
bool access_is_unit(const char *unit, const char *name);

#endif

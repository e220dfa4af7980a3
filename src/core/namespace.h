/*
 * What a namespace's record format decides, asked here and nowhere else; what
 * is known of its store; and what its format cannot express.
 */
#ifndef DDBLOCKD_CORE_NAMESPACE_H
#define DDBLOCKD_CORE_NAMESPACE_H

#include "core/state.h"

/* ---- how holds live there --------------------------------------------- */

/* By the sessions of daemons: an item of its own renews all of a host. */
static inline bool
namespace_has_sessions(const struct namespace *ns)
{
	return ns->settings.life == LOCK_LIFE_SESSION;
}

/* Each by its own record: its version changes, or it has a deadline. */
static inline bool
namespace_renews_records(const struct namespace *ns)
{
	return ns->settings.life == LOCK_LIFE_RECORD ||
	    ns->settings.life == LOCK_LIFE_DEADLINE;
}

/* Each record has a version, which changes with each renewal, and may come
 * back: looks alone prove nothing. */
static inline bool
namespace_has_versions(const struct namespace *ns)
{
	return ns->settings.life == LOCK_LIFE_RECORD;
}

/* Each record says when it ends. */
static inline bool
namespace_has_deadlines(const struct namespace *ns)
{
	return ns->settings.life == LOCK_LIFE_DEADLINE;
}

/* A hold ends by its release or a break only. */
static inline bool
namespace_never_ends(const struct namespace *ns)
{
	return ns->settings.life == LOCK_LIFE_NEVER;
}

static inline bool
namespace_has_tokens(const struct namespace *ns)
{
	return (ns->settings.lacks & CORE_LACKS_TOKENS) == 0;
}

/* The namespace whose records are held beside those of @ns; NULL: none. */
struct namespace *namespace_bridge(const struct namespace *);

/* Has that tokens? Then two are compared. */
bool namespace_levels_tokens(const struct namespace *);

/* ---- its store -------------------------------------------------------- */

/* Remember what the store's trouble is, or that it is over. */
void namespace_trouble(struct namespace *, const struct outcome *);

/* Would waiting longer help against this code? */
bool namespace_code_is_definite(int code);

/* ---- what its format cannot express ----------------------------------- */

/* Of what a client changes in a lock that it holds, or asks of one: 0, or
 * DDBLOCK_E_UNSUPPORTED with the reason, for people. */
int format_refuse_change(const struct namespace *, const struct change *,
    char *ret_text, size_t text_size);
int format_refuse(const struct namespace *, const struct core_request *,
    char *ret_text, size_t text_size);

/* Is there the lock that somebody wants only if there is one? */
bool format_has_record(const struct namespace *, const struct lock_record *);

/* What a client gets that leaves the policy open. */
bool format_is_fail_closed(const struct namespace *,
    const struct core_request *);

#endif

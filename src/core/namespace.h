/*
 * What a namespace's record format decides, asked here and nowhere else; what
 * is known of its store; and what its format cannot express.
 */
#ifndef DDBLOCKD_CORE_NAMESPACE_H
#define DDBLOCKD_CORE_NAMESPACE_H

#include "core/state.h"
#include "core/succession.h"

/* ---- what its record format decides ----------------------------------- */

/* How holds live there, and whether they have tokens: once, at the start. */
void namespace_set_format(struct namespace *);

/* Its records are held beside those of the namespace @bridge. */
void namespace_set_bridge(struct namespace *, struct namespace *bridge);

/* ---- what it grants ---------------------------------------------------- */

/* 0, or why nothing new is granted there: DDBLOCK_E_SHUTTING_DOWN, _DRAINING,
 * _UNKNOWN_NAMESPACE. */
int namespace_refusal(const struct namespace *);

/* ---- in the process before --------------------------------------------- */

/* The namespace that had this index there; NULL: there is none. */
struct namespace *namespace_inherited(struct core *,
    const struct core_legacy *, uint32_t index);

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

/* Does the lock exist, for only_if_exists? */
bool format_has_record(const struct namespace *, const struct lock_record *);

#endif

/*
 * Putting together what a step asks its caller to do. No action needs memory of
 * its own: each lives in the object that it is about.
 */
#ifndef DDBLOCKD_CORE_ACTION_H
#define DDBLOCKD_CORE_ACTION_H

#include "core/state.h"

/* What an operation is for, so that its outcome finds its way. */
enum core_about {
	CORE_ABOUT_SESSION = 1,		/* struct session */
	CORE_ABOUT_OBSERVATION,		/* struct observation */
	CORE_ABOUT_LOCK,		/* struct lock */
	CORE_ABOUT_AUDIT,		/* struct namespace */
	CORE_ABOUT_LISTING,		/* struct request */
	CORE_ABOUT_BREAK,		/* struct request */
	CORE_ABOUT_RAISE,		/* struct request */
	CORE_ABOUT_WATCHES,		/* struct namespace */
	CORE_ABOUT_MULTI,		/* struct together */
};

void action_add(struct core *, struct core_action *, enum core_action_type);
void action_remove(struct core *, struct core_action *);

/* Is it in this step's list? The next step begins with an empty one. */
bool action_is_due(const struct core_action *);
void action_forget_all(struct core *);

void action_hint(struct core *, const struct namespace *,
    struct ident session, enum core_hint_kind, uint64_t digest);
void action_fill(struct core *, struct operation *, struct namespace *,
    enum operation_kind, uint64_t deadline_ms);
void action_submit(struct core *, struct core_submit *, struct namespace *,
    enum operation_kind, uint64_t deadline_ms, enum core_about, void *owner);

#endif

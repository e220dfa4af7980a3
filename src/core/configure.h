/*
 * What is configured: the making of namespaces, when the core is made and
 * later, and other settings for those that there are.
 */
#ifndef DDBLOCKD_CORE_CONFIGURE_H
#define DDBLOCKD_CORE_CONFIGURE_H

#include "core/state.h"

/*
 * All of @config that is new, and what may be another of the rest. Either all
 * of it happens, or nothing.
 *
 * DDBLOCK_E_BAD_REQUEST
 *     The timings of a namespace contradict each other, or what may not change
 *     is another, or a namespace is missing.
 * DDBLOCK_E_NOMEM, DDBLOCK_E_SHUTTING_DOWN
 */
int configure(struct core *, const struct core_config *config);

/* Make the namespaces from number core->n_namespaces on. As above; what was
 * made then is counted, unless all is undone by configure(). */
int configure_namespaces(struct core *, const struct core_config *config);

void configure_free_namespace(struct core *, struct namespace *);

/* What is gone leaves no room where a limit was lowered. After each step, while
 * there is more than a limit allows. */
void configure_settle_bounds(struct core *);

#endif

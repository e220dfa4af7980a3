/*
 * ERRAND_FETCH: one small HTTP exchange on a connection of its own: the
 * services of credentials are asked every quarter of an hour or so, and each
 * other one is another host.
 */
#ifndef DDBLOCKD_IDENTITY_PROVIDER_FETCH_H
#define DDBLOCKD_IDENTITY_PROVIDER_FETCH_H

#include <stdint.h>

#include "identity/errand.h"

struct event_base;
struct provider_fetch;

/*
 * @wall_s: the time that goes into a signature.
 *
 * DDBLOCK_E_BAD_REQUEST (the URL), DDBLOCK_E_LIMIT, DDBLOCK_E_NOMEM,
 * DDBLOCK_E_SYSTEM
 */
int provider_fetch_start(struct event_base *, const struct errand *, uint64_t
    wall_s, errand_done_fn, void *arg, struct provider_fetch **ret);

/* No answer comes. Accepts NULL. */
void provider_fetch_stop(struct provider_fetch *);

#endif

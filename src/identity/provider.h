/*
 * Performs the errands of identity.h inside the event loop, and tells those
 * that listen of what came of it. Never blocks: files are read and written on a
 * thread, programs are children with a time limit, HTTP goes over curl multi.
 */
#ifndef DDBLOCKD_IDENTITY_PROVIDER_H
#define DDBLOCKD_IDENTITY_PROVIDER_H

#include <stdbool.h>
#include <stdint.h>

#include "identity/identity.h"

struct event_base;
struct provider;
struct provider_listener;

/* An attempt has ended: see provider_view(). @changed: credentials or
 * parameters changed. From the loop. */
typedef void (*provider_heard_fn)(void *arg, bool changed);

/* It begins at once. DDBLOCK_E_NOMEM */
int provider_new(struct event_base *, const struct identity_config *,
    struct provider **ret);

/* Stops what is under way; a child is killed and waited for. Wipes. There may
 * be no listener any more. Accepts NULL. */
void provider_free(struct provider *);

/* Hear of each attempt from now on. DDBLOCK_E_NOMEM */
int provider_listen(struct provider *, provider_heard_fn, void *arg,
    struct provider_listener **ret);

/* Not from within what is heard. Accepts NULL. */
void provider_unlisten(struct provider *, struct provider_listener *);

uint32_t provider_listeners(const struct provider *);

/* As identity_view(), with the time of now. */
void provider_view(const struct provider *, struct identity_view *ret);

/* identity_rejected(). */
void provider_rejected(struct provider *, const struct credentials *used);

/* The endpoint's clock as it became known from an answer: expiry is judged by
 * it, as the host's may be wrong. @difference_ms: endpoint's - host's. */
void provider_set_clock(struct provider *, int64_t difference_ms);

#endif

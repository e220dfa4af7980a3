/*
 * Performs what identity.h wishes inside the event loop, and tells who
 * subscribed of new credentials. Never blocks: files are read and written on a
 * thread, programs are children with a time limit, HTTP goes over curl multi.
 */
#ifndef DDBLOCKD_AWS_PROVIDER_H
#define DDBLOCKD_AWS_PROVIDER_H

#include <stdbool.h>
#include <stdint.h>

#include "aws/identity.h"

struct event_base;
struct provider;

/* There is something new: provider_view(). From the loop. */
typedef void (*provider_changed_fn)(void *arg);

/* DDBLOCK_E_NOMEM, DDBLOCK_E_SYSTEM */
int provider_new(struct event_base *, const struct identity_config *,
    provider_changed_fn changed, void *arg, struct provider **ret);

/* Stops what is under way; children are killed and waited for. Wipes. Accepts
 * NULL. */
void provider_free(struct provider *);

void provider_view(const struct provider *, struct identity_view *ret);

/* identity_rejected(). */
void provider_rejected(struct provider *, const struct credentials *used);

/* The endpoint's clock as it became known from an answer: expiry is judged by
 * it, as the host's may be wrong. @difference_ms: endpoint's - host's. */
void provider_set_clock(struct provider *, int64_t difference_ms);

#endif

/*
 * The credentials of all stores of one process: one provider of credentials for
 * all namespaces that say the same. Its changes are news for the log, once per
 * change.
 */
#ifndef DDBLOCKD_STORE_DYNAMODB_PROVIDERS_H
#define DDBLOCKD_STORE_DYNAMODB_PROVIDERS_H

#include <stddef.h>

#include "store/kind.h"

struct provider;
struct dynamodb_providers;

/* DDBLOCK_E_NOMEM */
int dynamodb_providers_new(struct event_base *, store_say_fn, void *say_arg,
    struct dynamodb_providers **ret);

/* After their users. Accepts NULL. */
void dynamodb_providers_free(struct dynamodb_providers *);

/*
 * That of a namespace, for its listeners. @text (at least 512 bytes) says what
 * is wrong in its settings, which is permanent.
 *
 * DDBLOCK_E_BAD_REQUEST, DDBLOCK_E_NO_CREDENTIALS, DDBLOCK_E_NOMEM
 */
int dynamodb_providers_get(struct dynamodb_providers *,
    const struct store_opening *, struct provider **ret, char *text,
    size_t size);

/* Free those that no store listens to. Not from within what they tell. */
void dynamodb_providers_trim(struct dynamodb_providers *);

#endif

/*
 * Who the stores of this daemon are to AWS: one provider of credentials for
 * all namespaces that say the same. What becomes of it goes into the log, once
 * per change.
 */
#ifndef DDBLOCKD_DAEMON_PROVIDERS_H
#define DDBLOCKD_DAEMON_PROVIDERS_H

#include <stddef.h>

#include "daemon/config.h"

struct event_base;
struct provider;
struct providers;

/* DDBLOCK_E_NOMEM */
int providers_new(struct event_base *, struct providers **ret);

/* After those who use them. Accepts NULL. */
void providers_free(struct providers *);

/*
 * That of a namespace, which must live as long. @text (at least 512 bytes)
 * says what is wrong in its settings, which no time cures.
 *
 * DDBLOCK_E_BAD_REQUEST, DDBLOCK_E_NO_CREDENTIALS, DDBLOCK_E_NOMEM
 */
int providers_get(struct providers *, const struct config_namespace *,
    struct provider **ret, char *text, size_t size);

#endif

/*
 * The stores of the namespaces: opens them, whichever kinds they are of.
 */
#ifndef DDBLOCKD_DAEMON_STORES_H
#define DDBLOCKD_DAEMON_STORES_H

#include <stdbool.h>
#include <stddef.h>

#include "daemon/config.h"
#include "store/store.h"

struct event_base;
struct stores;

/* DDBLOCK_E_NOMEM */
int stores_new(struct event_base *, struct stores **ret);

/* After the stores that it has opened. Accepts NULL. */
void stores_free(struct stores *);

/*
 * Open the namespace's store, which borrows both. @look_only: it is only asked
 * about itself, and makes nothing. @ret_text (at least 512 bytes) says what is
 * wrong and what to do.
 */
int stores_open(struct stores *, const struct config_namespace *,
    const char *host, bool look_only, store_outcome_fn, void *outcome_arg,
    struct store **ret, char *ret_text, size_t text_size);

/* The settings of an open store that a reload may change. What fails is in the
 * log, and does not change. */
void stores_configure(struct stores *, const struct config_namespace *,
    struct store *);

/* Of a store that is only asked about itself: nothing is submitted. */
void stores_no_outcome(void *arg, struct operation *, const struct outcome *);

/* What to do about an error of a store, for people; NULL: nothing helps. */
const char *stores_advice(int code);

#endif

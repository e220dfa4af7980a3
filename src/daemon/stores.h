/*
 * Which store serves a namespace.
 */
#ifndef DDBLOCKD_DAEMON_STORES_H
#define DDBLOCKD_DAEMON_STORES_H

#include <stdbool.h>

#include "daemon/config.h"
#include "daemon/providers.h"
#include "store/store.h"

/*
 * Open the namespace's store. @check: only look (--check-table), make nothing.
 * @ret_text (at least 512 bytes) says what is wrong and what to do.
 */
int stores_open(struct event_base *, struct providers *,
    const struct config_namespace *, const char *host, bool check,
    store_outcome_fn, void *outcome_arg, struct store **ret, char *ret_text,
    size_t text_size);

/* Of a store that is only asked about itself: nothing is submitted. */
void stores_no_outcome(void *arg, struct operation *, const struct outcome *);

/* What to do about an error of a store, for people; NULL: nothing helps. */
const char *stores_advice(int code);

#endif

/*
 * ERRAND_READ and ERRAND_WRITE: a small file, on a thread, because a file may
 * be on a network, or a pipe, and then reading it takes as long as it likes.
 * The thread is never waited for: its data belong to both sides, and are freed
 * by the last of them.
 */
#ifndef DDBLOCKD_IDENTITY_PROVIDER_FILE_H
#define DDBLOCKD_IDENTITY_PROVIDER_FILE_H

#include "identity/errand.h"

struct event_base;
struct provider_file;

/*
 * DDBLOCK_E_LIMIT
 *     Too many of those before still hang.
 * DDBLOCK_E_NOMEM, DDBLOCK_E_SYSTEM
 */
int provider_file_start(struct event_base *, const struct errand *,
    errand_done_fn, void *arg, struct provider_file **ret);

/* No answer comes. Accepts NULL. */
void provider_file_stop(struct provider_file *);

#endif

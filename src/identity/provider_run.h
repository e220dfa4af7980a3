/*
 * ERRAND_RUN: a program without a shell, for its output. It is a process group
 * of its own, so that all of it can be killed when its time is over, it prints
 * too much, or its answer is not wanted any more; and it is always waited for.
 * It inherits the environment, as with the SDKs; its input and its error output
 * are /dev/null: its messages may be secret.
 */
#ifndef DDBLOCKD_IDENTITY_PROVIDER_RUN_H
#define DDBLOCKD_IDENTITY_PROVIDER_RUN_H

#include "identity/errand.h"

struct event_base;
struct provider_run;

/* @ret_text says what is wrong with the command. DDBLOCK_E_BAD_REQUEST,
 * DDBLOCK_E_LIMIT, DDBLOCK_E_NOMEM, DDBLOCK_E_SYSTEM (errno) */
int provider_run_start(struct event_base *, const struct errand *,
    errand_done_fn, void *arg, struct provider_run **ret, const char
    **ret_text);

/* It is killed; no answer comes. Accepts NULL. */
void provider_run_stop(struct provider_run *);

#endif

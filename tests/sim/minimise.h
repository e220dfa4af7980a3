/*
 * Reduces a plan to the steps that a failure needs, so that a person can read
 * it.
 */
#ifndef DDBLOCKD_TESTS_MINIMISE_H
#define DDBLOCKD_TESTS_MINIMISE_H

#include "plan.h"

/* Does this plan fail in the same way? */
typedef bool minimise_fn(void *arg, const struct plan *);

/*
 * Find a small plan that still fails, asking @fails at most @runs_max times.
 * @ret is a plan of its own; of a plan that does not fail, a copy.
 */
void minimise(const struct plan *, minimise_fn *fails, void *arg,
    unsigned runs_max, struct plan *ret);

#endif

/*
 * The judge on what an administrator orders of a host: D1, D2 and 7.
 */
#ifndef DDBLOCKD_TESTS_JUDGE_DRAIN_H
#define DDBLOCKD_TESTS_JUDGE_DRAIN_H

#include "judge_state.h"

void judge_drain_begin(struct judge *, unsigned host);
void judge_drain_granted(struct judge *, const struct judge_client *,
    const struct judge_request *);
void judge_drain_answered(struct judge *, const struct fact *);

#endif

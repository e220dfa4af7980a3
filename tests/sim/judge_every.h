/*
 * Once per period: of two runs of which the first counts, the second begins so
 * much later.
 */
#ifndef DDBLOCKD_TESTS_JUDGE_EVERY_H
#define DDBLOCKD_TESTS_JUDGE_EVERY_H

#include "judge_state.h"

void judge_every_granted(struct judge *, const struct judge_hold *);
void judge_every_released(struct judge *, const struct judge_hold *, int code);

#endif

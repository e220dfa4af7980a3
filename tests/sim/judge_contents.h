/*
 * The judge's state of the data and attributes that clients keep in locks.
 * Private to judge*.c.
 */
#ifndef DDBLOCKD_TESTS_JUDGE_CONTENTS_H
#define DDBLOCKD_TESTS_JUDGE_CONTENTS_H

#include "judge_state.h"

void judge_contents_asked(struct judge *, const struct fact *);
void judge_contents_over(struct judge *, const struct judge_request *);
void judge_contents_wrote(struct judge *, struct judge_lock *,
    const struct fact *);
void judge_contents_told(struct judge *, const struct judge_hold *,
    const struct judge_request *, const struct fact *);
void judge_contents_answered(struct judge *, const struct judge_hold *,
    const struct judge_request *);
/* The contents that a release brings are written first. */
void judge_contents_released(struct judge *, struct judge_hold *,
    const struct fact *);
void judge_contents_free_all(struct judge *);

#endif

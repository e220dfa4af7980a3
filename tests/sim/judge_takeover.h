/* Takeovers: what a daemon keeps of what the one before it held. */
#ifndef DDBLOCKD_TESTS_JUDGE_TAKEOVER_H
#define DDBLOCKD_TESTS_JUDGE_TAKEOVER_H

#include "judge_state.h"

void judge_takeover_kept(struct judge *, const struct fact *);
void judge_takeover_end(struct judge *, const struct fact *);

/* judge_client.c: what it asked is answered no more. */
void judge_client_deserted(struct judge *, struct judge_client *,
    bool killed);

#endif

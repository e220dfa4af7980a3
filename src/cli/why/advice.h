/*
 * What to do about it. It follows from the facts alone, so a test can go
 * through all of them.
 */
#ifndef DDBLOCKD_CLI_WHY_ADVICE_H
#define DDBLOCKD_CLI_WHY_ADVICE_H

#include "cli/why/verdict.h"

/* One thing to do: a sentence, and a command for it, which may be empty. */
struct why_advice {
	struct buffer text;
	struct buffer command;
};

#define WHY_ADVICE_MAX 8

struct why_advices {
	struct why_advice all[WHY_ADVICE_MAX];
	size_t n;
};

void why_advise(const struct why_facts *, enum why_state,
    struct why_advices *ret);
void why_advices_done(struct why_advices *);

#endif

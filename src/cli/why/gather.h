/*
 * The facts about a lock: what the daemon answers, and /proc.
 */
#ifndef DDBLOCKD_CLI_WHY_GATHER_H
#define DDBLOCKD_CLI_WHY_GATHER_H

#include "cli/base/cli.h"
#include "cli/why/facts.h"

/* Ask; 0, or the exit status after a complaint. That the store or a rule of
 * access did not let the daemon tell is a fact, and no failure. */
int why_gather(const struct cli *, struct ddblock *, const char *key,
    struct why_facts *ret);
void why_facts_done(struct why_facts *);

#endif

/*
 * The answer: for people, and as JSON.
 */
#ifndef DDBLOCKD_CLI_WHY_REPORT_H
#define DDBLOCKD_CLI_WHY_REPORT_H

#include "cli/why/advice.h"

/* @lately is what the daemon did about it, as why_lately() has it: lines for
 * people, or an object. */
void why_report(struct buffer *, const struct why_facts *, enum why_state,
    const struct why_advices *, const char *lately);
void why_report_json(struct buffer *, const struct why_facts *,
    enum why_state, const struct why_advices *, const char *lately);

#endif

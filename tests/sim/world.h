/*
 * A world: a fleet of daemons, their clients, the network between them and
 * the table, in virtual time, as a plan says. Each daemon is the real core
 * with the real record format, translation, errors and policy of attempts over
 * the model of DynamoDB; each fact goes to the judge, and the history ends
 * with the first finding.
 */
#ifndef DDBLOCKD_TESTS_WORLD_H
#define DDBLOCKD_TESTS_WORLD_H

#include <stdio.h>

#include "coverage.h"
#include "judge.h"
#include "plan.h"

/* Lines of a trace, by their words in a plan's "trace". */
enum world_trace {
	WORLD_TRACE_ASK = 1,	/* "ask": what clients do */
	WORLD_TRACE_TOLD = 2,	/* "told": replies and notices */
	WORLD_TRACE_BEAT = 4,	/* "beat": our sessions' renewals */
	WORLD_TRACE_STORE = 8,	/* "store": other operations, and outcomes */
	WORLD_TRACE_FAULT = 16,	/* "fault": what befell a message */
	WORLD_TRACE_SCRIPT = 32, /* "script": what befell hosts and table */
	WORLD_TRACE_TABLE = 64,	/* "table": how records changed */
	WORLD_TRACE_ALL = 127
};

/* The kinds of "told,script"; 0: there is an unknown word. */
unsigned world_trace_kinds(const char *words);

struct world_options {
	FILE *trace;		/* NULL: none */
	unsigned trace_kinds;
	struct coverage *coverage;	/* added to; NULL: not wanted */
};

struct world_result {
	bool guilty;
	struct judge_finding finding;
	struct judge_counts counts;
};

/* Ends the process if memory runs out. */
void world_run(const struct plan *, const struct world_options *,
    struct world_result *ret);

#endif

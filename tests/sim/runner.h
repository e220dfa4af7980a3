/*
 * Many histories: over several processes, until the first violation.
 */
#ifndef DDBLOCKD_TESTS_RUNNER_H
#define DDBLOCKD_TESTS_RUNNER_H

#include "world.h"

struct runner_job {
	const char *name;	/* a scenario's; NULL: a seed's */
	const char *path;	/* of the scenario's plan */
	uint64_t seed;
	bool foreign;		/* its plan is to have older clients */
	bool alone;		/* or one daemon only */
};

struct runner_report {
	bool guilty;
	struct runner_job job;	/* the first, in the order of jobs */
	struct judge_finding finding;
	uint64_t histories;
	struct coverage coverage;
};

struct runner_options {
	unsigned processes;
	bool progress;
	bool coverage;
	bool foreign;		/* seeds: all with older clients */
	bool alone;		/* seeds: one daemon only */
};

/* The plan of a job. False, with a message, if it cannot be read. */
bool runner_plan(const struct runner_job *, struct plan *ret);

/*
 * Run one history in a process of its own, so that a failed assertion is a
 * finding ("assert") like any other.
 */
void runner_try(const struct plan *, struct world_result *ret);

/* Run these scenarios, then these seeds. @first > @last: no seeds. */
void runner_run(const struct runner_job *scenarios, size_t n_scenarios,
    uint64_t first, uint64_t last, const struct runner_options *,
    struct runner_report *ret);

/* mutant.c of the build with seeded defects; the other build knows none. False:
 * there is no such mutant. */
bool runner_mutant(const char *name);

#endif

/*
 * The situations that histories have met: outcomes of operations, states of the
 * core, faults. A proof by simulation is worth as much as its histories reach,
 * so the runner adds these up, prints them and asserts them. Only numbers, so
 * that the counts of several processes can be added.
 *
 * States are read from the core's memory. The judge never does that.
 */
#ifndef DDBLOCKD_TESTS_COVERAGE_H
#define DDBLOCKD_TESTS_COVERAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/core.h"
#include "plan.h"

#define COVERAGE_OPERATIONS (OPERATION_SESSION_CLOSE + 1)
#define COVERAGE_OUTCOMES (OUTCOME_REFUSED + 1)
#define COVERAGE_STATES 8	/* of a grant, a lock, a session, an
				 * observation */

/* Our elements in a lock's record, or on their way there. */
enum coverage_use {
	COVERAGE_LOCK_ABSENT = 0,
	COVERAGE_LOCK_IDLE,		/* nothing */
	COVERAGE_LOCK_EXCLUSIVE,
	COVERAGE_LOCK_SHARED,		/* by one client here, or none yet */
	COVERAGE_LOCK_SHARED_MANY,	/* by several with one element */
	COVERAGE_LOCK_SEMAPHORE,	/* one element */
	COVERAGE_LOCK_SEMAPHORE_MANY,	/* several */
};

/* How a client held a lock. */
enum coverage_hold {
	COVERAGE_HOLD_MULTI = 0,
	COVERAGE_HOLD_MULTI_LIMITED,
	COVERAGE_HOLD_MAX,
	COVERAGE_HOLD_KEEPALIVE,
	COVERAGE_HOLD_DANGER,
	COVERAGE_HOLD_MANUAL,
	COVERAGE_HOLD_REENTRANT,
	COVERAGE_HOLD_CLOSED,
	COVERAGE_HOLD_CLOSED_LEFT,	/* when it went */
	COVERAGE_HOLD_STAYS,
	COVERAGE_HOLD_STAYS_LEFT,
	COVERAGE_HOLD_BRINGS,		/* data, when it comes, ... */
	COVERAGE_HOLD_NOTES,
	COVERAGE_HOLD_LEAVES,
	COVERAGE_HOLD_PROCESS,
	COVERAGE_HOLD_PROCESS_LEFT,	/* by its client */
	COVERAGE_HOLD_AT_LEAST,
	COVERAGE_HOLD_EVERY,
	COVERAGE_HOLD_EVERY_AT_END,
	COVERAGE_HOLD_RESUMES,
	COVERAGE_HOLD_RESUMES_CUT,	/* by its daemon */
	COVERAGE_HOLDS
};

/* Situations of ours and older clients on one table. */
enum coverage_foreign {
	COVERAGE_FOREIGN_HISTORIES = 0,
	COVERAGE_FOREIGN_GRANTS,	/* to ours */
	COVERAGE_FOREIGN_BELIEFS,	/* of theirs, ... */
	COVERAGE_FOREIGN_MISTAKES,	/* wrong when they began, ... */
	COVERAGE_FOREIGN_CLASHES,	/* or beside another one's */
	COVERAGE_FOREIGN_CAME_BACK,	/* a version, by theirs */
	COVERAGE_FOREIGN_MARKS,		/* by ours, where versions count */
	COVERAGE_FOREIGN_BREAKS,	/* by ours */
	COVERAGE_FOREIGN_FROM_PEERS,	/* ours took a lock of theirs */
	COVERAGE_FOREIGN_BY_PEERS,	/* theirs took a lock of ours */
	COVERAGE_FOREIGNS
};

/* Situations of a fleet on its way over a bridge. */
enum coverage_fleet {
	COVERAGE_FLEET_HISTORIES = 0,
	COVERAGE_FLEET_MOVES,
	COVERAGE_FLEET_BOTH,		/* grants of two records */
	COVERAGE_FLEET_OLD_TO_BOTH,	/* of which another phase had it last */
	COVERAGE_FLEET_BOTH_TO_OLD,
	COVERAGE_FLEET_BOTH_TO_NATIVE,
	COVERAGE_FLEET_NATIVE_TO_BOTH,
	COVERAGE_FLEET_LOST_OLD,	/* the older record was taken */
	COVERAGE_FLEET_LOST_BEYOND,	/* or it ended by the other one */
	COVERAGE_FLEETS
};

#define COVERAGE_HISTORY_OPERATIONS 300
#define COVERAGE_HISTORY_HIT_PERMILLE 100

struct coverage {
	uint64_t histories;
	uint64_t operations;
	uint64_t operations_hit;	/* by a fault, at some time */
	uint64_t messages;
	uint64_t grants;
	uint64_t virtual_ms;
	/* of any history: */
	uint64_t hosts_min, keys_min, leases_min, operations_min;
	uint64_t hit_permille_min;	/* of its operations met a fault */
	uint64_t meagre;	/* histories with fewer of either: */
	uint64_t outcomes[COVERAGE_OPERATIONS][COVERAGE_OUTCOMES];
	/* from, to; 0 is "there is none" */
	uint64_t grants_moved[COVERAGE_STATES][COVERAGE_STATES];
	uint64_t locks[COVERAGE_STATES][COVERAGE_STATES];
	uint64_t sessions[COVERAGE_STATES][COVERAGE_STATES];
	uint64_t observations[COVERAGE_STATES][COVERAGE_STATES];
	/* histories that met it at least once */
	uint64_t messages_hit[MESSAGE_FAULTS];
	uint64_t steps_hit[STEP_KINDS];
	uint64_t holds_hit[COVERAGE_HOLDS];
	uint64_t together;	/* one watches, one has several, one breaks */
	/* histories with older clients, by their format: how often */
	uint64_t foreign[FORMATS][COVERAGE_FOREIGNS];
	uint64_t foreign_steps[FORMATS][STEP_KINDS];
	uint64_t foreign_holds[FORMATS][COVERAGE_HOLDS];
	uint64_t fleets[FORMATS][COVERAGE_FLEETS];
};

/* The state of one history until its end. */
struct coverage_history {
	uint64_t operations;
	uint64_t operations_hit;
	uint64_t messages;
	uint64_t grants;
	bool messages_hit[MESSAGE_FAULTS];
	bool steps_hit[STEP_KINDS];
	bool holds_hit[COVERAGE_HOLDS];
};

/* A lock was granted to a client on these terms; or its holder left. */
void coverage_granted(struct coverage_history *, const struct plan_step *);
void coverage_left(struct coverage_history *, const struct plan_step *,
    bool cut_off);
const char *coverage_hold_name(enum coverage_hold);

void coverage_add_history(struct coverage *, const struct plan *,
    const struct coverage_history *);
struct judge_counts;
void coverage_add_foreign(struct coverage *, const struct plan *,
    const struct coverage_history *, const struct judge_counts *);
void coverage_add(struct coverage *to, const struct coverage *from);

/* How a core's objects have moved on since the last look at it. */
struct coverage_eye;
struct coverage_eye *coverage_eye_new(void);
void coverage_eye_free(struct coverage_eye *);
void coverage_look(struct coverage *, struct coverage_eye *,
    const struct core *);

/* Tables for people. */
void coverage_print(const struct coverage *, FILE *);

/*
 * Are all situations reached often enough? Those that are not are printed. Rare
 * situations are required only of many histories.
 */
bool coverage_check(const struct coverage *, FILE *);

#endif

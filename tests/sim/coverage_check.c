/*
 * The situations that histories must reach, so that a proof by simulation is
 * worth something: every outcome of every operation, every step from one state
 * of the core to another, every fault often enough, and histories that are long
 * and bad enough. A situation that is not in the tables below is reported, too:
 * an unexpected transition is a defect, or a line that is missing here.
 */
#include "coverage.h"

#include <inttypes.h>

#include "dialect/dialect.h"

#define CHECK_HISTORIES_MIN 2000	/* fewer need not meet rare things */
#define CHECK_HOSTS 3
#define CHECK_KEYS 3
#define CHECK_LEASES 10
/* Of so many histories one may be meagre, by chance: where locks are kept, less
 * is asked. */
#define CHECK_MEAGRE_ONE_OF 800
#define CHECK_FAULT_PERCENT 1
/* Situations found only where all extras meet. */
#define CHECK_MULTI_PERCENT 20

enum { G_ABSENT, G_ASKS, G_UNSURE, G_HELD, G_RELEASES };
enum { L_ABSENT, L_IDLE, L_EXCLUSIVE, L_SHARED, L_MANY, L_SEMAPHORE,
	L_MULTI };
enum { S_ABSENT, S_OPENING, S_VALID, S_LOST, S_CLOSING };
enum { O_ABSENT, O_NEW, O_ALIVE, O_GONE, O_DEAD };

struct transition {
	unsigned from, to;
	bool rare;		/* it may be, but need not */
};

/* From one step of the core to the next, so some rows are two transitions at
 * once. The picture is in src/core/grant.c. */
static const struct transition check_grants[] = {
	{ G_ABSENT, G_ASKS, false },
	{ G_ABSENT, G_HELD, true },	/* one lock of a multi-lock */
	{ G_ABSENT, G_UNSURE, true },	/* inherited */
	{ G_ABSENT, G_RELEASES, true },
	{ G_ASKS, G_ABSENT, false },
	{ G_ASKS, G_UNSURE, false },
	{ G_ASKS, G_HELD, false },
	{ G_ASKS, G_RELEASES, false },
	{ G_UNSURE, G_ABSENT, false },
	{ G_UNSURE, G_HELD, false },
	{ G_UNSURE, G_RELEASES, false },
	{ G_HELD, G_ABSENT, false },
	{ G_HELD, G_RELEASES, false },
	{ G_RELEASES, G_ABSENT, false },
};

/* Our elements in a lock's record. */
static const struct transition check_locks[] = {
	{ L_ABSENT, L_IDLE, false },
	{ L_ABSENT, L_EXCLUSIVE, false },
	{ L_ABSENT, L_SHARED, false },
	{ L_ABSENT, L_SEMAPHORE, false },
	{ L_ABSENT, L_MANY, true },	/* inherited, and the next */
	{ L_ABSENT, L_MULTI, true },
	{ L_IDLE, L_ABSENT, false },
	{ L_IDLE, L_EXCLUSIVE, false },
	{ L_IDLE, L_SHARED, false },
	{ L_IDLE, L_SEMAPHORE, false },
	{ L_EXCLUSIVE, L_ABSENT, false },
	{ L_EXCLUSIVE, L_IDLE, false },
	{ L_EXCLUSIVE, L_SHARED, false },
	{ L_EXCLUSIVE, L_SEMAPHORE, false },
	{ L_EXCLUSIVE, L_MANY, true },		/* downgraded, and joined */
	{ L_EXCLUSIVE, L_MULTI, true },
	{ L_SHARED, L_ABSENT, false },
	{ L_SHARED, L_IDLE, false },
	{ L_SHARED, L_EXCLUSIVE, false },
	{ L_SHARED, L_MANY, false },
	{ L_SHARED, L_SEMAPHORE, true },
	{ L_MANY, L_ABSENT, true },
	{ L_MANY, L_IDLE, false },
	{ L_MANY, L_SHARED, false },
	{ L_SEMAPHORE, L_ABSENT, false },
	{ L_SEMAPHORE, L_IDLE, false },
	{ L_SEMAPHORE, L_EXCLUSIVE, false },
	{ L_SEMAPHORE, L_SHARED, true },
	{ L_SEMAPHORE, L_MULTI, false },
	{ L_MULTI, L_ABSENT, true },
	{ L_MULTI, L_IDLE, true },
	{ L_MULTI, L_EXCLUSIVE, true },	/* deleted by hand */
	{ L_MULTI, L_SHARED, true },
	{ L_MULTI, L_SEMAPHORE, false },
};

/* The picture is in src/core/session.c. */
static const struct transition check_sessions[] = {
	{ S_ABSENT, S_OPENING, false },
	{ S_ABSENT, S_VALID, true },	/* inherited, and the next */
	{ S_ABSENT, S_LOST, true },
	{ S_OPENING, S_ABSENT, false },
	{ S_OPENING, S_VALID, false },
	{ S_OPENING, S_LOST, true },	/* its answer took a lease */
	{ S_OPENING, S_CLOSING, true },
	{ S_VALID, S_ABSENT, true },
	{ S_VALID, S_LOST, false },
	{ S_VALID, S_CLOSING, false },
	{ S_LOST, S_ABSENT, true },
	{ S_LOST, S_CLOSING, false },
	{ S_CLOSING, S_ABSENT, false },
};

/* A dead session stays dead; it may be forgotten, and met again. */
static const struct transition check_observations[] = {
	{ O_ABSENT, O_NEW, false },
	{ O_NEW, O_ABSENT, true },
	{ O_NEW, O_ALIVE, false },
	{ O_NEW, O_GONE, false },
	{ O_NEW, O_DEAD, false },
	{ O_ALIVE, O_ABSENT, false },
	{ O_ALIVE, O_NEW, true },
	{ O_ALIVE, O_GONE, false },
	{ O_ALIVE, O_DEAD, false },
	{ O_GONE, O_ABSENT, true },
	{ O_GONE, O_NEW, true },
	{ O_GONE, O_ALIVE, true },
	{ O_GONE, O_DEAD, false },
	{ O_DEAD, O_ABSENT, false },
	{ O_DEAD, O_NEW, true },
};

static bool
check_states(const char *what, const struct transition *known, size_t n_known,
    const uint64_t counts[COVERAGE_STATES][COVERAGE_STATES], bool all,
    FILE *to)
{
	bool good = true;

	for (unsigned i = 0; i < COVERAGE_STATES; i++) {
		for (unsigned j = 0; j < COVERAGE_STATES; j++) {
			const struct transition *t = NULL;

			for (size_t k = 0; k < n_known; k++)
				if (known[k].from == i && known[k].to == j)
					t = &known[k];
			if (t == NULL && counts[i][j] > 0) {
				(void)fprintf(to, "coverage: a %s went from "
				    "state %u to %u, which is not foreseen\n",
				    what, i, j);
				good = false;
			} else if (t != NULL && all && !t->rare &&
			    counts[i][j] == 0) {
				(void)fprintf(to, "coverage: no %s went from "
				    "state %u to %u\n", what, i, j);
				good = false;
			}
		}
	}
	return good;
}

static bool
check_outcome_is_possible(enum operation_kind kind, enum outcome_kind outcome)
{
	/* Records shared with older clients are not counted here. */
	if (kind == OPERATION_REFRESH || kind == OPERATION_MARK)
		return false;
	return outcome != OUTCOME_CONFLICT || dialect_is_write(kind);
}

static bool
check_outcomes(const struct coverage *c, FILE *to)
{
	bool good = true;

	for (int i = 1; i < COVERAGE_OPERATIONS; i++) {
		for (int j = 1; j < COVERAGE_OUTCOMES; j++) {
			bool possible = check_outcome_is_possible(
			    (enum operation_kind)i, (enum outcome_kind)j);

			if (possible == (c->outcomes[i][j] > 0))
				continue;
			(void)fprintf(to, "coverage: %s %s ended in %s\n",
			    possible ? "no" : "some",
			    operation_kind_name((enum operation_kind)i),
			    outcome_kind_name((enum outcome_kind)j));
			good = false;
		}
	}
	return good;
}

static bool
check_often(const struct coverage *c, const char *what, uint64_t histories,
    uint64_t percent, FILE *to)
{
	if (histories * 100 >= c->histories * percent)
		return true;
	(void)fprintf(to, "coverage: only %" PRIu64 " histories met: %s\n",
	    histories, what);
	return false;
}

static bool
check_faults(const struct coverage *c, FILE *to)
{
	bool good = true;

	for (int i = 1; i < MESSAGE_FAULTS; i++)
		if (!plan_fault_is_scripted((enum message_fault)i))
			good &= check_often(c,
			    plan_fault_name((enum message_fault)i),
			    c->messages_hit[i], CHECK_FAULT_PERCENT, to);
	for (int i = 1; i < STEP_KINDS; i++)
		if (i != STEP_MESSAGE && i != STEP_MOVE &&
		    !plan_step_is_scripted((enum step_kind)i))
			good &= check_often(c,
			    plan_step_name((enum step_kind)i),
			    c->steps_hit[i], CHECK_FAULT_PERCENT, to);
	for (int i = 0; i < COVERAGE_HOLDS; i++)
		good &= check_often(c,
		    coverage_hold_name((enum coverage_hold)i),
		    c->holds_hit[i], CHECK_FAULT_PERCENT, to);
	good &= check_often(c, "a watch, a break and several keys together",
	    c->together, CHECK_MULTI_PERCENT, to);
	return good;
}

static bool
check_least(const char *what, uint64_t value, uint64_t least, FILE *to)
{
	if (value >= least)
		return true;
	(void)fprintf(to, "coverage: a history has only %" PRIu64 " %s, not %"
	    PRIu64 "\n", value, what, least);
	return false;
}

static bool
check_meagre(const struct coverage *c, FILE *to)
{
	if (c->meagre <= c->histories / CHECK_MEAGRE_ONE_OF)
		return true;
	(void)fprintf(to, "coverage: %" PRIu64 " histories have fewer than %d "
	    "operations, or fewer than %d of a thousand met a fault\n",
	    c->meagre, COVERAGE_HISTORY_OPERATIONS,
	    COVERAGE_HISTORY_HIT_PERMILLE);
	return false;
}

/* Each format, and takeovers in both directions; but a hold without end is
 * never taken over, and the older clients' own mistakes and clashes are few.
 */
static bool
check_foreign(const struct coverage *c, FILE *to)
{
	bool good = true;

	for (int i = FORMAT_AWSLABS; i < FORMATS; i++)
		for (int j = 0; j < COVERAGE_FOREIGNS; j++) {
			bool versions = i != FORMAT_JS_CLOSED &&
			    i != FORMAT_DLOCK;

			if (c->foreign[i][j] > 0 ||
			    j == COVERAGE_FOREIGN_MISTAKES ||
			    j == COVERAGE_FOREIGN_CLASHES ||
			    (!versions && (j == COVERAGE_FOREIGN_CAME_BACK ||
			    j == COVERAGE_FOREIGN_MARKS)) ||
			    (i == FORMAT_JS_CLOSED &&
			    j > COVERAGE_FOREIGN_BREAKS))
				continue;
			(void)fprintf(to, "not reached: %s with older clients,"
			    " column %d\n",
			    plan_format_name((enum plan_format)i), j + 1);
			good = false;
		}
	return good;
}

static bool
check_foreign_has(enum plan_format format, const char *what,
    uint64_t histories, FILE *to)
{
	if (histories > 0)
		return true;
	(void)fprintf(to, "not reached: %s with older clients, %s\n",
	    plan_format_name(format), what);
	return false;
}

/* The requests of our clients there. A hold without end has no lease, and no
 * terms. */
static bool
check_foreign_terms(const struct coverage *c, enum plan_format format,
    FILE *to)
{
	static const enum coverage_hold holds[] = { COVERAGE_HOLD_REENTRANT,
		COVERAGE_HOLD_MAX, COVERAGE_HOLD_KEEPALIVE,
		COVERAGE_HOLD_DANGER, COVERAGE_HOLD_MANUAL,
		COVERAGE_HOLD_STAYS, COVERAGE_HOLD_STAYS_LEFT,
		COVERAGE_HOLD_PROCESS, COVERAGE_HOLD_PROCESS_LEFT };
	static const enum step_kind steps[] = { STEP_RELEASE, STEP_RENEW,
		STEP_CANCEL, STEP_GET, STEP_LIST, STEP_WATCH, STEP_UNWATCH,
		STEP_DRAIN, STEP_CLOSE, STEP_BREAK, STEP_RESUME };
	bool ends = format != FORMAT_JS_CLOSED;
	size_t n_holds = sizeof(holds) / sizeof(holds[0]);
	size_t n_steps = sizeof(steps) / sizeof(steps[0]);
	bool good = true;

	for (size_t i = 0; i < (ends ? n_holds : 1); i++)
		good &= check_foreign_has(format, coverage_hold_name(holds[i]),
		    c->foreign_holds[format][holds[i]], to);
	if (format == FORMAT_AWSLABS || format == FORMAT_PYTHON)
		good &= check_foreign_has(format, "an attribute",
		    c->foreign_holds[format][COVERAGE_HOLD_NOTES], to);
	if (format == FORMAT_AWSLABS)
		good &= check_foreign_has(format, "data",
		    c->foreign_holds[format][COVERAGE_HOLD_BRINGS], to);
	for (size_t i = 0; i < n_steps - !ends; i++)
		good &= check_foreign_has(format, plan_step_name(steps[i]),
		    c->foreign_steps[format][steps[i]], to);
	return good;
}

/* Over each bridge a lock goes from each phase to the next, and back. */
static bool
check_fleets(const struct coverage *c, FILE *to)
{
	bool good = true;

	for (int i = FORMAT_AWSLABS; i < FORMATS; i++)
		for (int j = 0; j < COVERAGE_FLEETS; j++) {
			if (c->fleets[i][j] > 0 || i == FORMAT_JS_CLOSED)
				continue;
			(void)fprintf(to, "not reached: over a bridge from "
			    "%s, column %d\n",
			    plan_format_name((enum plan_format)i), j + 1);
			good = false;
		}
	return good;
}

bool
coverage_check(const struct coverage *c, FILE *to)
{
	bool all = c->histories >= CHECK_HISTORIES_MIN;
	bool good = true;

	good &= check_states("grant", check_grants,
	    sizeof(check_grants) / sizeof(check_grants[0]), c->grants_moved,
	    all, to);
	good &= check_states("lock", check_locks,
	    sizeof(check_locks) / sizeof(check_locks[0]), c->locks, all, to);
	good &= check_states("session", check_sessions,
	    sizeof(check_sessions) / sizeof(check_sessions[0]), c->sessions,
	    all, to);
	good &= check_states("observation", check_observations,
	    sizeof(check_observations) / sizeof(check_observations[0]),
	    c->observations, all, to);
	good &= check_least("hosts", c->hosts_min, CHECK_HOSTS, to);
	good &= check_least("keys", c->keys_min, CHECK_KEYS, to);
	good &= check_least("leases", c->leases_min, CHECK_LEASES, to);
	good &= check_meagre(c, to);
	if (all) {
		good &= check_outcomes(c, to);
		good &= check_faults(c, to);
		good &= check_foreign(c, to);
		for (int i = FORMAT_AWSLABS; i < FORMATS; i++)
			good &= check_foreign_terms(c, (enum plan_format)i,
			    to);
		good &= check_fleets(c, to);
	}
	return good;
}

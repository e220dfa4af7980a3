/*
 * The judge: reads facts, in their order in time, and says which invariant a
 * history breaks. It knows the promises (doc/safety.md) and the record format
 * (doc/records.md), and nothing of the implementation.
 *
 * The numbers are those of doc/safety.md, "Invariants": 1 to 8 are about the
 * answers to clients, T1, T2, ... about their times, the record rules R1, R2,
 * ... about the table, F1, F2, ... about turns; judge.c lists them. The order
 * of a lock's history (judge_order.c) is checked at the end.
 */
#ifndef DDBLOCKD_TESTS_JUDGE_H
#define DDBLOCKD_TESTS_JUDGE_H

#include "fact.h"

struct judge;

/* A namespace's settings for the judge; all hosts have the same. */
struct judge_rules {
	uint64_t lease_ms;
	uint64_t danger_ms;	/* 0: warnings are not judged */
	uint64_t margin_ms;
	uint32_t drift_ppm;
	uint64_t poll_ms;	/* the longest of any host, ... */
	uint64_t poll_least_ms;	/* ... and the shortest; 0: the same */
	uint64_t request_ms;	/* a store operation's deadline */
	uint64_t try_ms;	/* and who does not wait for it, is told */
	uint64_t audit_ms;
	uint64_t retention_s;	/* of free locks' items; 0: not judged */
	uint32_t handover_max;	/* 0: turns are not judged */
	uint32_t line_max;	/* 0: there are no lines */
	uint32_t sessions_max;	/* of a host, in the end; 0: not judged */
	uint64_t idle_ms;	/* how long a free lock may stay a daemon's: */
	bool keeps_idle;	/* any; else only what one client had alone */
	uint64_t lateness_ms;	/* a timer fires up to so late */
	uint64_t slack_ms;	/* round trips that 8 allows besides */
	uint32_t requests_per_client_max;	/* 0: not judged */
	uint32_t holds_per_client_max;		/* 0: not judged */
	bool all_may_resume;	/* there is room for all who come back */
	/*
	 * True where every write to the table is told (the simulator). False:
	 * there are only the journals of daemons, and rules that need the table
	 * are not judged.
	 */
	bool sees_table;
	/* Of each namespace: is its record format another than ours, ... */
	struct {
		bool is;
		bool tokens;		/* ... which has some? */
	} foreign[FACT_NAMESPACES_MAX];
	uint64_t skew_ms;	/* of wall clocks that records have times of */
	/*
	 * A key of namespace 0, which has an older format, and the same key of
	 * namespace 1 are one lock; the members above are those of namespace 1
	 * then.
	 */
	bool bridge;
	struct {
		uint64_t lease_ms, danger_ms, margin_ms;
	} old;
};

struct judge_finding {
	char invariant[16];	/* "1" to "8", "R3", "T1", "order" */
	uint64_t at_ms;
	char text[512];		/* one line, for people */
};

/* NULL: no memory. */
struct judge *judge_new(const struct judge_rules *, uint32_t n_namespaces);
void judge_free(struct judge *);

/*
 * Take a fact; its time is never before that of the last fact. All that was due
 * before it is judged first. False: a rule is broken (the first finding is
 * kept, and later facts are ignored).
 */
bool judge_fact(struct judge *, const struct fact *);

/* The history ends at that time: judge what was still due, and the order. */
bool judge_end(struct judge *, uint64_t at_ms);

/* NULL: no finding so far. */
const struct judge_finding *judge_finding(const struct judge *);

/* For reports. */
struct judge_counts {
	uint64_t grants;
	uint64_t losses;
	uint64_t changes;	/* that watchers were told of */
	uint64_t takeovers;	/* of dead holders */
	uint64_t handovers;	/* grants without a write of the lock */
	uint64_t beliefs;	/* of older clients, */
	uint64_t mistakes;	/* that were wrong when they began, */
	uint64_t clashes;	/* or beside another's */
	uint64_t taken_from_peers;	/* what was not free, ... */
	uint64_t taken_by_peers;	/* ... of ours */
	uint64_t came_back;	/* a version, by an older client */
	uint64_t marks;	/* by ours */
	uint64_t breaks;	/* of records that they share */
	/* Over a bridge: */
	uint64_t bridged;	/* grants of two records */
	uint64_t old_to_both;	/* grants after one of another phase */
	uint64_t both_to_old;
	uint64_t both_to_native;
	uint64_t native_to_both;
	uint64_t lost_old;	/* holds of two, as the older one was taken */
	uint64_t lost_beyond;	/* or for the native one, or the deadline */
};
void judge_count(const struct judge *, struct judge_counts *ret);

#endif

/*
 * Random plans: shared by their parts. Private to plan_random*.c.
 */
#ifndef DDBLOCKD_TESTS_PLAN_DICE_H
#define DDBLOCKD_TESTS_PLAN_DICE_H

#include "core/random.h"
#include "plan.h"

#define DICE_KEYS_MAX 6

/* How the clients of a key want it. */
struct dice_use {
	unsigned shared_percent;
	uint32_t limit;		/* of those; 0: none */
	unsigned other_percent;	/* of those, with another limit */
};

/* The extras that a plan may have beside locks of one key. */
enum dice_extra {
	DICE_MULTI = 1u << 0,		/* several keys at once */
	DICE_TERMS = 1u << 1,		/* of holds: max_hold, ... */
	DICE_DOWNGRADE = 1u << 2,
	DICE_WATCH = 1u << 3,
	DICE_BREAK = 1u << 4,
	DICE_CLOSED = 1u << 5,		/* fail-closed, and their breaks */
	DICE_STAYS = 1u << 6,		/* when their clients leave */
	DICE_KEEP = 1u << 7,		/* data and attributes */
	DICE_LINGER = 1u << 8,		/* and resumes of it */
	DICE_PROCESS = 1u << 9,		/* that outlives its client */
	DICE_EXTRAS_ALL = (1u << 10) - 1
};

/*
 * The mixture of seeds' plans: one in so many has older clients, and so many of
 * these have a bridge to a native table. Of the others so many have no extras,
 * and so many have all, each as often in the same history as it would be alone
 * (dice_has_all()); the rest have some extras.
 */
#define DICE_FOREIGN_ONE_OF 8
#define DICE_FLEET_PERCENT 40
#define DICE_PLAIN_PERCENT 40
#define DICE_ALL_PERCENT 30

struct dice {
	struct random random;
	struct plan *plan;
	unsigned extras;	/* bits of enum dice_extra */
	unsigned n_clients;
	unsigned n_keys;
	struct dice_use uses[DICE_KEYS_MAX];
	unsigned multi_percent;	/* of the requests are for several keys */
	/* Hours: there is a time without requests. */
	bool hours;
	uint64_t idle_from_ms, idle_to_ms;
};

/* Is it a plan in which everything is to meet everything else? */
bool dice_has_all(const struct dice *);

/* From then on the dice fall by these seeds alone. */
void dice_begin(struct dice *, const uint64_t seeds[4]);

/* 0 to @n - 1; @n is not 0. */
uint64_t dice(struct dice *, uint64_t n);
uint64_t dice_between(struct dice *, uint64_t least, uint64_t most);
bool dice_percent(struct dice *, unsigned percent);
/* One of @n, with the probability of its weight. */
unsigned dice_weighted(struct dice *, const unsigned *weights, unsigned n);
unsigned dice_host(struct dice *);
unsigned dice_other_host(struct dice *, unsigned host);

/*
 * A duration near a critical one: a margin, a lease, a lease stretched by the
 * drift, ...; rarely far from it.
 */
uint64_t dice_length(struct dice *);

/* @at_ms, a little earlier or later. */
uint64_t dice_near(struct dice *, uint64_t at_ms, uint64_t within_ms);

/* A step, unless it would come too late. NULL then. */
struct plan_step *dice_fault(struct dice *, enum step_kind, uint64_t at_ms,
    unsigned host);

/* The key of that number. */
void dice_key(const struct dice *, unsigned number, char *ret);

/* plan_clients.c */
void dice_clients(struct dice *);
/* A client of its own wants that lock. */
void dice_lock(struct dice *, uint64_t at_ms, unsigned host, unsigned key,
    uint64_t wait_ms, uint64_t hold_ms);

/* The extras of a lock, if the plan has them: terms of its own; contents; a
 * process that it is for, if all other extras allow that; resumes of it, last,
 * because they may add steps. */
void dice_terms(struct dice *, struct plan_step *lock);
void dice_keep(struct dice *, struct plan_step *lock);
void dice_process(struct dice *, struct plan_step *lock);
void dice_linger(struct dice *, struct plan_step *lock);
void dice_at_least(const struct dice *, struct plan_step *lock);
void dice_every(const struct dice *, struct plan_step *lock);
/* Something else than locking, or it watches. */
void dice_other(struct dice *, uint64_t at_ms, unsigned client, unsigned host,
    unsigned key);
void dice_watch(struct dice *, uint64_t at_ms, unsigned client, unsigned host,
    unsigned key);

/* Extras for one key only: @closed, or such terms. */
void dice_own(struct dice *, struct plan_step *lock, bool closed);

/* plan_faults.c */
void dice_faults(struct dice *);
void dice_orders(struct dice *);	/* of administrators */
/* One of the first two of these messages meets a fault, by these weights. NULL:
 * it would be too late. */
struct plan_step *dice_message(struct dice *, uint64_t at_ms, unsigned host,
    const enum operation_kind *kinds, size_t n_kinds,
    const unsigned weights[MESSAGE_FAULTS]);
/* Is it a fault that takes its time? */
bool dice_takes_time(const struct plan_step *);

/* plan_restored.c: a table that is restored, and tokens that are raised. */
void dice_restored(struct dice *);

/* plan_foreign.c: the whole plan except the order of its steps. */
void dice_foreign(struct dice *);

/* plan_fleet.c: such a plan gets a bridge, if its format allows it. */
void dice_fleet(struct dice *);

#endif

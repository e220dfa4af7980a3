/*
 * What a fleet is made of, beside its world. Private to fleet*.c; each
 * structure is changed only by the file that is named with it.
 *
 *     fleet +- clients   local programs: each is after one lock
 *           +- locks     by key: who has it, and what is measured of it
 *           +- capacity  of the table's partitions: left, and used
 *           +- figures   of the day
 */
#ifndef DDBLOCKD_TESTS_FLEET_STATE_H
#define DDBLOCKD_TESTS_FLEET_STATE_H

#include <uthash.h>

#include "fleet.h"
#include "world_state.h"

#define FLEET_KINDS (OPERATION_SESSION_CLOSE + 1)
#define FLEET_JOIN_MS 5000	/* in which all hosts start, */
#define FLEET_BEGIN_MS 15000	/* and the day begins */
#define FLEET_READ_UNITS 3000	/* a second, of a partition */
#define FLEET_WRITE_UNITS 1000

struct fleet;

/* ---- fleet_client.c ---- */
enum fleet_client_state {
	CLIENT_IDLE = 0,
	CLIENT_ASKED,
	CLIENT_HOLDS,
	CLIENT_RELEASES,
};

/* A connection of a local program. Its number, from 1, names it. */
struct fleet_client {
	struct alarm alarm;		/* what it does next */
	uint32_t host;
	uint32_t role;			/* the day's own */
	enum fleet_client_state state;
	struct fleet_lock *lock;
	uint64_t request;
	uint64_t asked_ms;
	uint64_t hold;
	uint64_t until;			/* of its hold, real */
};

/* ---- fleet_lock.c ---- */
struct fleet_lock {
	UT_hash_handle hh;		/* by key */
	char key[PLAN_KEY_MAX];
	struct fleet_client *holder;	/* as clients know; or NULL */
	uint64_t token;			/* the greatest granted */
	uint32_t last_host;		/* that had it */
	uint64_t released_ms;		/* the release landed; WORLD_NEVER */
	uint64_t died_ms;		/* its holder's host did, or was cut
					 * off; WORLD_NEVER */
};

/* Times, of which some are printed. */
struct fleet_times {
	uint32_t *ms;
	size_t n, size;
};

/* ---- fleet_capacity.c ---- */
enum { FLEET_READS = 0, FLEET_WRITES, FLEET_WAYS };

struct fleet_partition {
	double left[FLEET_WAYS];	/* units; below 0: owed */
	uint64_t filled_ms;
	uint64_t used[FLEET_WAYS];	/* thousandths, in the day */
	uint64_t *seconds[FLEET_WAYS];	/* the same, second by second */
};

struct fleet_capacity {
	struct dynamo_meter meter;
	uint32_t n_partitions;
	struct fleet_partition partitions[FLEET_PARTITIONS_MAX];
	double rate[FLEET_WAYS];	/* units a second, of each */
	double most[FLEET_WAYS];	/* that are kept */
	uint64_t begin_ms;		/* figures count from here, */
	size_t n_seconds;		/* for so long */
	bool refused;			/* the present request is throttled */
	uint64_t request[FLEET_WAYS];	/* what it used */
};

/* ---- fleet_report.c ---- */
struct fleet_kind {
	uint64_t requests;
	uint64_t throttled;
	uint64_t used[FLEET_WAYS];	/* thousandths of units */
};

struct fleet_figures {
	struct fleet_kind kinds[FLEET_KINDS];	/* 0: any other */
	uint64_t grants;
	uint64_t refusals;	/* tries, and waits that took too long */
	uint64_t errors;	/* any other answer that is no grant */
	uint64_t losses;
	uint64_t restarts, deaths;
	uint64_t most_marks;	/* in one record */
	struct fleet_times handovers, takeovers;
	struct fleet_times waits;	/* from the request to the grant */
	uint64_t host_ms;	/* that daemons were alive */
};

/* ---- fleet_day.c ---- */
struct fleet_day {
	const char *name;
	const char *text;		/* for people */
	uint32_t minutes;
	uint32_t clients;		/* of each host */
	bool restarts;			/* daemons leave journals */
	/* Keys and roles of clients; alarms. */
	void (*begin)(struct fleet *);
	/* The client's alarm rings; not while it holds for @hold_ms. */
	void (*act)(struct fleet *, struct fleet_client *);
	/* It has the lock; answers how long, or WORLD_NEVER. */
	uint64_t (*hold_ms)(struct fleet *, struct fleet_client *);
	/* It has no lock any more, or did not get it. */
	void (*over)(struct fleet *, struct fleet_client *);
	/* The day's own alarm. */
	void (*ring)(struct fleet *);
};

struct fleet {
	struct world *world;
	const struct fleet_options *options;
	const struct fleet_day *day;
	struct plan plan;
	struct world_options world_options;
	struct fleet_client *clients;
	uint32_t n_clients;
	uint32_t *host_grants;		/* of each host */
	uint64_t *renewed;		/* the deadline that each host told */
	struct fleet_lock *locks;
	struct fleet_capacity capacity;
	struct fleet_figures figures;
	struct alarm alarm;		/* the day's */
	struct alarm begin, end;
	struct alarm *boots;		/* of each host */
	uint64_t begin_ms, end_ms;
	uint64_t n_requests;
	uint32_t step;			/* the day's own */
	bool counts;			/* the day has begun */
};

/* A number below @limit that only these and the seed decide. */
uint64_t fleet_chance(const struct fleet *, unsigned stream, uint64_t number,
    uint64_t limit);
struct host *fleet_host(const struct fleet *, const struct fleet_client *);

/* fleet_day.c; NULL: there is none. */
const struct fleet_day *fleet_day_find(const char *name);

/* fleet_client.c */
void fleet_client_init(struct fleet *);
void fleet_client_done(struct fleet *);
/* Its @nth client, from 0. */
struct fleet_client *fleet_client_of(const struct fleet *, uint32_t host,
    uint32_t nth);
void fleet_client_wants(struct fleet *, struct fleet_client *,
    const char *key);
void fleet_client_ask(struct fleet *, struct fleet_client *,
    uint64_t wait_ms);
/* Then it does what it does next: it asks, or releases what it holds. */
void fleet_client_act_at(struct fleet *, struct fleet_client *, uint64_t at);
/* Its daemon has died, and left nothing. */
void fleet_client_forget(struct fleet *, struct fleet_client *);
/* Its daemon restarts: a request without an answer is asked again. */
void fleet_client_again(struct fleet *, struct fleet_client *);
void fleet_act(struct host *, const struct core_action *);
void fleet_refuse(struct host *, const struct core_request *, int code);

/* fleet_lock.c: what is known of each lock, and its invariants: 1, 2 and 3 of
 * doc/safety.md. */
struct fleet_lock *fleet_lock_get(struct fleet *, const char *key);
void fleet_lock_granted(struct fleet *, struct fleet_client *,
    uint64_t token);
void fleet_lock_left(struct fleet_client *);
void fleet_lock_died(struct fleet *, struct fleet_client *);
void fleet_lock_watch(void *arg, const char *table,
    struct json_object *before, struct json_object *after, bool expired);
void fleet_lock_done(struct fleet *);

/* fleet_capacity.c */
void fleet_capacity_init(struct fleet *);
void fleet_capacity_done(struct fleet *);
void fleet_capacity_begin(struct fleet *, uint64_t ms);
/* From now on a tenth of what the hottest partition was asked for since the
 * day began, and nothing is kept. */
void fleet_capacity_cut(struct fleet *);
void fleet_serve(struct message *, uint64_t wall_ms);
const struct fleet_partition *fleet_capacity_hottest(const struct fleet *);

/* fleet_report.c */
void fleet_times_add(struct fleet_times *, uint64_t ms);
void fleet_report(struct fleet *, FILE *);

#endif

/*
 * What all rooms of the core share: the moment of the step, the actions that it
 * asks for, and where each room keeps what it remembers. A field belongs to the
 * room whose group it stands in, and no other writes it; what the pointers lead
 * to is in the header of that room.
 *
 *     client   requests, holds, terms, several keys as one
 *       v
 *     lock     records, grants, tokens, operations and their outcomes
 *       v
 *     lease    our sessions, other hosts' sessions, writes in doubt
 *
 * reads/ looks at all of them, and decides nothing. Calls go down; what a room
 * has to tell those above it is in its struct of events, which core.c fills.
 */
#ifndef DDBLOCKD_CORE_STATE_H
#define DDBLOCKD_CORE_STATE_H

/* Allocation failures come back as results; they never end the process. */
#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(element) ((void)0)

#include <uthash.h>
#include <utlist.h>

#include "common/freelist.h"
#include "common/siphash.h"
#include "core/core.h"
#include "core/ended.h"
#include "core/hash.h"
#include "core/heap.h"
#include "core/random.h"
#include "core/rank.h"
#include "core/saved.h"

#define CONTAINER_OF(pointer, type, member)                                    \
	((type *)((uintptr_t)(pointer)-offsetof(type, member)))

#define LOOKS_PER_SECOND 100	/* bounds what an audit costs, and watches */
#define RETRY_MS 1000			/* after a refusal or lack of memory */

#define HINTS_PER_STEP 16

/* A lock that was released here, by its namespace and its hash. Of those that
 * share a place the last one is remembered. */
#define HABITS 1024

struct habit {
	uint32_t namespace_index;
	uint32_t hash;
	uint64_t released_ms;
};

/* The highest token that was seen of a lock that is not in memory any more, by
 * its namespace and its hash. Of those that share a place the last one is
 * remembered. */
#define TOKENS_REMEMBERED 4096

struct remembered_token {
	uint64_t hash;		/* of namespace and key */
	uint64_t token;		/* 0: none */
};

/* What the clients of a user have of what all share. */
enum share {
	SHARE_LOCKS = 0,	/* that are held */
	SHARE_ASKED,		/* locks, by requests without an answer */
	SHARE_WATCHES,
	SHARE_BYTES,		/* of memory, for these and for requests */
	SHARES,
};

struct shares {
	uint64_t has[SHARES];
};

struct namespace {
	struct core *core;
	struct core_namespace settings;	/* its name is ours */
	uint32_t index;
	int cause;			/* last trouble of the store, or 0 */
	int text_code;			/* and what the text is about: also of
					 * what the store was not asked for */
	char text[OUTCOME_TEXT_MAX];
	struct core_counters counters;	/* each by the room that sees it */
	bool drained;			/* CORE_DRAIN: no new grants */

	/* Of its record format (namespace.c): how holds live there */
	bool has_sessions;	/* by the daemon's: one item renews them all */
	bool renews_records;	/* each by its own record, */
	bool has_versions;	/* which changes with each renewal, and may come
				 * back: looks alone prove nothing; */
	bool has_deadlines;	/* or which says when it ends */
	bool never_ends;	/* until a release or a break */
	bool has_tokens;
	bool levels_tokens;	/* with those of its bridge */
	struct namespace *bridge;	/* whose records are held beside its
					 * own; NULL: none */

	/* figures.c */
	struct core_figures *figures;
	uint32_t n_figures;

	/* rate.c */
	struct rate *rates;		/* by user */
	struct rate *rates_in_line;

	/* lease/ */
	struct lease *sessions;		/* all of ours */
	struct lease *session;		/* for new grants; NULL: none */
	struct lease *record_leases;
	uint64_t renewal_slot_us;	/* for the next renewal of a record */
	uint64_t open_at_ms;
	uint32_t open_failures;
	struct timer timer;		/* to open */
	struct observation *observations;
	uint32_t n_in_doubt;
	uint32_t n_in_doubt_allocated;		/* and the free ones */
	struct doubter *doubters;		/* of the same, by user */

	/* lock/ */
	struct hash_table locks;
	struct hash_table hinted;	/* the same, by the digests of hints */
	struct followers *followers;	/* NULL: without hints */
	struct grant *closed;		/* fail-closed ones */
	bool token_floor_due;	/* the next grant says it: */
	uint64_t token_floor;	/* new grants have tokens above it */
	struct core_tokens_back tokens_back;	/* the last that was seen */
	uint16_t audit_round;
	uint32_t n_waiting;

	/* client/ */
	bool closed_danger;		/* fail-closed holders were told */
	uint32_t n_held;
	uint32_t n_lingering;		/* of them */
	bool waking;		/* its waiters, from this one on, to that: */
	int wake_code;		/* they are told so, if it is not 0 */
	uint64_t woken;
	uint64_t wake_last;

	/* reads/ */
	struct reads *reads;
};

/* How many there may be, where the limit does not say it: since it was lowered,
 * as many as there were, and fewer with each that goes. */
struct bounds {
	uint32_t clients;
	uint32_t watches;
	uint32_t locks;
	bool above;	/* some limit was lowered, and there is more yet */
};

struct core {
	struct core_limits limits;
	struct bounds bounds;
	struct random random;
	struct siphash_key hash_key;	/* of what others name */
	struct heap heap;	/* all that are due run in one step, */
	struct heap later;	/* and of requests and locks some do */
	uint64_t now_ms;
	bool stopping;
	bool stop_released;
	char *host;
	struct core_action *actions;	/* of this step */
	struct core_action **actions_end;
	struct core_hint hints[HINTS_PER_STEP];	/* among these; there need
						 * not be more */
	uint32_t n_hints;
	struct namespace *namespaces;
	uint32_t n_namespaces;
	struct saving saving;

	/* lease/ */
	const struct lease_events *lease_events;
	uint32_t n_observations;

	/* lock/ */
	const struct lock_events *lock_events;
	uint32_t n_locks;
	struct habit habits[HABITS];	/* by their hashes */
	struct remembered_token tokens[TOKENS_REMEMBERED];
	struct freelist submissions;
	const struct lock *found_lock;	/* what its last answer showed, */
	struct contents *found;		/* in its step; or NULL */
	uint64_t found_applied;	/* the request whose change that shows, or 0 */
	struct follower *owed;	/* are to be told of a change, but not */
	uint64_t owed_at_ms;	/* before */

	/* tenant.c */
	struct tenant *tenants;	/* by user */
	bool had_rates;		/* of their own, at some time: until then only
				 * namespaces have a rate */

	/* client/ */
	const struct client_events *client_events;
	struct client *clients;
	struct shares shares;		/* of all of them */
	struct client *drains;		/* with requests to look at yet */
	struct resume *resumes;		/* with holds to move yet */
	struct resume *dead_resumes;	/* freed by the next step */
	uint64_t request_serial;
	uint32_t n_waking;		/* namespaces */
	uint32_t n_requests;
	struct rank *waiting;		/* ACQUIREs, by their serials */
	struct request *abandoned;	/* until their operation ends */
	struct request *dead_requests;	/* freed by the next step */
	struct hash_table asked;	/* what may be cancelled or looked at */
	struct freelist requests;
	struct rank *holds;		/* by their ids */
	struct hash_table holds_by_id;
	struct hash_table process_holds;	/* by the processes' numbers */
	struct hash_table process_requests;
	uint64_t hold_serial;
	uint64_t hold_serial_saved;	/* the next process begins above */
	struct saved serials;
	struct hold *dead_holds;	/* freed by the next step */
	struct linger *lingers;
	struct multi *multis;
	struct multi *due_multis;
	struct multi *dead_multis;	/* freed by the next step */
	struct multi_operation *multi_operations;
	uint32_t n_breaking;		/* under way */
	core_ended_fn ended;		/* or NULL */
	void *ended_arg;

	/* reads/ */
	struct listing *listings;	/* LISTs, by who asked */
	struct watch *watches;
	uint64_t change_serial;
	struct watched *touched;	/* in this step */
	struct watched *telling;	/* with watchers to be told yet */
};

/* What the next process must know of it has changed. */
static inline void
saved_touch(struct core *core, struct saved *saved, enum saved_kind kind)
{
	if (core->saving.journal != NULL && saved->due == 0)
		saved_add_due(&core->saving, saved, kind);
}

#endif

/*
 * What the core is set to: namespaces, and limits.
 */
#ifndef DDBLOCKD_CORE_SETTINGS_H
#define DDBLOCKD_CORE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/operation.h"

/* What a record format cannot express, of what the native one can. */
enum core_lack {
	CORE_LACKS_SHARED = 1,
	CORE_LACKS_FAIL_CLOSED = 2,
	CORE_LACKS_FAIL_OPEN = 4,
	CORE_LACKS_DATA = 8,
	CORE_LACKS_ATTRIBUTES = 16,
	CORE_LACKS_TOKENS = 32,
	CORE_LACKS_EVERY = 64,
};

/*
 * A namespace: a name that clients use, bound to a store and to timings. The
 * core copies it. Read timing.h for what the times mean and for the rules
 * between them, which core_new() checks.
 */
struct core_namespace {
	const char *name;
	uint64_t lease_ms;
	uint64_t heartbeat_ms;
	uint64_t danger_ms;		/* after the renewal was sent */
	uint64_t margin_ms;
	uint32_t drift_ppm;		/* clock rates may differ by this */
	uint64_t poll_ms;
	uint64_t request_ms;		/* one store operation's deadline */
	uint64_t try_ms;	/* no more for a request without a wait */
	uint64_t audit_ms;
	uint32_t handover_max;		/* in a row; 1..TOKENS_MAX */
	uint32_t line_max;	/* hosts that wait for a lock in order, at most
				 * LINE_PLACES_MAX; 0: in none */

	/* What the store allows; all false where other hosts use it, too. */
	bool sole_writer;	/* only this daemon writes its records, so what
				 * it saw last is what is there */
	bool no_foreign_waiters;	/* other hosts never wait here */
	bool keeps_idle;	/* a released lock may stay the daemon's; if
				 * not, one that it takes again and again may */
	uint64_t idle_ms;	/* for so long; then it is a poll at most */

	bool hints;	/* hosts tell each other by CORE_HINT */

	uint64_t retention_ms;	/* the record of a free lock remains for so
				 * long; 0: for ever */
	uint32_t list_capacity;	/* read units a second for LIST; 0: no bound */
	uint32_t request_rate;	/* requests a second for clients (core/rate.h);
				 * 0: no bound */

	/* Of its record format; all zero: the native one. */
	const char *format;	/* its name, for people */
	enum lock_life life;
	unsigned lacks;		/* enum core_lack */
	uint32_t refresh_rate;	/* renewals of records a second; 0: no bound */
	/* 0: none. Otherwise 1 + the index of a namespace without sessions: a
	 * lock held here is also held there, and was acquired there first. */
	uint32_t bridge;

	bool removed;	/* it is configured no more: no new grants, but what is
			 * held goes on */

	const char *metrics_prefixes;	/* up to CORE_PREFIXES_MAX beginnings of
					 * keys, separated by spaces, which
					 * are counted apart; or NULL */
};
#define CORE_PREFIXES_MAX 16

/* Caps. What exceeds one is refused with DDBLOCK_E_LIMIT at admission. */
struct core_limits {
	uint32_t clients_max;
	uint32_t requests_per_client_max;	/* unanswered */
	uint32_t holds_per_client_max;
	uint32_t watches_per_client_max;
	uint32_t watches_max;
	uint32_t locks_max;
	uint64_t memory_max;	/* bytes for clients; 0: no bound */
	uint32_t requests_max;
	uint32_t observations_max;	/* foreign sessions remembered */
	uint32_t in_doubt_max;	/* writes that may still land; of a namespace */
	uint32_t per_step_max;	/* ends, tells of changes, timers of requests */
};

struct core_config {
	const struct core_namespace *namespaces;	/* 0 is the default */
	uint32_t n_namespaces;
	struct core_limits limits;
	const char *host;		/* names this daemon in records */
};

/*
 * CORE_CONFIGURE: the namespaces that there are, in their order, and perhaps
 * more after them. Of those there are, these may be others: poll, request and
 * try times, audit, handover_max, idle_ms, list_capacity, request_rate,
 * refresh_rate and removed; and all limits: what is above a limit that was
 * lowered stays, and nothing is added to it. configure.c says what each of them
 * means at once.
 */

#endif

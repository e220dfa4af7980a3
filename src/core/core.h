/*
 * The core: every rule about locks, and nothing else. It has no clock, socket,
 * file, log or global: events go in, actions come out, so the same code runs
 * in the daemon and under virtual time.
 */
#ifndef DDBLOCKD_CORE_CORE_H
#define DDBLOCKD_CORE_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/operation.h"

struct core;	/* opaque: all locks, sessions and clients of this host */

#define CORE_FOREVER UINT64_MAX
#define CORE_NAMESPACES_MAX 64
#define CORE_LIMIT_MAX 1000	/* of those who share; within HOLDERS_MAX */

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
	uint64_t audit_ms;
	uint32_t handover_max;		/* in a row; 1..TOKENS_MAX */
	bool host_only;			/* no other host can want these locks */
	uint64_t idle_ms;	/* host_only: keep a released lock this long */
	uint32_t list_capacity;	/* read units a second for LIST; 0: no bound */
};

/* Caps. What exceeds one is refused with DDBLOCK_E_LIMIT at admission. */
struct core_limits {
	uint32_t clients_max;
	uint32_t requests_per_client_max;	/* unanswered */
	uint32_t holds_per_client_max;
	uint32_t locks_max;
	uint32_t requests_max;
	uint32_t observations_max;	/* foreign sessions remembered */
	uint32_t doubts_max;	/* writes that may still land; of a namespace */
};

struct core_config {
	const struct core_namespace *namespaces;	/* 0 is the default */
	uint32_t n_namespaces;
	struct core_limits limits;
	const char *host;		/* names this daemon in records */
};

enum core_event_type {
	CORE_REQUEST = 1,	/* a client asks */
	CORE_DRAIN,		/* a client asks no more, but still listens */
	CORE_GONE,		/* a client's connection ended */
	CORE_STORED,		/* the outcome of an operation */
	CORE_TIMER,		/* the update's next_ms has come (or earlier) */
	CORE_CONTINUE,		/* the client has room for another page */
	CORE_STOP,		/* no new grants; finish what is held */
	CORE_STOP_RELEASE,	/* and release what is still held */
};

enum core_verb {
	CORE_ACQUIRE = 1,
	CORE_CANCEL,
	CORE_RELEASE,
	CORE_RENEW,
	CORE_GET,
	CORE_LIST,
};

/*
 * A client's request. @client and @request are the caller's numbers; a pair
 * is not used again before its reply. Strings and keys are the caller's: the
 * core copies what it keeps.
 */
struct core_request {
	uint64_t client;
	uint64_t request;
	enum core_verb verb;
	uint32_t namespace_index;	/* ACQUIRE, GET, LIST */
	struct key key;			/* ACQUIRE, GET; LIST: the prefix */
	bool held_only;			/* LIST: leave out what is free */
	uint64_t wait_ms;		/* ACQUIRE: 0 is try; CORE_FOREVER */
	uint64_t poll_ms;		/* ACQUIRE: 0 for the namespace's */
	enum lock_mode mode;		/* ACQUIRE: exclusive or shared */
	uint32_t limit;	/* ACQUIRE, shared: most holders, the same for all who
			 * share, up to CORE_LIMIT_MAX; 0: any number */
	const char *owner;		/* ACQUIRE: for people */
	uint64_t hold;			/* RELEASE, RENEW: the grant's id */
	uint64_t target;		/* CANCEL: a request of this client */
};

struct core_event {
	enum core_event_type type;
	uint64_t now_ms;		/* CLOCK_BOOTTIME, never goes back */
	union {
		struct core_request request;	/* CORE_REQUEST */
		uint64_t client;		/* CORE_DRAIN, CORE_GONE */
		struct {
			uint64_t client;
			uint64_t request;
		} more;				/* CORE_CONTINUE */
		struct {
			struct operation *operation;
			const struct outcome *outcome;
		} stored;			/* CORE_STORED */
	};
};

enum core_action_type {
	CORE_REPLY = 1,		/* the one final answer to a request */
	CORE_ROWS,		/* rows before it; ask on with CORE_CONTINUE */
	CORE_NOTICE,		/* something happened to a hold */
	CORE_RENEWED,		/* a session's lease moved on */
	CORE_SUBMIT,		/* give this operation to the store */
};

/* An action; the type tells which of the structures below begins with it. */
struct core_action {
	enum core_action_type type;
	struct core_action *next;
};

/* Who holds a lock, as far as known. */
struct core_holder_view {
	bool held;
	bool here;		/* by a client of this daemon */
	bool dead;		/* by a session known to be dead */
	bool fail_closed;
	uint64_t client;	/* here: which */
	char owner[OWNER_LENGTH_MAX + 1];	/* may be empty */
	uint64_t token;
	enum lock_mode mode;
	uint64_t limit;		/* shared: most holders, 0: any number */
	uint32_t n_holders;	/* here, and on other hosts as the record says:
				 * sharers of a host without a limit as one */
	uint64_t acquired_at_s;	/* wall clock, 0: unknown */
	bool seen;		/* its session is being observed: */
	uint64_t unchanged_ms;	/* its beat has stood still this long */
	uint64_t lease_ms;
	uint32_t ahead;		/* local requests before this one */
};

/* CORE_REPLY. What is meaningful depends on verb and code. */
struct core_reply {
	struct core_action action;
	uint64_t client;
	uint64_t request;
	enum core_verb verb;
	int code;		/* 0 or DDBLOCK_E_* */
	int cause;		/* why it took too long, or 0 */
	const char *text;	/* for people, NULL: none */
	uint64_t hold;		/* ACQUIRE */
	uint64_t token;		/* ACQUIRE */
	enum lock_mode mode;	/* ACQUIRE: as it was asked for */
	uint32_t limit;		/* ACQUIRE */
	uint64_t remaining_ms;	/* ACQUIRE, RENEW */
	uint64_t until_ms;	/* ACQUIRE, RENEW: boot time */
	uint64_t margin_ms;	/* ACQUIRE: nobody else holds before until
				 * and this have passed */
	const struct core_holder_view *holder;	/* GET; ACQUIRE refused */
};

struct core_row {
	struct key key;
	struct core_holder_view holder;
};

/*
 * CORE_ROWS: a page of a LIST. The request stays open; its next page, or its
 * reply, comes after CORE_CONTINUE.
 */
struct core_rows {
	struct core_action action;
	uint64_t client;
	uint64_t request;
	const struct core_row *rows;
	size_t n_rows;
	uint64_t n_examined;		/* in the store, for this page */
	uint64_t read_milliunits;	/* and what that consumed, or 0 */
};

enum core_notice_kind {
	CORE_IN_DANGER = 1,
	CORE_SAFE,
	CORE_LOST,
};

enum core_loss {
	CORE_LOSS_EXPIRED = 1,	/* no renewal in time */
	CORE_LOSS_STOLEN,	/* the record no longer shows our grant */
	CORE_LOSS_BROKEN,	/* somebody broke it on purpose */
	CORE_LOSS_SHUTDOWN,	/* the daemon stops and was told to release */
};

/* CORE_NOTICE. Every hold has one, hence its narrow members. */
struct core_notice {
	struct core_action action;
	enum core_notice_kind kind : 8;
	enum core_loss loss : 8;	/* LOST */
	int cause : 16;			/* IN_DANGER: what the store said */
	uint32_t remaining_ms;		/* IN_DANGER, SAFE */
	uint64_t until_ms;
	uint64_t client;
	uint64_t hold;
};

/* CORE_RENEWED: every hold of this namespace's session is good for longer. */
struct core_renewed {
	struct core_action action;
	uint32_t namespace_index;
	uint64_t remaining_ms;
	uint64_t until_ms;
};

/* CORE_SUBMIT */
struct core_submit {
	struct core_action action;
	struct operation operation;
	uint32_t about;		/* the core's own: what the operation is for */
	void *owner;
};

struct core_update {
	struct core_action *actions;	/* in order; NULL: nothing to do */
	uint64_t next_ms;	/* send CORE_TIMER then; CORE_FOREVER: never */
	bool stopped;		/* after CORE_STOP: nothing is left to do */
};

/*
 * A core with its @config and 256 random bits, from which it makes every name
 * that it needs. Its first actions come with the first step; a CORE_TIMER
 * right away opens the sessions.
 *
 * DDBLOCK_E_BAD_REQUEST
 *     The timings of a namespace contradict each other (timing_check() says
 *     how).
 * DDBLOCK_E_NOMEM
 */
int core_new(const struct core_config *config, const uint64_t seed[4],
    uint64_t now_ms, struct core **ret);

/* Accepts NULL. Operations that are under way must not be delivered after. */
void core_free(struct core *);

/*
 * Feed one event and learn what to do. @ret_update is always written, since
 * time may have brought something even if the event is refused. It is valid,
 * with all that it points to, until the next call; submitted operations stay
 * valid until their outcome was delivered.
 *
 * DDBLOCK_E_LIMIT, DDBLOCK_E_NOMEM, DDBLOCK_E_UNKNOWN_NAMESPACE,
 * DDBLOCK_E_BAD_REQUEST
 *     The request is not admitted. It changed nothing and no reply will come:
 *     the caller answers it.
 */
int core_step(struct core *, const struct core_event *,
    struct core_update *ret_update);

/*
 * Views, for listings. They change nothing.
 */
struct core_hold_view {
	uint64_t hold;
	uint64_t client;
	uint32_t namespace_index;
	struct key key;
	uint64_t token;
	enum lock_mode mode;
	uint32_t limit;
	bool danger;
	bool lost;
	uint64_t held_ms;
	uint64_t remaining_ms;
};

struct core_waiter_view {
	uint64_t serial;	/* of the request; rises with time */
	uint64_t client;
	uint32_t namespace_index;
	struct key key;
	enum lock_mode mode;	/* what it asked for */
	uint32_t limit;
	uint32_t ahead;
	uint64_t waited_ms;
	int cause;		/* last trouble of the store, or 0 */
	struct core_holder_view holder;
};

struct core_namespace_view {
	const char *name;
	bool open;		/* a session is valid */
	bool danger;
	uint64_t remaining_ms;	/* 0 when it is not */
	uint64_t renewed_ago_ms;
	int cause;		/* last trouble of the store, or 0 */
	const char *text;	/* for people, may be empty */
	uint32_t locks;
	uint32_t held;
	uint32_t waiting;
	uint32_t doubts;
	uint64_t lost;		/* holds, since the start */
	uint64_t granted;	/* holds, since the start */
	uint64_t handed_over;	/* of which without the store */
};

/*
 * The first hold with a number above @after (0: the first of all), or the
 * first waiting request with a serial above @after. False: there is no more.
 */
bool core_next_hold(const struct core *, uint64_t after, uint64_t now_ms,
    struct core_hold_view *ret);
bool core_view_hold(const struct core *, uint64_t hold, uint64_t now_ms,
    struct core_hold_view *ret);	/* that one; false: there is none */
bool core_next_waiter(const struct core *, uint64_t after, uint64_t now_ms,
    struct core_waiter_view *ret);

void core_view_namespace(const struct core *, uint32_t namespace_index,
    uint64_t now_ms, struct core_namespace_view *ret);

/* Does this client hold anything that this namespace's session renews? */
bool core_client_holds(const struct core *, uint64_t client,
    uint32_t namespace_index);

/* The request of this client that waits, for progress reports; or false. */
bool core_view_request(const struct core *, uint64_t client, uint64_t request,
    uint64_t now_ms, struct core_waiter_view *ret);

#endif

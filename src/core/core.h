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

#include "core/counts.h"
#include "core/hint.h"
#include "core/loss.h"
#include "core/operation.h"
#include "core/secret.h"
#include "core/settings.h"

struct core;	/* opaque: all locks, sessions and clients of this host */

#define CORE_FOREVER UINT64_MAX
#define CORE_NAMESPACES_MAX 64
#define CORE_SEED_WORDS 6
#define CORE_LIMIT_MAX 1000	/* of the sharers; within HOLDERS_MAX */
#define CORE_KEEPALIVE_MIN_MS 100
#define CORE_LINGER_MAX_MS (UINT64_C(24) * 60 * 60 * 1000)
#define CORE_EVERY_MAX_MS (UINT64_C(3650) * 24 * 60 * 60 * 1000)
#define CORE_AT_LEAST_MAX_MS (UINT64_C(24) * 60 * 60 * 1000)

enum core_event_type {
	CORE_REQUEST = 1,	/* a client asks */
	CORE_HALF_CLOSED,	/* a client asks no more, but still listens */
	CORE_GONE,		/* a client's connection ended */
	CORE_CUT,	/* a client's connection is ended by the daemon, and the
			 * client may be at work yet */
	CORE_LEAVES,	/* it has more that ends: the last one returned 1 */
	CORE_HEARD,	/* a client said something that is no request */
	CORE_ENDED,	/* the process that something is held for ended */
	CORE_STORED,		/* the outcome of an operation */
	CORE_TIMER,		/* the update's next_ms has come (or earlier) */
	CORE_CONTINUE,		/* the client has room for another page */
	CORE_STOP,		/* no new grants; finish what is held */
	CORE_STOP_RELEASE,	/* and release what is still held */
	CORE_DRAIN,	/* no new grants in these namespaces; what is held goes
			 * on */
	CORE_UNDRAIN,		/* and there are again */
	CORE_CONFIGURE,		/* other settings from now on */
	CORE_CAME_BACK,	/* after core_inherit(): whose clients are connected */
	CORE_LIMITED,	/* a client's user has other limits, before it asks */
	CORE_HINTED,	/* another host says something of a lock */
	CORE_STRANGER,	/* or would, but its session is not known here, or has
			 * another key by now */
};

enum core_verb {
	CORE_ACQUIRE = 1,
	CORE_CANCEL,
	CORE_RELEASE,
	CORE_RENEW,
	CORE_DOWNGRADE,	/* from exclusive to shared use */
	CORE_GET,
	CORE_LIST,
	CORE_BREAK,
	CORE_WATCH,
	CORE_UNWATCH,
	CORE_RESUME,	/* what a connection that has ended left lingering */
	CORE_RAISE,	/* the token of a record, for nobody */
};

/* What a client asks of a lock, and what it gets. */
struct core_terms {
	enum lock_mode mode;	/* exclusive or shared */
	uint32_t limit;	/* shared: most holders, the same for all sharers,
			 * up to CORE_LIMIT_MAX; 0: any number */
	uint64_t max_hold_ms;	/* lost when it was held so long; 0: never */
	uint64_t keepalive_ms;	/* lost when the client is silent for so
				 * long, from CORE_KEEPALIVE_MIN_MS; 0: never */
	uint64_t danger_ms;	/* after the renewal was sent; 0: as the
				 * namespace has it; CORE_FOREVER: no warning */
	bool fail_closed;	/* it ends by a release or a break only */
	bool manual;	/* it ends with its own lease, which only the client's
			 * RENEW prolongs */
	bool reentrant;	/* its holder gets it again, counted */
	bool stays;	/* when its client leaves, until its lease is over */
	uint64_t linger_ms;	/* when its client leaves, so long for a
				 * client with the secret; 0: it ends. Up to
				 * CORE_LINGER_MAX_MS */
	bool resumes;	/* if we end its client's connection, until that has
			 * stopped by its own deadline, for a client with the
			 * secret. Not what is fail-closed, manual, stays or is
			 * for a process: it is granted all the same */
	uint64_t process;	/* it is for this, by a number of the caller's
				 * that it uses once, and ends with it, not
				 * with its client; 0: for none. What is
				 * fail-closed has none (CORE_PARTED) */
	uint64_t every_ms;	/* once in so long, by the store's clock; 0: at
				 * any time. Up to retention_ms */
	bool counts_at_end;	/* what is released, and not what is granted */
	uint64_t at_least_ms;	/* so long after its grant it stays held, early
				 * as its client is done; 0: no longer */
};

/* Has a hold that is asked for so anything of its own that goes with one lock
 * only? */
static inline bool
core_terms_are_own(const struct core_terms *terms)
{
	return terms->max_hold_ms > 0 || terms->keepalive_ms > 0 ||
	    terms->danger_ms > 0 || terms->manual || terms->reentrant ||
	    terms->stays;
}

/* Texts of its own that a hold is shown with; NULL: it has none. */
struct core_labels {
	const char *owner;	/* what it is called, whatever its client is */
};

/*
 * What the clients of a user may have at the most, however much is left for the
 * others (common/share.h), by a rule of the caller's. Of what a user has more
 * than that all stays.
 */
struct core_user_limit {
	uint64_t most;		/* 0: there is no such limit */
	const char *by;		/* for people: whose it is; or NULL */
};
struct core_user_limits {
	struct core_user_limit locks;	/* that are held, or asked for */
	struct core_user_limit watches;
	struct core_user_limit bytes;	/* of memory, for these and requests */
	struct core_user_limit rate;	/* requests a second to each store */
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
	uint32_t namespace_index;	/* all with a key */
	struct key key;			/* LIST: the prefix */
	const struct key *keys;		/* ACQUIRE of several: all of them, */
	uint32_t n_keys;		/* 2 to MULTI_MAX; else 0 */
	bool held_only;			/* LIST: leave out what is free */
	uint64_t wait_ms;		/* ACQUIRE: 0 is try; CORE_FOREVER */
	uint64_t poll_ms;		/* ACQUIRE: 0 for the namespace's */
	struct core_terms terms;	/* ACQUIRE; DOWNGRADE: mode shared;
					 * RESUME: resumes */
	const char *owner;	/* ACQUIRE, DOWNGRADE, BREAK: for people: who */
	struct core_labels labels;	/* ACQUIRE: kept with the hold */
	const char *reason;		/* BREAK: for people: why */
	uint64_t token;	/* RAISE: to this at least; 0: to the store's time.
			 * BREAK: as it was seen, */
	const char *record;		/* or (formats without sessions) this */
	const struct change *change;	/* ACQUIRE, RENEW, RELEASE, exclusive:
					 * of what is kept in it; or NULL */
	bool only_if_exists;	/* ACQUIRE: only if something is kept in it; or
				 * (formats without sessions) there is a
				 * record */
	bool fail_open;		/* ACQUIRE: the terms say so, and not for want
				 * of any other word */
	uint64_t hold;		/* RELEASE, RENEW, DOWNGRADE: the grant's id */
	bool all;		/* RELEASE: as often as it is held */
	bool of_process;	/* RELEASE: also another's, for a process */
	uint64_t target;		/* CANCEL: a request of this client */
	uint32_t user;	/* who asks: a number of the caller's, not USER_NONE */
	bool privileged;	/* may have the reserve (common/share.h) */
	const struct core_user_limits *limits;	/* of @user; or NULL. The
					 * rate is the last one's to ask */
	bool again;	/* it was admitted before a restart */
	const struct core_secret *secret;	/* the same: a new one, or a
						 * grant's */
};

struct core_event {
	enum core_event_type type;
	uint64_t now_ms;		/* CLOCK_BOOTTIME, never goes back */
	union {
		struct core_request request;	/* CORE_REQUEST */
		uint64_t client;	/* HALF_CLOSED, GONE, CUT, HEARD */
		struct {
			uint64_t client;
			uint64_t request;
		} more;				/* CORE_CONTINUE */
		struct {
			uint64_t client;	/* who asked for it */
			uint64_t process;
		} ended;			/* CORE_ENDED */
		struct {
			struct operation *operation;
			const struct outcome *outcome;
		} stored;			/* CORE_STORED */
		uint64_t namespaces;	/* DRAIN, UNDRAIN: a bit each */
		const struct core_config *config;	/* CONFIGURE */
		struct {
			/* Is this client's connection there yet? */
			bool (*is_here)(void *arg, uint64_t client);
			/* Whose is it, then? NULL: that is not known. */
			uint32_t (*user)(void *arg, uint64_t client);
			void (*seal)(void *arg, struct core_secret *);
			void *arg;
		} came_back;			/* CAME_BACK */
		struct {
			uint64_t client;
			const struct core_user_limits *limits;
		} limited;			/* LIMITED */
		struct core_hinted hinted;	/* HINTED */
		struct {
			uint32_t namespace_index;
			struct ident session;
		} stranger;			/* STRANGER */
	};
};

enum core_action_type {
	CORE_NO_ACTION = 0,	/* in no update */
	CORE_REPLY = 1,		/* the one final answer to a request */
	CORE_ROWS,		/* rows before it; ask on with CORE_CONTINUE */
	CORE_NOTICE,		/* something happened to a hold */
	CORE_RENEWED,		/* a session's lease moved on */
	CORE_CHANGED,		/* a lock that is watched has others */
	CORE_SUBMIT,		/* give this operation to the store */
	CORE_BROKE,		/* what became of a BREAK, for the log */
	CORE_CLOSE,		/* a client's connection is to be ended */
	CORE_PARTED,		/* nothing is for this process any more */
	CORE_HINT,		/* something to tell another host */
};

/* An action; the type tells which of the structures below begins with it. */
struct core_action {
	enum core_action_type type;
	struct core_action *next;
};

/* The holders of a lock, as far as known. */
struct core_holder_view {
	bool held;
	bool here;		/* by a client of this daemon */
	bool dead;		/* by a session known to be dead */
	bool fail_closed;	/* one of the holders */
	bool silent;		/* and none of them gives a sign of life, ... */
	bool left;		/* ... this one because its client here left */
	uint32_t namespace_index;	/* here: in which */
	uint64_t client;	/* here: which */
	uint64_t process;	/* here: for which; 0: none */
	bool named;		/* here: its owner is its own text */
	char owner[OWNER_LENGTH_MAX + 1];	/* may be empty */
	uint64_t token;
	const char *token_text;	/* of a token beyond TOKEN_MAX; or NULL */
	const char *record;	/* GET: which it is, in a format without
				 * sessions, to break it by; or NULL */
	enum lock_mode mode;
	uint64_t limit;		/* shared: most holders, 0: any number */
	uint32_t n_holders;	/* here, and on other hosts as the record says:
				 * sharers of a host without a limit as one */
	uint32_t n_hosts_waiting;	/* other hosts' waiter marks in the
				 * record, also of hosts that are gone; 0 if it
				 * was not read */
	uint64_t acquired_at_s;	/* wall clock, 0: unknown */
	const char *broken_by;	/* GET: who broke it last, and why, if nobody
				 * has had it since; NULL otherwise */
	bool seen;		/* its session is being observed: */
	uint64_t unchanged_ms;	/* its beat has stood still this long */
	uint64_t lease_ms;
	uint64_t renewal;	/* another with each renewal of its lease that
				 * is known; 0: none is */
	bool ends;		/* it is known when that lease ends, unless it
				 * is renewed: */
	uint64_t ends_ms;	/* so long from now */
	uint64_t held_ms;	/* here: since then; 0: unknown */
	uint64_t contents_serial;	/* CORE_CHANGED: rises when the lock's
					 * contents change */
	uint32_t ahead;		/* local requests before this one */
};

/* One of several locks that were acquired together. */
struct core_part {
	uint32_t namespace_index;
	struct key key;
	uint64_t token;
	char *token_text;	/* of one beyond TOKEN_MAX; or NULL */
	uint64_t hold;	/* its own number; the first one's is that of all */
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
	uint64_t hold;		/* ACQUIRE, DOWNGRADE */
	uint64_t token;	/* ACQUIRE, DOWNGRADE; BREAK: as it was named; 0: the
			 * format has none; RAISE: that it has now, */
	bool raised;		/* by this request, or (false) before */
	uint32_t namespace_index;	/* RAISE, */
	const char *token_text;	/* ACQUIRE: of one beyond TOKEN_MAX; or NULL */
	const char *owner;	/* BREAK: whose it was, may be empty */
	const struct core_part *parts;	/* ACQUIRE of several, by their keys */
	uint32_t n_parts;
	struct key key;		/* and of which lock; ACQUIRE of several,
				 * refused: which was in the way, or empty */
	struct core_terms terms;	/* ACQUIRE, DOWNGRADE: as asked for, and
					 * granted */
	uint64_t remaining_ms;	/* ACQUIRE, DOWNGRADE, RENEW */
	uint64_t until_ms;	/* the same: boot time; 0: fail-closed */
	uint32_t count;		/* ACQUIRE, DOWNGRADE, reentrant: times that it
				 * is held; RELEASE: that it still is */
	uint64_t end_ms;	/* ACQUIRE, DOWNGRADE: boot time, and it is not
				 * renewed beyond; 0: not so */
	uint64_t ran_s;	/* ACQUIRE, not due: the last run began then, */
	uint64_t due_s;		/* and the next may from then on; wall clock */
	uint64_t margin_ms;	/* ACQUIRE, DOWNGRADE: no other client holds it
				 * before until and this have passed */
	const struct core_secret *secret;	/* ACQUIRE: or NULL */
	const struct core_holder_view *holder;	/* GET, WATCH; ACQUIRE, BREAK
						 * refused */
	const struct contents *contents;	/* GET; ACQUIRE: but what it
						 * brought; NULL: none */
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
	CORE_PROLONGED,		/* it was renewed, and was in no danger */
	CORE_UNTOLD,		/* it was lost, and its client gives no sign
				 * that the process it is for knows */
};

/* CORE_NOTICE. Every hold has one, hence its narrow members. What is for a
 * process goes on being said when its client has left: of that, LOST and UNTOLD
 * are to be told to the process. */
struct core_notice {
	struct core_action action;
	enum core_notice_kind kind : 8;
	enum core_loss loss : 8;	/* LOST */
	int cause : 16;			/* IN_DANGER: what the store said */
	uint32_t remaining_ms;		/* IN_DANGER, SAFE */
	uint64_t until_ms;		/* 0: fail-closed, it has none */
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

/*
 * CORE_CHANGED: what a client that watches this lock should know now. Of
 * several changes within a step it hears the last.
 */
struct core_change {
	struct core_action action;
	uint64_t client;
	uint64_t serial;	/* the same for all that are told of it */
	uint32_t namespace_index;
	struct key key;
	const struct core_holder_view *holder;	/* NULL: nobody knows, */
	int cause;				/* for this reason */
};

/* CORE_SUBMIT */
struct core_submit {
	struct core_action action;
	struct operation operation;
	uint32_t about;		/* the core's own: what the operation is for */
	void *owner;
};

/*
 * CORE_BROKE: somebody asked for a lock to be broken, and this became of it,
 * whether its client still waits for the answer or not.
 */
struct core_broke {
	struct core_action action;
	uint64_t client;	/* who asked; 0: it has left */
	uint32_t namespace_index;
	struct key key;
	uint64_t token;		/* that was named */
	const char *by;		/* as the record has it: who, and why */
	const char *reason;	/* why */
	const char *owner;	/* whose it was or is, may be empty */
	int code;		/* 0: it is broken; not 0: it is not, */
	bool unsure;		/* unless by an attempt without an answer */
};

/* CORE_CLOSE: what lingered of its holds is another's now, and for the core it
 * is gone. */
struct core_close {
	struct core_action action;
	uint64_t client;
};

/* CORE_PARTED: no event about it will mean anything. */
struct core_parted {
	struct core_action action;
	uint64_t process;
};

/* CORE_HINT: it need not arrive. */
struct core_hint {
	struct core_action action;
	uint32_t namespace_index;
	struct ident session;		/* of the other host */
	enum core_hint_kind kind;
	uint64_t digest;		/* of the lock's key */
};

struct core_update {
	struct core_action *actions;	/* in order; NULL: nothing to do */
	uint64_t next_ms;	/* send CORE_TIMER then; CORE_FOREVER: never */
	bool stopped;		/* after CORE_STOP: nothing is left to do */
};

/*
 * A core with @config and random bits (two words for hash tables). Its first
 * actions come with the first step; CORE_TIMER now opens the sessions.
 *
 * DDBLOCK_E_BAD_REQUEST
 *     The timings of a namespace contradict each other (timing_check() says
 *     how).
 * DDBLOCK_E_NOMEM
 */
int core_new(const struct core_config *, const uint64_t seed[CORE_SEED_WORDS],
    uint64_t now_ms, struct core **ret);

/* Accepts NULL. Operations that are under way must not be delivered after. */
void core_free(struct core *);

/*
 * Feed one event and learn what to do. @ret_update is always written, since
 * time may have brought something even if the event is refused. It is valid,
 * with all that it points to, until the next call; submitted operations stay
 * valid until their outcome was delivered.
 *
 * 1
 *     CORE_GONE, CORE_CUT, CORE_LEAVES: CORE_LEAVES has to follow, soon.
 * DDBLOCK_E_LIMIT, DDBLOCK_E_NOMEM, DDBLOCK_E_UNKNOWN_NAMESPACE,
 * DDBLOCK_E_BAD_REQUEST
 *     The request is not admitted. It has no effect and no reply will come: the
 *     caller answers it. (But CORE_RELEASE without memory gives back all the
 *     same.) Of CORE_CONFIGURE the last and DDBLOCK_E_NOMEM: everything is as
 *     it was.
 */
int core_step(struct core *, const struct core_event *,
    struct core_update *ret_update);

/* Views, for listings. They change nothing. */
struct core_hold_view {
	uint64_t hold;
	uint64_t id;		/* what the client knows it by: of several that
				 * it holds as one, the number of the first */
	uint64_t client;
	uint32_t namespace_index;
	struct key key;
	uint64_t token;
	const char *token_text;	/* of one beyond TOKEN_MAX; or NULL */
	struct core_terms terms;
	struct core_labels labels;
	uint32_t count;		/* reentrant: times that it is held; or 0 */
	bool danger;
	bool lost;
	enum core_loss loss;	/* why */
	uint64_t held_ms;
	uint64_t remaining_ms;
	uint64_t until_ms;	/* as in a grant, and these two */
	uint64_t end_ms;
	uint64_t margin_ms;
	uint64_t lingers_ms;	/* so long yet, if its client has left; or 0 */
	uint64_t least_ms;	/* so long yet it stays in any case; or 0 */
	bool let_go;	/* for no other reason: its client is done with it */
};

struct core_waiter_view {
	uint64_t serial;	/* of the request; rises with time */
	uint64_t client;
	uint32_t namespace_index;
	struct key key;		/* of several: the one that it waits for */
	uint32_t n_keys;	/* how many it asked for, */
	uint32_t n_had;		/* and are kept for it */
	struct core_terms terms;	/* what it asked for */
	uint32_t ahead;		/* here */
	uint32_t place;		/* of this host in the line, from 1; 0: none */
	uint64_t waited_ms;
	int cause;		/* last trouble of the store, or 0 */
	struct core_holder_view holder;
};

/* A record was seen with a lower token than before. */
struct core_tokens_back {
	uint64_t token;
	uint64_t known;		/* the highest that was seen before */
	size_t key_length;
	char key[KEY_BYTES_MAX];
};

struct core_namespace_view {
	const char *name;
	const char *format;	/* of older clients; NULL: our own */
	bool open;		/* a session is valid; or (formats without
				 * sessions) the store answered last */
	bool drained;		/* it grants nothing new: CORE_DRAIN */
	bool removed;		/* nor does this: it is configured no more */
	bool danger;
	uint64_t remaining_ms, renewed_ago_ms;	/* 0 when it is not */
	uint64_t danger_in_ms;	/* unless it is renewed; or 0 */
	int cause;		/* last trouble of the store, or 0 */
	const char *text;	/* for people, may be empty */
	uint32_t locks;
	uint32_t held;
	uint32_t lingering;	/* that were not resumed yet */
	uint32_t waiting;
	uint32_t followers;	/* other hosts' watches of what is here */
	uint32_t n_in_doubt;
	struct core_counters counters;
	const struct core_figures *figures;	/* 0: of keys with no prefix */
	uint32_t n_figures;
	/* Of the last that counters.tokens_back counts. */
	const struct core_tokens_back *tokens_back;
};

/* The first hold with a number above @after (0: the first of all), or the first
 * waiting request with a serial above @after. False: there is no more. */
bool core_next_hold(const struct core *, uint64_t after, uint64_t now_ms,
    struct core_hold_view *ret);
/* The first above @after that this client has, also of those that it has as
 * one. */
bool core_next_hold_of(const struct core *, uint64_t client, uint64_t after,
    uint64_t now_ms, struct core_hold_view *ret);
bool core_view_hold(const struct core *, uint64_t hold, uint64_t now_ms,
    struct core_hold_view *ret);	/* that one; false: there is none */
bool core_next_waiter(const struct core *, uint64_t after, uint64_t now_ms,
    struct core_waiter_view *ret);
/* One of this client's. */
bool core_view_request(const struct core *, uint64_t client, uint64_t request,
    uint64_t now_ms, struct core_waiter_view *ret);
void core_view_namespace(const struct core *, uint32_t namespace_index,
    uint64_t now_ms, struct core_namespace_view *ret);
/* Bytes of memory that the clients of this user have, or of all. */
#define CORE_ALL_USERS UINT32_MAX
uint64_t core_view_memory(const struct core *, uint32_t user);
/* Does this client hold anything that this namespace's session renews? */
bool core_client_holds(const struct core *, uint64_t client,
    uint32_t namespace_index);
/* What this client, which watches the lock, should know of it: as CORE_CHANGED
 * says it; with a cause the state is unknown. False: it does not watch it, or
 * waits for its answer. */
bool core_view_watch(const struct core *, uint64_t client,
    uint32_t namespace_index, struct key,
    struct core_holder_view *ret_holder, int *ret_cause);

/* Number @n, from 0 on, of the locks that it watches; false: there is none. */
bool core_watch_of(const struct core *, uint64_t client, uint32_t n,
    uint32_t *ret_namespace_index, struct key *ret);

#endif

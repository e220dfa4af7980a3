/*
 * What the core remembers. Private to src/core; each structure is changed only
 * by the file that is named with it.
 *
 *     core +- namespaces +- sessions       ours: the current one, and old
 *          |             |                 ones until they are closed
 *          |             +- observations   other hosts' sessions
 *          |             +- locks +- queue of requests that wait
 *          |                      +- the hold, if a client has it
 *          |                      +- doubts
 *          +- clients +- requests
 *                     +- holds, which linger if the client asked for it, or
 *                     |  are a process's
 *                     +- watches
 */
#ifndef DDBLOCKD_CORE_STATE_H
#define DDBLOCKD_CORE_STATE_H

/* Allocation failures come back as results; they never end the process. */
#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(element) ((void)0)

#include <uthash.h>
#include <utlist.h>

#include "common/freelist.h"
#include "core/core.h"
#include "core/hash.h"
#include "core/heap.h"
#include "core/random.h"
#include "core/state_reads.h"

/* How long a signed request may still be accepted after it was sent: AWS's
 * window of 15 minutes, and one for the clocks. */
#define DOUBT_MS (UINT64_C(16) * 60 * 1000)

#define LOOKS_PER_SECOND 100	/* bounds what an audit costs, and watches */
#define RETRY_MS 1000			/* after a refusal or lack of memory */

struct lock;
struct namespace;

/* What an operation is for, so that its outcome finds its way. */
enum core_about {
	CORE_ABOUT_SESSION = 1,		/* struct session */
	CORE_ABOUT_OBSERVATION,		/* struct observation */
	CORE_ABOUT_LOCK,		/* struct lock */
	CORE_ABOUT_AUDIT,		/* struct namespace */
	CORE_ABOUT_LISTING,		/* struct request */
	CORE_ABOUT_BREAK,		/* struct request */
	CORE_ABOUT_WATCHES,		/* struct namespace */
	CORE_ABOUT_TOGETHER,		/* struct together */
};

/* ---- client.c ---- */
struct client {
	uint64_t id;
	UT_hash_handle hh;
	bool draining;			/* sends nothing more */
	bool leaving;			/* its requests are being dropped */
	bool gone;			/* but has holds that stay yet */
	bool pinned;			/* not to be freed just now */
	uint64_t heard_ms;		/* it said something then */
	uint32_t n_requests;
	uint32_t n_holds;
	uint32_t n_watches;
	uint32_t n_more;	/* keys of requests beyond one each */
	struct request *requests;
	struct hold *holds;
	struct watch *watches;
	struct linger *linger;	/* NULL: it asked for none */
	uint32_t held_in[];		/* valid holds, by namespace */
};

/* A request from its admission to its reply. */
struct request {
	struct core_reply reply;	/* first: it is the action, too */
	uint64_t serial;
	struct client *client;
	struct request *client_previous, *client_next;
	struct namespace *ns;
	struct timer timer;
	uint64_t asked_ms;
	uint64_t deadline_ms;
	char *text;			/* reply.text's memory, or NULL */
	char *token_text;		/* and reply.token_text's */
	struct core_holder_view *holder;	/* reply.holder's memory */

	/* ACQUIRE: */
	UT_hash_handle hh;		/* in core->waiting */
	struct lock *lock;
	struct request *queue_previous, *queue_next;
	uint64_t poll_ms;
	uint32_t place;	/* in the queue; see queue_ahead() */
	bool overdue;	/* its time is up, but it was never really tried */
	bool keeps;	/* RELEASE: what it leaves there is to stay */
	bool of_process;	/* RELEASE: and what others left to one */
	struct hold *hold;		/* made at admission, for the grant */
	struct joint *joint;		/* of several keys, or NULL */
	char *owner;
	struct core_terms terms;
	bool only_if_exists;
	bool exists;		/* it was seen to */
	struct core_parted parted;

	/* ACQUIRE, RENEW, RELEASE: of what is kept in the lock; or NULL. */
	struct change *change;
	struct contents *found;		/* reply.contents' memory */

	/* RELEASE: */
	struct grant *grants;		/* whose end it waits for */
	int released_code;		/* of those that ended: what went */
	int released_cause;		/* wrong first */

	/* DOWNGRADE: whose. */
	struct grant *grant;

	/* RENEW: */
	struct session *session;
	struct grant *changing;		/* whose contents it changes first */
	struct request *renew_previous, *renew_next;	/* of either */

	/* GET, LIST: */
	struct listing *listing;

	struct breaking *breaking;	/* BREAK */
	struct core_close closing;	/* RESUME: who had it */
	struct watch *watch;		/* WATCH: that it asks for */
};

/* ---- hold.c ---- */
#define HOLD_SINCE_MAX ((UINT64_C(1) << 60) - 1)

/* A client's hold, from the grant until its release, or until the client has
 * taken note of its loss by a release. */
struct hold {
	struct core_notice notice;	/* first; its ids are ours */
	struct hash_link link;		/* in core->holds_by_id */
	struct hold *previous, *next;	/* in core->holds, in order of ids */
	struct client *client;
	struct hold *client_previous, *client_next;
	struct lock *lock;
	struct grant *grant;		/* NULL: lost */
	struct hold *grant_previous, *grant_next;
	struct terms *terms;		/* its own; NULL: it has none */
	uint64_t token;
	uint64_t since_ms : 60;
	bool special : 1;	/* it is one of these: */
	bool lost : 1;
	bool fail_closed : 1;
	bool told : 1;		/* the notice is in this step's actions */
};

/* A hold that is one of several, or has a name. */
struct special_hold {
	struct hold hold;	/* first */
	struct joint *joint;	/* it is one of several, or NULL */
	char *owner;	/* what it is called; NULL: as its client is */
};

/* ---- terms.c ---- */
/* What not every hold has: its own end, promise or warning. */
struct terms {
	struct hold *hold;
	struct timer timer;	/* for whichever is first */
	uint64_t max_hold_ms;
	uint64_t end_ms;	/* CORE_FOREVER: not by itself */
	uint64_t keepalive_ms;
	uint64_t listening_ms;	/* the client's silence counts from here */
	uint64_t danger_ms;	/* 0: with all of its session */
	uint64_t sent_ms;	/* manual: the lease counts from here */
	uint32_t count;		/* reentrant: times that it is held; or 0 */
	uint64_t linger_ms;
	uint64_t linger_end_ms;	/* its client has left */
	uint64_t working_ms;	/* or was cut off: it may work until then */
	bool manual;
	bool stays;		/* when its client leaves */
	bool danger;		/* of its own: it was told */
	bool process_told;	/* that it is lost */
	uint64_t process;	/* that it is for; 0: none */
	struct core_parted parted;
};

/* ---- linger.c ---- */
/* A user with connections that linger, or would. */
struct lingering {
	struct lingering *prev, *next;	/* in core->lingering */
	uint64_t user;
	uint32_t n;
};

/* That holds of a connection outlive it, for whoever knows the secret. */
struct linger {
	struct linger *prev, *next;	/* in core->lingers */
	struct client *client;
	struct ident secret;
	struct lingering *user;
	struct timer timer;	/* its client has left: the first end */
};

/* ---- grant.c, which has the picture of these states ---- */
enum grant_state {
	GRANT_NONE = 0,
	GRANT_ASKING,
	GRANT_UNSURE,
	GRANT_HELD,
	GRANT_RELEASING,
};

/* ---- downgrade.c ---- */
struct downgrade {
	struct ident id;	/* of the element that takes the place */
	uint16_t limit;
	bool sent;
	bool unsure;		/* an attempt's answer never came */
	char *owner;		/* may be NULL */
	struct request *request;	/* DOWNGRADE; NULL: it was answered */
};

/* What few grants have; it stays to the grant's end. */
struct extras {
	struct ident session;		/* fail-closed: in its element */
	struct downgrade *downgrade;	/* HELD, or NULL */
	struct request *changing;	/* RENEWs with a change */
	char *token_text;	/* of a token beyond TOKEN_MAX; or NULL */
};

/* One element of ours in a lock's record, or on its way there. Every lock has
 * one, hence its narrow members. */
struct grant {
	struct lock *lock;
	struct grant *next;		/* of the lock */
	struct session *session;	/* NULL: fail-closed, or lost with a
					 * write under way */
	struct grant *session_previous, *session_next;
	struct ident id;
	enum grant_state state : 8;
	enum lock_mode mode : 8;
	bool unsettled : 1;	/* RELEASING: the answer never came */
	bool passed : 1;	/* this acquisition was granted before */
	bool unsealed : 1;	/* an update may yet land: see keep.c */
	bool fail_closed : 1;
	uint16_t limit;
	uint16_t audit_round;
	uint64_t token_next;	/* the block: next to give, and the last */
	uint64_t token_last;
	uint64_t gap_ms;	/* nobody else's before: one was lost */
	struct hold *holds;		/* NULL: idle */
	struct request *releasing;	/* waits for the release's outcome */
	struct grant *releasing_next;	/* that it waits for */
	struct extras *extras;		/* NULL: it has none */
};

/* ---- lock.c ---- */
/* What is known of the record while nothing of ours is in it. */
enum lock_view {
	VIEW_NEW = 0,	/* nothing: an acquire is the best question */
	VIEW_FREE,	/* seen free: an acquire is worth its price */
	VIEW_FOREIGN,	/* others hold it: poll */
	VIEW_STALE,	/* read before anything is written */
};

/* The last sight of a record that others hold. */
struct sight {
	uint64_t token;
	enum lock_mode mode;
	uint64_t acquired_at_s;
	char *owner;			/* may be NULL */
	struct observation *blocked_on;	/* a holder that is not dead yet */
	struct lock *lock;
	struct sight *blocked_previous, *blocked_next;
	size_t n_holders;
	struct holder holders[];
};

/* What this host should rid a record of. Names that are none: nothing. */
struct leftovers {
	struct ident own_wish;
	struct ident stale_wish;	/* of a session that is not alive */
	enum lock_mode own_wish_mode;
	enum lock_mode stale_wish_mode;
	struct holder orphan;		/* our session's, but not live */
	struct holder dead;	/* of others, beside grants of ours */
};

struct lock {
	struct hash_link link;		/* first: in ns->locks, by key */
	struct namespace *ns;
	struct timer timer;
	enum lock_view view : 4;
	enum lock_mode wanted : 4;	/* the wish of ours in the record */
	enum mark_form mark_due : 4;	/* somebody here waits for its end */
	bool wish_seen : 1;	/* and another host's, who is hindered */
	bool shared_seen : 1;	/* it is or was shared, with this limit: */
	bool hindered : 1;	/* it could be had, but for others' wishes */
	bool refused : 1;	/* a write for what looked open: look first */
	bool read_due : 1;	/* a doubt wants a fresh look */
	bool stand_back : 1;	/* releasing: let the others have it first */
	bool overdue : 1;	/* some request may be */
	bool gaps : 1;		/* somebody left the middle of the queue */
	uint16_t key_length;
	int16_t cause;		/* last trouble, or 0 */
	uint16_t run;		/* local grants since the record was read */
	uint16_t others_seen;	/* holders beside the grants that are ours */
	uint16_t limit_seen;	/* or the greatest number */
	uint32_t n_holds;		/* of the grants */
	uint32_t n_waiting;
	uint32_t references;	/* lost holds, doubts, audits */
	uint32_t writes;	/* submitted so far; for batches */
	uint32_t looks;		/* records that were taken in; for batches */
	uint64_t run_started_ms;

	struct grant *grants;	/* in the order of their making */
	struct grant first;	/* memory of one; the usual case */
	struct request *queue;
	struct submission *submission;	/* under way, or NULL */
	struct sight *sight;		/* VIEW_FOREIGN */
	struct leftovers *leftovers;	/* NULL: none */
	struct doubt *doubts;
	struct watched *watched;	/* NULL: by nobody */
	uint64_t due_ms;	/* next poll. HELD: end of idleness */
	uint64_t hold_off_ms;	/* no store operation before */
	uint64_t back_ms;	/* until then it is others' turn */
	uint64_t sequence;	/* of its contents' last known revision */
	uint64_t token_seen;	/* in the record, and its version, where its
				 * format has one; NULL: none, or unknown */
	char *version;
	char key[];
};

/* One operation on its way, with the memory that it points to. */
struct submission {
	struct core_submit submit;	/* first */
	struct holder holder;
	char *version;		/* ACQUIRE */
	struct doubt *doubt;	/* ready, should the answer never come */
	bool cleaning;		/* RELEASE: of an orphan, or of the dead */
	bool downgrading;	/* ACQUIRE: in the place of our own */
	char *owner;
	struct contents *contents;	/* UPDATE */
	uint64_t serial;		/* UPDATE: of the request for it */
	struct holder dead[];
};

/* ---- joint.c ---- */
struct part {
	struct lock *lock;	/* with a reference, until the answer */
	struct hold *hold;	/* without a grant: not had (any more) */
};

/* Several locks as one, from the request for them to the end of the hold. */
struct joint {
	struct joint *prev, *next;	/* in core->joints */
	struct joint *next_due;
	struct request *request;	/* NULL: answered */
	struct together *together;	/* under way for it, or NULL */
	struct core_part *answer;
	bool due;
	bool in_order;		/* something was in the way of all at once */
	bool held;		/* by the client, and no more for the request */
	bool several;		/* it was asked for several keys */
	uint32_t n;
	uint32_t n_rows;	/* of the answer */
	uint32_t n_left;	/* held: not forgotten yet */
	struct part parts[];	/* in the order of their keys; those of a bridge
				 * before all others */
};

/* ---- together.c ---- */
struct together {
	struct core_submit submit;
	struct together *prev, *next;	/* in core->togethers */
	struct joint *joint;		/* NULL: nobody asks for it any more */
	size_t n;
	struct lock *locks[TOGETHER_MAX];
	struct key keys[TOGETHER_MAX];
	struct ident grants[TOGETHER_MAX];
	const struct operation *parts[TOGETHER_MAX];
};

/* ---- doubt.c ---- */
struct doubt {
	struct lock *lock;
	struct doubt *prev, *next;	/* of the lock */
	struct timer timer;
	struct ident session;
	struct ident grant;		/* none: a wish */
	uint64_t sent_ms;		/* the last send without an answer */
	bool fail_closed;
	bool left;	/* the client that had it left it held */
	uint32_t reads;
};

/* ---- keep.c ---- */
enum keep {
	KEEP_LATER = 0,		/* something is to be asked first */
	KEEP_READY,
	KEEP_REFUSED,		/* the request has got its reply */
};

/* What an answer showed, in its step. */
struct found {
	const struct lock *lock;	/* NULL: nothing */
	struct contents *contents;
	uint64_t applied;	/* the request whose change this shows, or 0 */
};

/* ---- session.c ---- */
enum session_state {
	SESSION_OPENING = 1,
	SESSION_VALID,
	SESSION_LOST,		/* over; closes one margin later */
	SESSION_CLOSING,
};

struct session {
	struct namespace *ns;
	struct session *prev, *next;
	struct lock *lock;	/* whose record it renews, and no other; NULL:
				 * it has an item of its own (refresh.c) */
	char *owner;	/* of a lock: as its record says; or NULL */
	enum session_state state;
	struct ident id;
	uint64_t sent_ms;	/* the lease counts from here */
	uint64_t beat;
	uint64_t beat_at_ms;	/* the next renewal */
	uint64_t close_at_ms;
	bool busy;		/* its operation is under way */
	bool due;		/* of a lock: to be renewed as soon as it can */
	bool danger;
	bool warned;		/* and some hold, at a time of its own */
	bool retiring;		/* no new grants; close when unused */
	int cause;		/* why the last beat did not renew it, or 0 */
	char text[OUTCOME_TEXT_MAX];
	struct core_submit submit;
	struct core_renewed renewed;
	struct grant *grants;
	uint32_t n_grants;
	uint32_t n_doubts;
	struct request *renewals;	/* RENEW requests */
	struct timer timer;
};

/* ---- observe.c ---- */
enum observation_state {
	OBSERVATION_NEW = 0,	/* never read */
	OBSERVATION_ALIVE,	/* @beat stands since @since_ms */
	OBSERVATION_ABSENT,	/* no item since @since_ms */
	OBSERVATION_DEAD,
};

struct observation {
	UT_hash_handle hh;	/* in ns->observations, by id */
	struct namespace *ns;
	struct ident id;
	enum observation_state state;
	uint64_t beat;
	uint64_t lease_ms;	/* the longest that was seen for it */
	uint64_t since_ms;
	struct ident holder;	/* of a record: by whom and, */
	struct ident mark;	/* if it was acknowledged, since when */
	uint64_t looked_ms;	/* the last look's answer */
	uint64_t read_at_ms;	/* next look, while somebody waits */
	bool busy;
	bool curious;		/* look once, though nobody waits */
	bool crowding;		/* and, once its time is up, its end */
	bool crowded;		/* another had to go for it */
	struct core_submit submit;
	struct timer timer;
	struct sight *blocked;	/* locks that wait for its end */
};

struct namespace {
	struct core *core;
	struct core_namespace settings;	/* its name is ours */
	uint32_t index;
	struct session *sessions;	/* all of ours */
	struct session *session;	/* for new grants; NULL: none */
	struct session *refreshed;	/* those of one lock each */
	uint64_t refresh_slot_us;	/* for the next renewal of such a one */
	struct grant *closed;		/* fail-closed ones */
	bool closed_danger;		/* they were told */
	uint64_t open_at_ms;
	uint32_t open_failures;
	struct timer timer;		/* to open */
	struct hash_table locks;
	struct observation *observations;
	struct audit audit;
	struct turns turns;
	struct looks looks;
	int cause;			/* last trouble of the store, or 0 */
	int text_code;			/* and what the text is about: also of
					 * what the store was not asked for */
	char text[OUTCOME_TEXT_MAX];
	uint32_t n_held;		/* by clients */
	uint32_t n_waiting;
	uint32_t n_doubts;
	uint32_t n_doubts_made;		/* and those that are kept ready */
	uint64_t lost;
	uint64_t granted;
	uint64_t handed_over;
};

struct core {
	struct core_limits limits;
	struct random random;
	struct heap heap;
	uint64_t now_ms;
	uint64_t request_serial;
	uint64_t hold_serial;
	uint64_t change_serial;
	uint32_t n_requests;
	uint32_t n_locks;
	uint32_t n_watches;
	uint32_t n_observations;
	uint32_t n_breaking;		/* under way */
	bool stopping;
	bool stop_released;
	char *host;
	struct client *clients;
	struct hold *holds;
	struct hash_table holds_by_id;
	struct linger *lingers;
	struct lingering *lingering;
	struct watch *watches;
	struct watched *touched;	/* in this step */
	struct request *waiting;	/* ACQUIREs, in order of serials */
	struct core_action *actions;	/* of this step */
	struct core_action **actions_end;
	struct request *abandoned;	/* until their operation ends */
	struct joint *joints;
	struct joint *due_joints;
	struct joint *dead_joints;	/* freed by the next step */
	struct together *togethers;
	struct request *dead_requests;	/* freed by the next step */
	struct freelist requests;
	struct freelist submissions;
	struct hold *dead_holds;
	struct found found;
	struct namespace *namespaces;
	uint32_t n_namespaces;
};

#endif

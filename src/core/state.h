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
 *                     +- holds
 */
#ifndef DDBLOCKD_CORE_STATE_H
#define DDBLOCKD_CORE_STATE_H

/* Allocation failures come back as results; they never end the process. */
#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(element) ((void)0)

#include <uthash.h>
#include <utlist.h>

#include "core/core.h"
#include "core/heap.h"
#include "core/random.h"

/* How long a signed request may still be accepted after it was sent: AWS's
 * window of 15 minutes, and one for the clocks. */
#define DOUBT_MS (UINT64_C(16) * 60 * 1000)

#define AUDIT_ITEMS_PER_SECOND 100	/* bounds what an audit costs */
#define RETRY_MS 1000			/* after a refusal or lack of memory */

/* What lives briefly is used again, so that its memory does not riddle that of
 * what lives long. This many are kept. */
#define SPARES_MAX 512

struct lock;
struct namespace;

/* What an operation is for, so that its outcome finds its way. */
enum core_about {
	CORE_ABOUT_SESSION = 1,		/* struct session */
	CORE_ABOUT_OBSERVATION,		/* struct observation */
	CORE_ABOUT_LOCK,		/* struct lock */
	CORE_ABOUT_AUDIT,		/* struct namespace */
	CORE_ABOUT_LISTING,		/* struct request */
};

/* ---- client.c ---- */
struct client {
	uint64_t id;
	UT_hash_handle hh;
	bool draining;			/* sends nothing more */
	bool pinned;			/* not to be freed just now */
	uint32_t n_requests;
	uint32_t n_holds;
	struct request *requests;
	struct hold *holds;
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
	struct core_holder_view *holder;	/* reply.holder's memory */

	/* ACQUIRE: */
	UT_hash_handle hh;		/* in core->waiting */
	struct lock *lock;
	struct request *queue_previous, *queue_next;
	uint64_t poll_ms;
	uint32_t place;	/* in the queue; see queue_ahead() */
	bool overdue;	/* its time is up, but it was never really tried */
	struct hold *hold;		/* made at admission, for the grant */
	char *owner;
	enum lock_mode mode;
	uint32_t limit;			/* shared: most holders; 0: none */

	/* RELEASE: */
	struct grant *grant;		/* whose end it waits for */

	/* RENEW: */
	struct session *session;
	struct request *renew_previous, *renew_next;

	/* GET, LIST: */
	struct listing *listing;
};

#define HOLD_SINCE_MAX ((UINT64_C(1) << 62) - 1)

/* A client's hold, from the grant until its release, or until the client has
 * taken note of its loss by a release. */
struct hold {
	struct core_notice notice;	/* first; its ids are ours */
	UT_hash_handle hh;		/* in core->holds, in order of ids */
	struct client *client;
	struct hold *client_previous, *client_next;
	struct lock *lock;
	struct grant *grant;		/* NULL: lost */
	struct hold *grant_previous, *grant_next;
	uint64_t token;
	uint64_t since_ms : 62;
	bool lost : 1;
	bool told : 1;		/* the notice is in this step's actions */
};

/* ---- grant.c, which has the picture of these states ---- */
enum grant_state {
	GRANT_NONE = 0,
	GRANT_ASKING,
	GRANT_UNSURE,
	GRANT_HELD,
	GRANT_RELEASING,
};

/* One element of ours in a lock's record, or on its way there. */
struct grant {
	struct lock *lock;
	struct grant *next;		/* of the lock */
	struct session *session;	/* NULL: lost with a write under way */
	struct grant *session_previous, *session_next;
	struct ident id;
	enum grant_state state : 8;
	enum lock_mode mode : 8;
	bool unsettled : 1;	/* RELEASING: the answer never came */
	bool passed : 1;	/* this acquisition was granted before */
	uint16_t tokens_asked;
	uint16_t audit_round;
	uint32_t limit;
	uint64_t token_next;	/* the block: next to give, and the last */
	uint64_t token_last;
	struct hold *holds;		/* NULL: idle */
	struct request *releasing;	/* waits for the release's outcome */
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
};

struct lock {
	UT_hash_handle hh;		/* in ns->locks, by key */
	struct namespace *ns;
	struct timer timer;
	enum lock_view view : 8;
	enum lock_mode wanted : 8;	/* the wish of ours in the record */
	bool wish_seen : 1;	/* and another host's, who is hindered */
	bool shared_seen : 1;	/* it is or was shared, with this limit: */
	bool hindered : 1;	/* it could be had, but for others' wishes */
	bool refused : 1;	/* a write for what looked open: look first */
	bool read_due : 1;	/* a doubt wants a fresh look */
	bool stand_back : 1;	/* releasing: let the others have it first */
	bool overdue : 1;	/* some request may be */
	bool gaps : 1;		/* somebody left the middle of the queue */
	int16_t cause;		/* last trouble, or 0 */
	uint16_t run;		/* local grants since the record was read */
	uint16_t others_seen;	/* holders beside the grants that are ours */
	uint32_t limit_seen;
	uint32_t n_holds;		/* of the grants */
	uint32_t n_waiting;
	uint32_t references;	/* lost holds, doubts, audits */
	uint32_t writes;	/* submitted so far; for the audit */
	uint64_t run_started_ms;

	struct grant *grants;	/* in the order of their making */
	struct grant first;	/* memory of one; the usual case */
	struct request *queue;
	struct submission *submission;	/* under way, or NULL */
	struct sight *sight;		/* VIEW_FOREIGN */
	struct leftovers *leftovers;	/* NULL: none */
	struct doubt *doubts;
	uint64_t due_ms;	/* next poll. HELD: end of idleness */
	uint64_t hold_off_ms;	/* no store operation before */
	uint64_t back_ms;	/* until then it is others' turn */
	char key[];		/* as long as hh.keylen says */
};

/* One operation on its way, with the memory that it points to. */
struct submission {
	struct core_submit submit;	/* first */
	struct submission *next_spare;
	struct holder holder;
	struct doubt *doubt;	/* ready, should the answer never come */
	bool cleaning;		/* RELEASE: of an orphan, or of the dead */
	char *owner;
	struct holder dead[];
};

/* ---- doubt.c ---- */
struct doubt {
	struct lock *lock;
	struct doubt *prev, *next;	/* of the lock */
	struct timer timer;
	struct ident session;
	struct ident grant;		/* none: a wish */
	uint64_t sent_ms;		/* the last send without an answer */
	uint32_t reads;
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
	enum session_state state;
	struct ident id;
	uint64_t sent_ms;	/* the lease counts from here */
	uint64_t beat;
	uint64_t beat_at_ms;	/* the next renewal */
	uint64_t close_at_ms;
	bool busy;		/* its operation is under way */
	bool danger;
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
	uint64_t looked_ms;	/* the last look's answer */
	uint64_t read_at_ms;	/* next look, while somebody waits */
	bool busy;
	bool curious;		/* look once, though nobody waits */
	bool crowded;		/* another had to go for it */
	struct core_submit submit;
	struct timer timer;
	struct sight *blocked;	/* locks that wait for its end */
};

/* ---- audit.c ---- */
struct audit {
	struct timer timer;
	uint16_t round;
	uint64_t started_ms;
	bool running;		/* a round is under way */
	bool busy;
	struct core_submit submit;
	size_t n_locks;
	struct lock *locks[READ_MANY_MAX];
	uint32_t writes[READ_MANY_MAX];
	struct key keys[READ_MANY_MAX];
};

/* ---- listing.c ---- */
struct listing {
	struct core_submit submit;
	struct core_rows page;
	struct request *request;
	struct listing *turn_previous, *turn_next;
	bool busy;
	bool waits;			/* for its turn */
	bool held_only;
	struct core_row rows[SCAN_PAGE_MAX];
	char *keys;			/* the rows' memory */
	size_t cursor_length;
	char cursor[SCAN_CURSOR_MAX];
	struct core_holder_view holder;	/* GET */
	size_t key_length;
	char key[];
};

/* The listings of a namespace whose reads are bounded take turns. */
struct turns {
	struct timer timer;
	struct listing *queue;
	struct listing *busy;		/* whose page is under way */
	uint64_t next_ms;		/* no page is asked for before */
};

struct namespace {
	struct core *core;
	struct core_namespace settings;	/* its name is ours */
	uint32_t index;
	struct session *sessions;	/* all of ours */
	struct session *session;	/* for new grants; NULL: none */
	uint64_t open_at_ms;
	uint32_t open_failures;
	struct timer timer;		/* to open */
	struct lock *locks;
	struct observation *observations;
	struct audit audit;
	struct turns turns;
	int cause;			/* last trouble of the store, or 0 */
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
	uint32_t n_requests;
	uint32_t n_locks;
	uint32_t n_observations;
	bool stopping;
	bool stop_released;
	char *host;
	struct client *clients;
	struct hold *holds;
	struct request *waiting;	/* ACQUIREs, in order of serials */
	struct core_action *actions;	/* of this step */
	struct core_action **actions_end;
	struct request *abandoned;	/* until their operation ends */
	struct request *dead_requests;	/* freed by the next step */
	struct request *spare_requests;
	uint32_t n_spare_requests;
	struct submission *spare_submissions;
	uint32_t n_spare_submissions;
	struct hold *dead_holds;
	struct namespace *namespaces;
	uint32_t n_namespaces;
};

/* action.c */
void action_add(struct core *, struct core_action *, enum core_action_type);
void action_notice(struct core *, struct hold *, enum core_notice_kind,
    enum core_loss);
void action_submit(struct core *, struct core_submit *, struct namespace *,
    enum operation_kind, uint64_t deadline_ms, enum core_about, void *owner);
void action_forget(struct core *);

/* client.c */
int client_request(struct core *, const struct core_request *);
void client_drain(struct core *, uint64_t id);
void client_gone(struct core *, uint64_t id);
void client_stop(struct core *);
void request_reply(struct core *, struct request *, int code, int cause,
    const char *text);
void request_free(struct core *, struct request *);
void request_free_spares(struct core *);
struct hold *hold_find(const struct core *, uint64_t id);
void hold_lose(struct core *, struct hold *, enum core_loss);
void hold_end(struct core *, struct hold *);

/* queue.c */
int queue_acquire(struct core *, struct client *, struct request *,
    const struct core_request *);
void queue_leave(struct core *, struct request *);
uint32_t queue_ahead(const struct request *);
void queue_timer(struct core *, struct request *);
void queue_review(struct core *, struct lock *);
void queue_fail(struct core *, struct lock *, int code, const char *text);
void queue_drain(struct core *, struct request *);
void queue_grant(struct core *, struct grant *);

/* grant.c */
struct grant *grant_new(struct core *, struct lock *);
struct grant *grant_find(const struct lock *, struct ident);
void grant_enter(struct core *, struct grant *, enum grant_state,
    struct session *);
void grant_advance(struct core *, struct grant *);
void grant_add_hold(struct grant *, struct hold *);
void grant_drop_hold(struct hold *);
void grant_lose(struct core *, struct grant *, enum core_loss);
void grant_released(struct core *, struct grant *, int code, int cause,
    const char *text);
void grant_adopt(struct core *, struct grant *, const struct lock_record *);
bool grant_fits(const struct grant *, const struct request *);
bool grant_can_give(const struct core *, const struct grant *,
    const struct request *);
void grant_check(const struct core *, const struct grant *);

/* lock.c */
struct key lock_key(const struct lock *);
struct lock *lock_find(const struct namespace *, struct key);
int lock_new(struct core *, struct namespace *, struct key,
    struct lock **ret);
void lock_free_if_unused(struct core *, struct lock *);
void lock_advance(struct core *, struct lock *);
void lock_release(struct core *, struct lock *);
void lock_timer(struct core *, struct lock *);
void lock_check(const struct core *, const struct lock *);
bool lock_takeover_is_near(const struct core *, const struct lock *);
void lock_lose(struct core *, struct lock *, const struct session *,
    enum core_loss);
bool lock_may_add(const struct lock *);
bool lock_may_seek(const struct lock *);
bool lock_must_wait(struct core *, struct lock *);
bool lock_has_other_limit(const struct lock *, const struct request *);
bool lock_is_open(const struct lock *, const struct request *);
bool lock_rid_of_stale_wish(struct core *, struct lock *);
bool lock_run_is_over(const struct core *, const struct lock *);
struct hold *lock_first_hold(const struct lock *);
enum lock_mode lock_wish_mode(const struct lock *);
void lock_hold_off(struct core *, struct lock *, uint64_t period_ms);
uint64_t lock_poll_ms(const struct lock *);

/* record.c */
void record_seen(struct core *, struct lock *, const struct lock_record *,
    uint64_t submitted_ms);
bool record_shows(const struct lock_record *, const struct grant *);
void record_orphan(struct core *, struct lock *, const struct holder *);
void record_forget_sight(struct lock *);
bool record_block(struct core *, struct lock *);
size_t record_dead(const struct lock *, struct holder *ret);
enum core_loss record_loss(const struct lock_record *);

/* submission.c */
bool submission_send(struct core *, struct lock *, enum operation_kind,
    struct grant *);
struct holder submission_me(const struct grant *);
void submission_free(struct core *, struct submission *);
void submission_drop(struct core *, struct lock *);
void submission_free_spares(struct core *);

/* transfer.c */
void transfer_stored(struct core *, struct lock *, const struct outcome *);

/* session.c */
void session_start(struct core *, struct namespace *);
void session_timer(struct core *, struct session *);
void session_open_timer(struct core *, struct namespace *);
void session_stored(struct core *, struct session *, const struct outcome *);
void session_renew(struct core *, struct session *, struct request *);
void session_retire(struct core *, struct session *);
void session_unused(struct core *, struct session *);
void session_free(struct core *, struct session *);
void session_check(const struct core *, const struct session *);
struct session *session_find(const struct namespace *, struct ident);
bool session_is_good(const struct core *, const struct session *);
uint64_t session_until_ms(const struct session *);
void namespace_trouble(struct namespace *, const struct outcome *);
bool namespace_code_is_definite(int code);
bool namespace_is_settled(const struct namespace *);

/* observe.c */
struct observation *observe_find(const struct namespace *, struct ident);
struct observation *observe(struct core *, struct namespace *, struct ident,
    uint64_t lease_ms);
void observe_block(struct core *, struct sight *, struct observation *);
void observe_unblock(struct sight *);
void observe_glance(struct core *, struct observation *);
bool observe_ends_before(const struct observation *,
    const struct observation *);
bool observe_lives(struct core *, struct observation *);
bool observe_is_near_end(const struct core *, const struct observation *);
void observe_timer(struct core *, struct observation *);
void observe_stored(struct core *, struct observation *,
    const struct outcome *);
void observe_closed(struct core *, struct namespace *, struct ident);
void observe_free(struct core *, struct observation *);

/* doubt.c */
struct doubt *doubt_new(struct core *, struct lock *);
void doubt_drop(struct core *, struct doubt *);
void doubt_add(struct core *, struct doubt *, struct ident session,
    struct ident grant, uint64_t sent_ms);
void doubt_seen(struct core *, struct lock *, uint64_t submitted_ms);
void doubt_timer(struct core *, struct doubt *);
void doubt_session_closed(struct core *, struct namespace *, struct ident);
void doubt_free_all(struct core *, struct lock *);

/* audit.c */
void audit_timer(struct core *, struct namespace *);
void audit_stored(struct core *, struct namespace *, const struct outcome *);

/* listing.c */
int listing_ask(struct core *, struct request *, const struct core_request *);
void listing_stored(struct core *, struct request *, const struct outcome *);
void listing_continue(struct core *, struct request *);
void listing_leave(struct core *, struct listing *);
void listing_timer(struct core *, struct namespace *);
void listing_free(struct listing *);

/* view.c */
void view_lock(const struct core *, const struct lock *, uint64_t now_ms,
    struct core_holder_view *ret);
void view_record(const struct core *, const struct namespace *, struct key,
    const struct lock_record *, uint64_t now_ms, struct core_holder_view *ret);

#endif

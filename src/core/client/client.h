/*
 * Clients: their requests, waiters, holds and promises.
 *
 * A request lives from its admission to its one reply (request.c); an ACQUIRE
 * waits (admit.c, wait.c) until a grant is its client's hold (hold.c). What
 * rooms beside serve of requests they hang on them as a struct request_kind.
 */
#ifndef DDBLOCKD_CORE_CLIENT_CLIENT_H
#define DDBLOCKD_CORE_CLIENT_CLIENT_H

#include "core/lock/lock.h"
#include "core/tenant.h"

struct request;

/* ---- clients ---------------------------------------------------------- */

struct client {
	uint64_t id;
	UT_hash_handle hh;
	bool draining;			/* sends nothing more */
	bool drains;		/* then: it is in core->drains, */
	struct client *drain_previous, *drain_next;
	struct request *to_drain;	/* its next request to look at */
	bool gone;			/* but has holds that remain */
	bool pinned;			/* not to be freed just now */
	uint64_t heard_ms;		/* it said something then */
	uint32_t n_requests;
	uint32_t n_holds;
	uint32_t n_more;	/* keys of requests beyond one each */
	struct hold *to_leave;	/* leaving, or resumed: the next to look at */
	bool leaving;		/* its end has begun, */
	bool cut;		/* and it is ours */
	struct request *requests;
	struct hold *holds;
	struct linger *linger;	/* NULL: it asked for none */
	struct resume *resume;	/* what it takes over; NULL: nothing */
	uint32_t n_lingers;	/* holds that linger_keeps() */
	struct watch *watches;	/* reads/ keeps this */
	struct tenant *tenant;
	struct shares shares;
	struct saved saved;
	uint32_t held_in[CORE_NAMESPACES_MAX];	/* valid holds */
};

struct client *client_find(const struct core *, uint64_t id);

void client_free_if_unused(struct core *, struct client *);
void client_heard(struct core *, uint64_t id);
void client_drain(struct core *, uint64_t id);
/* At most @n_left requests of those that drain. */
void client_drain_some(struct core *, uint32_t *n_left);
void client_stop(struct core *);
/* At most @n_left holds of those that are resumed. */
void resume_some(struct core *, uint32_t *n_left);
void client_free_all(struct core *);
int client_init(struct core *);		/* DDBLOCK_E_NOMEM */

/* Its connection has ended, or we end it. 1: it has more than can end in a
 * step, and goes on with client_leaves(). */
int client_gone(struct core *, uint64_t id);
int client_cut_off(struct core *, uint64_t id);
int client_leaves(struct core *, uint64_t id);

/* At most @n_left waiters of those that a session lets go on (wake.c). */
void wake_some(struct core *, uint32_t *n_left);

/* What must be true of this room after each step. */
void client_check(const struct core *);

/* What was answered and is over: the last step's actions are done with. */
void client_forget(struct core *);

/* The daemon stops: waiters are told so; and what is held is released, if that
 * was asked for. */
void client_refuse_waiting(struct core *);
void client_stop_leases(struct core *, struct namespace *);

/* ---- what it has of what all share (share.c) -------------------------- */

/* So many more; or less. */
static inline void
share_count(struct core *core, struct client *c, enum share item, int64_t n)
{
	c->shares.has[item] += (uint64_t)n;
	c->tenant->shares.has[item] += (uint64_t)n;
	core->shares.has[item] += (uint64_t)n;
}

/* And bytes for these. */
static inline void
share_add(struct core *core, struct client *c, enum share item, int64_t n,
    int64_t bytes)
{
	share_count(core, c, item, n);
	share_count(core, c, SHARE_BYTES, bytes);
}

/* It is another user's, with all that it has. */
int share_set_tenant(struct core *, struct client *, uint32_t user);

/* Its user has these limits: who waits goes on by them. */
void share_set_limits(struct core *, uint64_t client,
    const struct core_user_limits *);

/* Memory for what it asks for. */
void share_take(struct core *, struct request *, size_t bytes);

/* May its user have what the request asks for? If not, it is answered. */
bool share_admit(struct core *, struct request *, const struct core_request *);
void share_tell_rate(const struct request *, uint64_t wait_ms, char *ret_text,
    size_t text_size);

/* ---- no new grants, other settings (drain.c) -------------------------- */

/* Who waits where nothing is granted any more is told so. */
void client_refuse_drained(struct core *);

/* Its poll time is another: who waits there goes by that. */
void client_pace(struct core *, const struct namespace *);

/* What this room tells those beside it. */
struct client_events {
	/* The connection has ended: one of its watches does. */
	void (*unwatch)(struct core *, struct client *);
};

/* ---- across the death of the process (client_saved.c, hold_saved.c) --- */

bool client_save(struct journal *, struct saved *);
bool hold_save(struct journal *, struct saved *);
bool serials_save(struct journal *, struct saved *);
void client_save_all(struct core *);
int client_inherit(struct core *, const struct core_legacy *,
    const struct journal_entry *);

/* All @n entries of holds, in any order, whose grants are @grants by their
 * numbers. DDBLOCK_E_NOMEM, DDBLOCK_E_BAD_RECORD */
int hold_inherit_all(struct core *, const struct core_legacy *,
    const struct journal_entry *entries, size_t n,
    const struct inherited_grants *, struct core_inherited *ret);

/* Clients whose connection is not there are cut off. */
void client_seal_all(struct core *, const struct core_event *);
void client_came_back(struct core *, const struct core_event *);

/* ---- requests --------------------------------------------------------- */

/* What somebody hangs on a request to serve it. */
struct request_kind {
	/* It is answered, or dropped. */
	void (*leave)(struct core *, struct request *);

	/* Is an operation of its own under way? Then it is freed with that. */
	bool (*is_busy)(const struct request *);

	/* Its timer has come. */
	void (*timeout)(struct core *, struct request *);
	void (*free)(struct request *);
};

/* A request from its admission to its reply. */
struct request {
	struct core_reply reply;	/* first: it is the action, too */
	struct client *client;		/* NULL: it was answered */
	struct request *client_previous, *client_next;
	struct hash_link link;		/* ACQUIRE and LIST: in core->asked */
	struct namespace *ns;
	struct waiter waiter;		/* as the locks see it */
	char *text;			/* reply.text's memory, or NULL */
	char *token_text;		/* and reply.token_text's */
	struct core_holder_view *holder;	/* reply.holder's memory */
	struct contents *found;		/* reply.contents' memory */
	const struct request_kind *kind;	/* NULL: of this room */
	void *served;			/* that kind's */
	size_t bytes;			/* on its client's shares, */
	uint32_t n_asked;		/* and locks that it asks for */

	/* ACQUIRE: */
	struct rank waiting;		/* in core->waiting, by its serial */
	struct hold *hold;		/* made at admission, for the grant */
	struct multi *multi;		/* of several keys, or NULL */
	struct core_terms terms;
	struct core_parted parted;
	struct hash_link process_link;	/* for one: in core->process_requests */

	/* RELEASE: */
	bool of_process;	/* and what others hold for one */

	/* RENEW: */
	struct lease *lease;		/* whose renewal it waits for */
	struct request *renew_previous, *renew_next;
};

/* Its memory and its client: the caller serves it next. DDBLOCK_E_LIMIT,
 * DDBLOCK_E_NOMEM, DDBLOCK_E_UNKNOWN_NAMESPACE: it is not admitted. @ret is not
 * written, either, if the client leaves: it is not answered any more. */
int request_admit(struct core *, const struct core_request *,
    struct request **ret);

/* It was not admitted after all: as if it had never been asked. */
void request_refuse(struct core *, struct request *);

#define REQUEST_UNANSWERED "no answer within try_timeout"

/* The one reply. */
void request_reply(struct core *, struct request *, int code, int cause,
    const char *text);

/* Its own operation has ended after it was answered. */
void request_abandoned(struct core *, struct request *);

void request_timer(struct core *, struct timer *);

/* The client's ACQUIRE or LIST of this number; NULL: none. */
struct request *request_find(const struct core *, uint64_t client,
    uint64_t number);

/* The first ACQUIRE with a higher serial, in the order of asking; NULL: none.
 * */
struct request *request_waiting_after(const struct core *, uint64_t serial);

/* What a request of this room asks: 0 or a code with which it is not
 * admitted. */
int admit_acquire(struct core *, struct request *,
    const struct core_request *);
int wait_cancel(struct core *, struct request *, uint64_t target);
int release_ask(struct core *, struct request *, const struct core_request *);
int renew_ask(struct core *, struct request *, const struct core_request *);
int downgrade_ask(struct core *, struct request *,
    const struct core_request *);
int break_ask(struct core *, struct request *, const struct core_request *);
int linger_resume(struct core *, struct request *,
    const struct core_request *);

void break_stored(struct core *, struct request *, const struct outcome *);
int raise_ask(struct core *, struct request *, const struct core_request *);
void raise_stored(struct core *, struct request *, const struct outcome *);

/* ---- holds ------------------------------------------------------------ */

#define HOLD_SINCE_MAX ((UINT64_C(1) << 60) - 1)

/* A client's hold, from the grant until its release, or until the client has
 * taken note of its loss by a release. */
struct hold {
	struct core_notice notice;	/* first; its ids are ours */
	struct use use;			/* as the locks see it */
	struct hash_link link;		/* in core->holds_by_id */
	struct rank rank;		/* in core->holds, by its id */
	struct saved saved;
	struct client *client;
	struct hold *client_previous, *client_next;
	struct terms *terms;		/* its own; NULL: it has none */
	uint64_t since_ms : 60;
	bool special : 1;	/* it is one of several, or has a name */
	bool lost : 1;
	bool lingers : 1;	/* it has no client now, but may again */
	bool let_go : 1;	/* nor ever: it stays a while (at_least.c) */
};

struct hold *hold_find(const struct core *, uint64_t id);

/* The first with a higher number, in the order of the grants; or NULL. */
struct hold *hold_after(const struct core *, uint64_t id);
struct hold *hold_of(const struct use *);	/* accepts NULL */
struct core_labels hold_labels(const struct hold *);
const char *bridge_token_text(const struct hold *);	/* that was told */
uint64_t hold_until_ms(const struct hold *);
uint64_t hold_end_ms(const struct hold *);
uint32_t hold_count(const struct hold *);
uint64_t hold_process(const struct hold *);
bool hold_is_endangered(const struct hold *);	/* as it was told */

/* When it ends, its client having left; 0: it does not linger. */
uint64_t hold_linger_end_ms(const struct hold *);

/* Until when it stays in any case; 0: it does not. */
uint64_t hold_least_ms(const struct hold *);

/* Of several it is one, and the client knows them by the first. */
struct hold *hold_speaker(struct hold *);

/* How many keys a request asks for, and how many of them it has now. */
uint32_t request_n_keys(const struct request *);
uint32_t request_n_had(const struct request *);

void terms_timer(struct core *, struct timer *);
void linger_timer(struct core *, struct timer *);
void process_ended(struct core *, uint64_t client, uint64_t process);
void multi_run(struct core *);

struct multi_operation;
void multi_stored(struct core *, struct multi_operation *,
    const struct outcome *);

static inline uint64_t
view_since(uint64_t now_ms, uint64_t then_ms)
{
	return now_ms > then_ms ? now_ms - then_ms : 0;
}

/* ---- the holder of a lock ---------------------------------------------------
 * */

/* As far as it is known without asking; and from a record that was just
 * read. */
void view_lock(const struct core *, const struct lock *, uint64_t now_ms,
    struct core_holder_view *ret);
void view_record(const struct core *, const struct namespace *, struct key,
    const struct lock_record *, uint64_t now_ms,
    struct core_holder_view *ret);

/* ---- what the rooms below tell this one ------------------------------- */

void notice_lease(struct core *, struct lease *, enum core_notice_kind);
void notice_own(struct core *, struct lease *, bool all);
void notice_outage(struct core *, struct namespace *, bool danger);
void renew_answer(struct core *, struct lease *, int code);
void wake_opened(struct core *, struct namespace *);
void wake_refused(struct core *, struct namespace *, int code);
void wait_observed(struct core *, struct blocked *);
void wait_granted(struct core *, struct grant *);
void wait_review(struct core *, struct lock *);
void request_answered(struct core *, struct waiter *, int code, int cause,
    const char *text);
void renew_updated(struct core *, struct grant *, struct waiter *);
void downgrade_told(struct core *, struct waiter *, struct use *);
void hold_lost(struct core *, struct use *, enum core_loss);
void hold_check(const struct core *, const struct use *);
bool multi_ask(struct core *, struct lock *);
uint64_t bridge_tokens_lacking(const struct use *);
void bridge_tokens_known(struct core *, const struct use *,
    const struct outcome *);

#endif

/*
 * One lock: its record as it was last seen, the grants of ours in it, the queue
 * of its waiters here, and the one operation that is under way for it.
 *
 * lock_advance() (lock.c) looks at all that is known and submits what is due;
 * outcome.c takes in what became of it. What clients are to be told goes up
 * through struct lock_events.
 */
#ifndef DDBLOCKD_CORE_LOCK_LOCK_H
#define DDBLOCKD_CORE_LOCK_LOCK_H

#include "core/contents.h"
#include "core/lease/lease.h"

/* ---- what clients want of a lock -------------------------------------- */

/* A request, as the locks see it: what it wants of one, and where it waits. The
 * room above owns it, and sets what it asks for. */
struct waiter {
	uint64_t serial;	/* in the order of asking */
	uint64_t asked_ms;
	uint64_t deadline_ms;
	struct timer timer;
	struct change *change;	/* ACQUIRE, RENEW, RELEASE: of what is kept in
				 * the lock; or NULL */

	/* ACQUIRE: */
	struct lock *lock;	/* in whose queue it stands; NULL: in none */
	struct waiter *previous, *next;
	struct rank place;	/* in the queue, by its serial */
	enum lock_mode mode : 8;
	uint16_t limit;
	bool fail_closed;
	bool overdue;	/* its time is up, but it was never really tried */
	bool only_if_exists;
	bool exists;		/* it was seen to */
	bool is_multi;		/* it asks for other locks as well */
	bool asked;		/* the store is being asked for all of them */
	bool put_off;	/* its next step is certain, and no business
			 * of this lock; what follows from that is seen then */
	bool leaving;		/* its client is */
	bool counts_at_end;	/* of a period: its run, if it succeeds */
	uint32_t every_s;	/* once in so long; 0: at any time */
	uint64_t ran_s;		/* it is not due: the last run began then */
	uint64_t poll_ms;	/* 0: as its namespace has it */
	uint32_t user;		/* whose it is */
	char *owner;

	/* RENEW with a change, or DOWNGRADE: of this grant. */
	struct grant *grant;

	/* RELEASE: */
	struct grant *grants;	/* whose end it waits for */
	int released_code;	/* of those that ended: what went */
	int released_cause;	/* wrong first */
	bool keeps_contents;		/* its element there is to be left */
};

/* One client's use of a grant; the room above owns it. */
struct use {
	struct lock *lock;
	struct grant *grant;		/* NULL: lost */
	struct use *previous, *next;	/* of the grant */
	uint64_t token : 53;	/* TOKEN_MAX; there are very many of these */
	bool fail_closed : 1;
	bool is_multi : 1;	/* it is one of several, with other locks */
};

/* ---- grants ----------------------------------------------------------- */

/* grant.c has the picture of these. */
enum grant_state {
	GRANT_NONE = 0,
	GRANT_ASKING,
	GRANT_UNSURE,
	GRANT_HELD,
	GRANT_RELEASING,
};

/* One element of ours in a lock's record, or on its way there. Every lock has
 * one, hence its narrow members. */
struct grant {
	struct lock *lock;
	struct grant *next;		/* of the lock */
	struct lease *lease;		/* NULL: fail-closed, or lost with a
					 * write under way */
	struct grant *lease_previous, *lease_next;
	struct ident id;
	enum grant_state state : 4;
	enum lock_mode mode : 8;
	bool unsettled : 1;	/* RELEASING: the answer never came */
	bool passed : 1;	/* this acquisition was granted before */
	bool stays : 1;	/* the record says that it may be kept */
	bool unsealed : 1;	/* an update may yet land: see update.c */
	bool fail_closed : 1;
	bool unproven : 1;	/* fail-closed: see fail_closed_await_proof() */
	uint16_t limit;
	uint16_t audit_round;
	uint16_t n_tokens;	/* that were asked for with it */
	uint64_t token_next;	/* the block: next to give, and the last */
	uint64_t token_last;
	uint32_t user;		/* of its last holder; or USER_NONE */
	uint64_t gap_ms;	/* no other client's before: one was lost */
	struct saved saved;
	struct use *uses;		/* NULL: idle */
	struct waiter *releasing;	/* waits for the release's outcome */
	struct grant *releasing_next;	/* that it waits for */
	struct extras *extras;		/* NULL: it has none */
};

/* Does a client have it, or may one that lost it still be working? */
bool grant_is_taken(const struct core *, const struct grant *);
bool grant_is_being_downgraded(const struct grant *);
bool grant_is_once(const struct grant *);	/* per period: every.c */

/* Whose renewal tells its holder that the store answers; NULL: nothing's. */
struct lease *grant_lease(const struct grant *);

/* Can this one hold the lock by this grant at once? */
bool grant_can_give(const struct core *, const struct grant *,
    const struct waiter *);

/* Its token in full; NULL: a number has room for it. */
const char *grant_token_text(const struct grant *);

/* A client has it, with the token that comes next, or has it no more: the
 * caller releases or advances. And it was told a later one of its block. */
void grant_add_use(struct grant *, struct use *);
void every_succeed(struct grant *);
void grant_drop_use(struct use *);
void grant_skip_tokens(struct use *, uint64_t told);

/* Its last holder may work until @working_ms, and at least for a margin. */
void grant_leave_gap(struct core *, struct grant *, uint64_t working_ms);
void grant_end_gap(struct core *, struct grant *);

/* What the waiter wants released is let go of here: it is told the end. */
void grant_await_release(struct core *, struct grant *, struct waiter *);
void grant_stop_awaiting(struct waiter *);

/* The next of the session's grants that was not audited in this round, and of
 * those that are fail-closed; NULL: none. */
struct grant *grant_next_to_audit(struct lease *);
struct grant *fail_closed_next_to_audit(struct namespace *);

/* Its client left without a release. */
void fail_closed_leave(struct core *, struct grant *);

/* Nothing is to be written for any of them. */
bool fail_closed_is_settled(const struct namespace *);

/* From exclusive to shared use (downgrade.c). DDBLOCK_E_NOMEM */
int downgrade_begin(struct core *, struct grant *, struct waiter *,
    const char *owner, uint16_t limit);
void downgrade_stop_awaiting(struct waiter *);

/* ---- locks ------------------------------------------------------------ */

/* Knowledge of a record without elements of ours. */
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
	uint64_t seen_ms;
	bool kept;			/* perhaps without a client */
	char *owner;			/* may be NULL */
	struct blocked blocked;		/* on a holder that is not dead yet */
	struct lock *lock;
	size_t n_holders;
	struct holder holders[];
};

/* That it was freed, as another host said. */
enum hint_state {
	HINT_NONE = 0,
	HINT_HEARD,
	HINT_FOLLOWED,	/* and the store is asked */
};

struct lock {
	struct hash_link link;		/* first: in ns->locks, by key */
	struct namespace *ns;
	struct timer timer;
	enum lock_view view : 2;
	enum lock_mode own_mark_mode : 2;	/* of our waiter mark there */
	enum mark_form mark_due : 2;	/* a client here waits for its end */
	enum hint_state hint : 2;
	uint32_t key_length : 12;	/* KEY_BYTES_MAX */
	bool foreign_mark_seen : 1;	/* another host's, which is hindered */
	bool shared_seen : 1;	/* it is or was shared, with this limit: */
	bool hindered : 1;	/* only others' marks keep us from it */
	bool refused : 1;	/* a write for what looked open: look first */
	bool read_due : 1;	/* a doubt wants a fresh look */
	bool stand_back : 1;	/* releasing: let the others have it first */
	bool has_place : 1;	/* at @place_ms */
	bool wanted : 1;	/* by a host that a hint will reach */
	bool token_low : 1;	/* the record's went back, and that was told */
	int16_t cause;		/* last trouble, or 0 */
	uint16_t run;		/* local grants since the record was read */
	uint16_t others_seen;	/* holders beside the grants that are ours */
	uint16_t limit_seen;	/* or the greatest number */
	uint32_t n_uses;		/* of the grants */
	uint32_t n_overdue;		/* of the waiters */
	uint32_t references;	/* lost holds, audits, several keys */
	uint32_t writes;	/* submitted so far; for batches */
	uint32_t looks;		/* records that were taken in; for batches */
	/* The last 32 bits of when: that is enough for what takes a lease. */
	uint32_t hindered_ms;	/* it is free and @hindered since */
	uint32_t run_started_ms;

	struct grant *grants;	/* in the order of their making */
	struct grant first;	/* memory of one; the usual case */
	struct waiter *queue;
	struct rank *places;	/* of the same */
	struct submission *submission;	/* under way, or NULL */
	struct sight *sight;		/* VIEW_FOREIGN */
	struct line *line;	/* of hosts, as it was seen; NULL: none */
	struct leftovers *leftovers;	/* NULL: none */
	struct in_doubt_list in_doubt_list;
	struct watched *watched;	/* reads/ keeps this; NULL: by nobody */
	struct saved saved;	/* if there is something to put right */
	uint64_t due_ms;	/* next poll. HELD: end of idleness */
	uint64_t taken_ms;	/* its last holder here asked for it */
	uint64_t hold_off_ms;	/* no store operation before */
	uint64_t back_ms;	/* until then it is others' turn */
	uint64_t place_ms;	/* when the store may be asked, */
	uint32_t place_user;	/* for this user's (core/rate.h) */
	uint32_t deaf_ms;	/* hints mean nothing until then (32 bits) */
	uint64_t sequence;	/* of its contents' last known revision */
	uint64_t token_known;	/* the highest that was ever seen there */
	uint64_t token_seen;	/* in the record, and its version, where its
				 * format has one; NULL: none, or unknown */
	char *version;
	char key[];
};

static inline struct key
lock_key(const struct lock *l)
{
	return (struct key){ l->key, l->key_length };
}

struct lock *lock_find(const struct namespace *, struct key);
int lock_new(struct core *, struct namespace *, struct key,
    struct lock **ret);
int lock_init(struct namespace *);	/* DDBLOCK_E_NOMEM */
void lock_reserve(struct namespace *, size_t n);	/* are to come */
void lock_timer(struct core *, struct timer *);
void lock_stored(struct core *, struct lock *, const struct outcome *);
void lock_free_all(struct core *, struct namespace *);

/* Grants are audited in rounds, and what is granted in one belongs to the
 * next. */
void lock_begin_audit(struct namespace *);

/* Something happened to it: what is due now? It may be freed. */
void lock_advance(struct core *, struct lock *);

void lock_advance_soon(struct core *, struct lock *);

/* A grant of it has no holder any more: the next one, or none. */
void lock_release(struct core *, struct lock *);

/* It is not freed meanwhile; and it may be, at once. */
void lock_ref(struct lock *);
void lock_unref(struct core *, struct lock *);
void lock_free_if_unused(struct core *, struct lock *);

/* Its watchers are to be told. */
void lock_touch(struct core *, struct lock *);

/* No store operation for it for about a poll period. */
void lock_hold_off_poll(struct core *, struct lock *);

/* One of its holders; NULL: none. */
struct use *lock_first_use(const struct lock *);

/* When may the store be asked for the first in line, as far as that has to be
 * waited for (core/rate.h)? 0: it does not. */
uint64_t lock_place_ms(const struct core *, const struct lock *);

/* Is it known to be shared, within another limit than this one asks for? */
bool lock_finds_limit(const struct lock *, const struct waiter *,
    uint32_t *ret_limit);

/* When the operation that is under way was submitted; CORE_FOREVER: none is. */
uint64_t lock_submitted_ms(const struct lock *);

/* Wait for the next of its holders, if one was seen to die. */
void lock_watch_next(struct core *, struct lock *);

/* Its record came in a batch, with others'; nothing was learnt or sent since
 * then, or (the second) no write was sent. */
void lock_looked(struct core *, struct lock *, const struct lock_record *,
    uint64_t submitted_ms);
void lock_audited(struct core *, struct lock *, const struct lock_record *,
    uint64_t submitted_ms);

/* It was broken, and this is left of it. */
void lock_broken(struct core *, struct lock *, const struct lock_record *);
bool record_shows(const struct lock_record *, const struct grant *);
bool record_holder_is_left(const struct namespace *, const struct lock *,
    const struct holder *);

/* ---- the queue (queue.c) ---------------------------------------------- */

void queue_join(struct lock *, struct waiter *);
void queue_part(struct waiter *);
uint32_t queue_ahead(const struct waiter *);

/* Its time is up. */
void queue_set_overdue(struct waiter *);

/* Does somebody have the lock, as far as is known, or come before this one? */
bool queue_is_others(const struct core *, const struct lock *,
    const struct waiter *);

/* Is it known that this one does not get that lock at once? */
bool queue_would_wait(const struct core *, const struct lock *,
    const struct waiter *);

/* Of this host among those that wait in order, as it was seen last, from 1;
 * 0: in none. */
uint32_t lock_own_place(const struct lock *);

/* ---- what is kept in it (update.c) ------------------------------------ */

/* The holder's change, by a RENEW. DDBLOCK_E_NOMEM */
int update_join(struct grant *, struct waiter *);
void update_leave(struct waiter *);

/* What the answer of this step showed of this lock's contents is the caller's;
 * NULL: nothing. */
struct contents *update_take_found(struct core *, const struct lock *);

/* ---- hints (hint.c) --------------------------------------------------- */

/* Another host says something of the lock with this digest. */
void lock_hinted(struct core *, const struct core_hinted *);
/* And is told something, unless the session is our own. */
void hint_send(struct core *, struct namespace *, struct key,
    enum core_hint_kind, struct ident session);
void hint_freed(struct core *, struct namespace *, struct key,
    const struct lock_record *);

/* Was it of use, that a hint was followed? If not, it hears no other for a
 * while. */
void hint_judge(struct core *, struct lock *, bool useful);

/* Hosts that watch it are to be told, and (later) some of them are. */
void hint_changed(struct core *, struct namespace *, struct key);
void follow_tell(struct core *);
uint32_t follow_count(const struct namespace *);

/* ---- several locks in one operation (submission.c) -------------------- */

/* Could the store be asked for it now, with a fair chance? Or is a grant here
 * that this one can have at once? NULL: no. */
bool lock_is_open(const struct core *, const struct lock *);
struct grant *lock_find_grant(const struct core *, const struct lock *,
    const struct waiter *);

/* It has a holder by this grant: this user's. */
void lock_gave(struct grant *, uint32_t user);

/* Memory first, for all of them (false: there is none); then the operations;
 * then what became of each. */
bool submission_begin_part(struct core *, struct lock *, uint32_t user);
void submission_undo_part(struct core *, struct lock *);
const struct operation *submission_send_part(struct core *, struct lock *,
    const struct waiter *, uint64_t deadline_ms);
void lock_stored_part(struct core *, struct lock *, const struct outcome *);
struct grant *grant_find(const struct lock *, struct ident);

/* ---- events ----------------------------------------------------------- */

/* What this room tells those above it. */
struct lock_events {
	/* The first in line may have the lock by this grant. */
	void (*granted)(struct core *, struct grant *);

	/* More is known: has anybody waited long enough? */
	void (*learnt)(struct core *, struct lock *);

	/* Another host has changed it, as that one says. */
	void (*hinted)(struct core *, struct lock *);

	/* This is the answer. What waited for it waits no more. */
	void (*answered)(struct core *, struct waiter *, int code, int cause,
	    const char *text);

	/* What a RENEW was to change is changed. */
	void (*updated)(struct core *, struct grant *, struct waiter *);

	/* It shares the lock now, as this one (or NULL) asked. */
	void (*downgraded)(struct core *, struct waiter *, struct use *);

	/* This use is lost. When this returns, its grant has it no more. */
	void (*lost)(struct core *, struct use *, enum core_loss);

	/* The first in line asks for several: all of them in one operation?
	 * False: this lock alone. */
	bool (*ask_multi)(struct core *, struct lock *);

	/* Is all as it must be with this one? (An assertion, if not.) */
	void (*check)(const struct core *, const struct use *);

	/* Of a use that is one of several: how many more tokens its record must
	 * have before it is told; and what became of asking for them, or (NULL)
	 * that more are known. */
	uint64_t (*tokens_lacking)(const struct use *);
	void (*tokens_known)(struct core *, const struct use *,
	    const struct outcome *);

	/* A lock that is watched: does a watcher wait for a read of it? It was
	 * read; it was not; something happened to it. */
	bool (*wants_read)(const struct lock *);
	void (*seen)(struct lock *, const struct lock_record *,
	    uint64_t submitted_ms);
	void (*unseen)(struct core *, struct lock *, int code,
	    const char *text);
	void (*touched)(struct core *, struct lock *);
};

/* ---- other times, no new grants (repace.c) ---------------------------- */

/* The next look at this lock is within the poll time as it is now. */
void lock_pace(struct core *, struct lock *);

/* What nobody uses here is kept no longer than it may be kept now. */
void lock_pace_namespace(struct core *, struct namespace *);

/* ---- across the death of the process (lock_saved.c) --------------------- */

bool grant_save(struct journal *, struct saved *);
bool lock_save(struct journal *, struct saved *);
void lock_save_all(struct core *, struct namespace *);

/* What this entry of a lock, a grant or a doubt leaves. For a grant @ret is
 * where its holds belong, or its lock is, if it is ours no more.
 * DDBLOCK_E_NOMEM, DDBLOCK_E_BAD_RECORD */
struct inherited_grant {
	uint64_t number;	/* by which its holds name it */
	struct lock *lock;
	struct grant *grant;	/* NULL: it is not inherited */
	bool has_lease;		/* of its own, which was read, too */
};

uint64_t grant_number(const struct grant *);

/* All of them. inherited.c: put them into the list, index them once, then find
 * them by their numbers. */
struct inherited_grants {
	struct inherited_grant *list;
	size_t n;
	uint32_t *slots;	/* by number: 1 + where in the list, or 0 */
	size_t mask;
};

/* False: no memory. */
bool inherited_grants_init(struct inherited_grants *, size_t n_max);
void inherited_grants_done(struct inherited_grants *);
/* DDBLOCK_E_BAD_RECORD: two have the same number. */
int inherited_grants_index(struct inherited_grants *);
/* When they have their holds: the others are looked at in the first step. */
void inherited_grants_advance(struct core *, const struct inherited_grants *);
/* NULL: there is none. */
struct inherited_grant *inherited_grants_find(const struct inherited_grants *,
    uint64_t number);

int lock_inherit(struct core *, const struct core_legacy *,
    const struct journal_entry *, struct inherited_grant *ret);
void use_inherit(struct use *, struct lock *, struct grant *, uint64_t token,
    bool fail_closed);	/* no grant: it was lost */
/* Could one with this token be a use of that? */
bool use_may_inherit(const struct grant *, uint64_t token, bool fail_closed);

/* ---- what the lease room tells this one ------------------------------- */

void lock_lease_lost(struct core *, struct lease *, enum core_loss);
void lock_record_lost(struct core *, struct lease *);
void lock_record_due(struct core *, struct lease *);
void lock_session_closed(struct core *, struct namespace *, struct ident);
void lock_unblocked(struct core *, struct blocked *);
void lock_read_in_doubt(struct core *, struct in_doubt_list *);
bool lock_has_live(const struct in_doubt_list *, struct ident grant);
struct key lock_key_of_in_doubt(const struct in_doubt_list *);
void lock_lease_proven(struct core *, struct lease *);
void lock_stale(struct core *, struct namespace *, struct ident);

/* The lock that waits for this. */
struct lock *lock_blocked(const struct blocked *);

#endif

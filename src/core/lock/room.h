/*
 * Inside of the lock room: what its files ask of each other.
 */
#ifndef DDBLOCKD_CORE_LOCK_ROOM_H
#define DDBLOCKD_CORE_LOCK_ROOM_H

#include "core/action.h"
#include "core/lock/lock.h"

/* ---- check.c ---------------------------------------------------------- */
void lock_check(const struct core *, const struct lock *);

/* ---- downgrade.c ------------------------------------------------------ */
struct downgrade {
	struct ident id;	/* of the element that takes the place */
	uint16_t limit;
	bool sent;
	bool unsure;		/* an attempt's answer never came */
	char *owner;		/* may be NULL */
	struct waiter *waiter;	/* NULL: it was answered */
};

void downgrade_advance(struct core *, struct grant *);
void downgrade_stored(struct core *, struct lock *, struct ident,
    const struct outcome *, uint64_t submitted_ms);

/* ---- grant.c ---------------------------------------------------------- */
/* Above that a token was set by hand: there is no room to raise others to it,
 * and to delete its record, which repairs it, is meant. */
#define TOKEN_FLOOR_MAX (TOKEN_MAX - 2 * TOKENS_MAX)

/* What few grants have; it is kept to the grant's end. */
/* Once per period (every.c). */
struct every {
	uint32_t period_s;	/* 0: at any time */
	bool at_end;		/* it counts when it succeeded */
	bool begun;		/* a client was told of it, */
	bool succeeded;		/* and released it */
};

struct extras {
	struct ident session;		/* fail-closed: in its element */
	struct downgrade *downgrade;	/* HELD, or NULL */
	struct waiter *changing;	/* RENEWs with a change */
	char *token_text;	/* of a token beyond TOKEN_MAX; or NULL */
	uint64_t token_floor;	/* its tokens may have been given before, up to
				 * this one (tokens.c); 0: they were not */
	struct every every;
};

static inline void
grant_touch(struct grant *g)
{
	saved_touch(g->lock->ns->core, &g->saved, SAVED_GRANT);
}

struct extras *grant_extras(struct grant *);

/* every.c: of grants that have extras. NULL: it is for any client. */
struct every *grant_every(const struct grant *);
bool every_suits(const struct grant *, const struct waiter *);
void every_ask(struct grant *, const struct waiter *, struct operation *);
void every_begin(struct grant *);
enum run_end every_end(const struct grant *);
void every_seen(struct core *, struct lock *, const struct submission *,
    const struct outcome *);

struct downgrade *grant_downgrade(const struct grant *);
struct ident grant_session_id(const struct grant *);
bool grant_has(const struct grant *, struct ident);
bool grant_is_lost(const struct grant *);	/* with a write under way */
bool grant_is_holder(const struct grant *, const struct holder *);
size_t grant_count_holders(const struct lock *, const struct lock_record *);
bool grant_is_good(const struct core *, const struct grant *);
bool grant_is_usable(const struct grant *);
bool grant_is_proven(const struct grant *);
bool grant_is_common(const struct grant *);
bool grant_suits(const struct grant *, const struct waiter *);
bool grant_fits(const struct core *, const struct grant *,
    const struct waiter *);
struct grant *grant_next_in(struct grant **list, uint16_t round);

/* ---- grant_life.c ----------------------------------------------------- */
struct grant *grant_new(struct core *, struct lock *, bool fail_closed);
void grant_free(struct grant *);
void grant_enter(struct core *, struct grant *, enum grant_state,
    struct lease *);
void grant_lose(struct core *, struct grant *, enum core_loss);
void grant_expire(struct core *, struct grant *);
void grant_released(struct core *, struct grant *, int code, int cause,
    const char *text);
void downgrade_free(struct downgrade *);	/* accepts NULL */
void downgrade_end(struct core *, struct grant *, int code, int cause,
    const char *text);

/* ---- grant_next.c ----------------------------------------------------- */
void grant_advance(struct core *, struct grant *);

/* ---- tokens.c --------------------------------------------------------- */
uint16_t grant_tokens(const struct grant *);
uint64_t grant_next_token(struct grant *);
bool grant_has_token(const struct grant *);
uint64_t grant_lacks_tokens(const struct core *, const struct grant *);
void grant_asked_tokens(struct core *, const struct grant *,
    const struct outcome *);
bool grant_set_token_text(struct grant *, const char *text);
bool grant_take_tokens(struct grant *, const struct lock_record *);
bool grant_take_new_tokens(struct grant *, const struct lock_record *);
void grant_adopt(struct core *, struct grant *, const struct lock_record *);
uint64_t grant_extension(const struct core *, struct grant *,
    uint64_t *ret_seen);

/* Is the record of this hold below the tokens that the hold has? */
static inline bool
tokens_are_behind(const struct grant *g)
{
	const struct lock *l = g->lock;

	return l->ns->has_tokens && g->mode == LOCK_MODE_EXCLUSIVE &&
	    g->state == GRANT_HELD && l->token_seen > 0 &&
	    l->token_seen < g->token_last;
}

/* ---- lock.c ----------------------------------------------------------- */
void lock_save_righting(struct core *, struct lock *);
bool lock_takeover_is_near(const struct core *, const struct lock *);

/* ---- line.c ------------------------------------------------------------ */
/* The hosts that wait for a lock in order, as its record showed them. */
struct line {
	uint64_t open_ms;	/* since then this one is seen to be next, and
				 * the lock free or its holders dead; 0: not */
	uint64_t token;		/* of the record, */
	uint64_t token_ms;	/* seen since then */
	uint64_t placed_ms;	/* we have this place since */
	uint64_t turn_ms;	/* for each place we moved up; 0: unknown */
	uint8_t n;
	uint8_t place;		/* of our session, from 1; 0: none */
	bool unmarked;		/* which has no mark beside it */
	uint8_t outside;	/* looks without room, while it stood still */
	struct ident sessions[];
};

void line_seen(struct core *, struct lock *, const struct lock_record *);
bool line_is_kept(const struct lock *);
bool line_has_room(const struct lock *);
uint32_t line_place(const struct lock *, struct ident session);
bool line_has_turn(const struct core *, const struct lock *);
bool line_stood_long(const struct core *, const struct lock *);
void line_open(struct core *, struct lock *);
uint64_t line_turn_at_ms(const struct lock *);
uint64_t line_due_ms(struct core *, const struct lock *);
uint64_t line_patience_ms(const struct lock *);

/* ---- hint.c ------------------------------------------------------------ */
int hint_init(struct namespace *);	/* DDBLOCK_E_NOMEM */
void hint_done(struct core *, struct namespace *);
/* Digests are no secret, so their hash is made with one. */
uint32_t hint_hash_digest(const struct namespace *, uint64_t digest);
void hint_add_lock(struct lock *);
void hint_remove_lock(struct lock *);
/* Of two with one digest the one that was made later; NULL: there is none. */
struct lock *hint_find(const struct namespace *, uint64_t digest);
void hint_wanted(struct core *, struct lock *, const struct lock_record *);

/* ---- kept.c ------------------------------------------------------------ */
bool kept_is_habit(struct core *, const struct lock *);
void kept_hurry(struct core *, struct lock *);
bool kept_is_planned(struct core *, const struct lock *,
    const struct waiter *);
bool kept_is_brief(const struct core *, const struct lock *,
    const struct waiter *);
uint64_t kept_until_ms(const struct lock *, const struct waiter *);
bool lock_awaits_kept(const struct core *, const struct lock *,
    const struct waiter *);

/* ---- hint_hear.c ------------------------------------------------------- */
void hint_answered(struct core *, struct lock *, enum outcome_kind);

/* ---- follow.c ---------------------------------------------------------- */
int follow_init(struct namespace *);	/* DDBLOCK_E_NOMEM */
void follow_done(struct core *, struct namespace *);
void follow_heard(struct core *, struct namespace *, uint64_t digest,
    struct ident session);

/* ---- locks.c ---------------------------------------------------------- */
uint32_t lock_hash(const struct hash_link *);
/* Of its namespace's table; its token is remembered. */
void lock_take_out(struct core *, struct lock *);
struct lock *lock_next(const struct namespace *, const struct lock *);

/* ---- next_operation.c -------------------------------------------------- */
void lock_seek(struct core *, struct lock *);
void lock_poll(struct core *, struct lock *);
bool lock_remove_stale_mark(struct core *, struct lock *);

/* ---- pace.c ----------------------------------------------------------- */
uint64_t lock_poll_ms(const struct lock *);
bool lock_is_awaited(const struct lock *);
uint64_t lock_idle_ms(const struct lock *);
void lock_hold_off(struct core *, struct lock *, uint64_t period_ms);
void lock_try_later(struct core *, struct lock *);
bool lock_must_wait(struct core *, struct lock *);
bool lock_has_place(struct core *, struct lock *);
void lock_take_place(struct core *, struct lock *, uint32_t user);
bool lock_may_send(struct core *, struct lock *);
bool lock_is_alone(const struct core *, const struct lock *);
bool lock_run_is_over(const struct core *, const struct lock *);
bool lock_has_other_limit(const struct lock *, const struct waiter *);
enum lock_mode lock_mark_mode(const struct lock *);
bool lock_is_shared_alike(const struct lock *, const struct waiter *);
size_t lock_places(const struct waiter *);
bool lock_has_room(const struct lock *, const struct waiter *);
bool lock_may_add(const struct lock *, const struct waiter *);
bool lock_may_seek(const struct lock *);

/* ---- record.c --------------------------------------------------------- */
/* What this host should rid a record of. Names that are none: nothing. */
struct leftovers {
	struct ident own_mark;
	struct ident stale_mark;	/* of a session that is not alive */
	enum lock_mode stray_mark_mode;
	enum lock_mode stale_mark_mode;
	struct holder orphan;		/* our session's, but not live, */
	bool orphan_is_marked;		/* whose acquire said that it runs */
	struct holder dead;	/* of others, beside grants of ours */
};

void record_seen(struct core *, struct lock *, const struct lock_record *,
    uint64_t submitted_ms);
bool record_find_orphan(struct core *, struct lock *,
    const struct lock_record *);
void record_orphan(struct core *, struct lock *, const struct holder *,
    const struct lock_record *);
void record_forget_sight(struct lock *);
bool record_block(struct core *, struct lock *);
bool record_awaits_turn(struct core *, struct lock *);
size_t record_dead(const struct lock *, size_t most, struct holder *ret);
void record_went_back(struct lock *, uint64_t token);
void record_token_seen(struct lock *, const struct lock_record *);
enum core_loss record_loss(const struct lock_record *);

/* ---- pending_update.c -------------------------------------------------- */
struct waiter *update_renewal(const struct grant *);
struct waiter *update_owed_to(const struct grant *);
bool update_is_owed(const struct grant *);
void update_lose(struct core *, struct grant *);

/* ---- update.c --------------------------------------------------------- */
enum update {
	UPDATE_LATER = 0,	/* something is to be asked first */
	UPDATE_READY,
	UPDATE_REFUSED,		/* the waiter has got its answer */
};

void update_seen(struct core *, struct lock *, const struct submission *,
    const struct outcome *);
void update_forget(struct core *);
enum update update_look(struct core *, struct grant *, struct waiter *);
void update_advance(struct core *, struct grant *);
void update_doubt(struct grant *);
bool update_failed(struct core *, struct grant *, uint64_t serial,
    const struct outcome *);

/* ---- outcome.c -------------------------------------------------------- */
int16_t outcome_cause(const struct outcome *);
void outcome_failed(struct core *, struct lock *, const struct outcome *,
    uint64_t submitted_ms);
void outcome_seen(struct core *, struct lock *, const struct outcome *,
    uint64_t submitted_ms);
void outcome_granted(struct core *, struct grant *, const struct holder *me,
    const struct outcome *, uint64_t submitted_ms);
void outcome_gone(struct core *, struct grant *, const struct outcome *,
    uint64_t submitted_ms);

/* ---- fail_closed.c ---------------------------------------------------- */
void fail_closed_await_proof(struct core *, struct grant *);
void fail_closed_looked(struct grant *);

/* ---- other_reads.c ----------------------------------------------------- */
void look_taken(struct core *, struct lock *, uint64_t submitted_ms,
    const struct outcome *);
void look_exists(struct core *, struct lock *, const struct submission *,
    const struct outcome *);

/* ---- submission.c ----------------------------------------------------- */
/* One operation on its way, with the memory that it points to. */
struct submission {
	struct core_submit submit;	/* first */
	struct holder holder;
	char *version;		/* ACQUIRE */
	struct in_doubt *in_doubt;	/* for an answer that never comes */
	bool cleaning;		/* RELEASE: of an orphan, or of the dead */
	bool downgrading;	/* ACQUIRE: in the place of our own */
	char *owner;
	struct contents *contents;	/* UPDATE */
	uint64_t serial;		/* UPDATE: of the request for it */
	struct holder dead[];
};

bool submission_send(struct core *, struct lock *, enum operation_kind,
    struct grant *);
void submission_update(struct core *, struct grant *, const struct contents *,
    uint64_t serial);
struct holder submission_me(const struct grant *);
void submission_free(struct core *, struct submission *);
void submission_drop(struct core *, struct lock *);

#endif

/*
 * Which sessions are alive, and until when: our own sessions and the leases of
 * single records (lease.c), other hosts' sessions as they are seen from here
 * (observe.c), and writes that may yet land (in_doubt.c).
 *
 * This room knows neither locks nor clients. What it has to tell of them goes
 * up through struct lease_events.
 */
#ifndef DDBLOCKD_CORE_LEASE_LEASE_H
#define DDBLOCKD_CORE_LEASE_LEASE_H

#include "core/namespace.h"

/* How long a signed request may still be accepted after it was sent: AWS's
 * window of 15 minutes, and one for the clocks. */
#define IN_DOUBT_MS (UINT64_C(16) * 60 * 1000)

/* ---- leases of ours --------------------------------------------------- */

enum lease_state {
	LEASE_OPENING = 1,
	LEASE_VALID,
	LEASE_LOST,		/* over; a session closes one margin later */
	LEASE_CLOSING,
};

/* What grants live by: a session, which many share (session.c), or what one
 * record says (record_lease.c). */
struct lease {
	const struct lease_kind *kind;
	struct namespace *ns;
	struct lease *prev, *next;
	enum lease_state state;
	struct ident id;
	uint64_t sent_ms;	/* the lease counts from here, */
	uint64_t good_until_ms;	/* and its holders have it to here; 0: VALID no
				 * more, or not yet */
	uint64_t beat;
	uint64_t beat_at_ms;	/* the next renewal */
	uint64_t close_at_ms;	/* lost: not before */
	bool busy;		/* a renewal is under way, or its end */
	bool due;		/* to be renewed as soon as its record can */
	bool danger;
	bool was_danger;	/* or it was, when it was renewed last */
	bool warned;		/* and some hold, at a time of its own */
	bool retiring;		/* no new grants; close when unused */
	bool unproven;		/* inherited, and no beat has shown yet that no
				 * other process has it: no new grants */
	struct saved saved;
	int cause;		/* why the last beat did not renew it, or 0 */
	char text[OUTCOME_TEXT_MAX];
	struct timer timer;
	struct grant *grants;	/* the room above keeps these two */
	uint32_t n_grants;
	struct request *renewals;	/* and clients who asked for one this */
};

uint64_t lease_until_ms(const struct lease *);
bool lease_is_good(const struct core *, const struct lease *);	/* or NULL */
bool lease_is_of_record(const struct lease *);

/* One of its holds has a warning of its own, and stands warned. */
void lease_warn(struct lease *);

/* Renew it now, or as soon as its record can; or only (the second) if it is a
 * record's that is not about to be renewed. */
void lease_renew(struct core *, struct lease *);
void lease_renew_record(struct core *, struct lease *);

/* Nothing is granted under it any more: it may end, and be freed. */
void lease_unused(struct core *, struct lease *);

void lease_timer(struct core *, struct timer *);

/* May anything new be granted under it? */
bool lease_takes_grants(const struct lease *);

/* What must be true of this room after each step. */
void lease_check(const struct core *);

/* ---- sessions --------------------------------------------------------- */

int session_init(struct core *, struct namespace *);	/* DDBLOCK_E_NOMEM */
void session_free_all(struct namespace *);	/* and leases of records */
struct lease *session_find(const struct namespace *, struct ident id);
void session_open_timer(struct core *, struct timer *);
void session_stored(struct core *, struct lease *, const struct outcome *);

/* Of all of them: close unused sessions. */
void session_all_unused(struct core *, struct namespace *);

/* This attempt of a beat is about to be sent; or it was refused. */
void session_sending(struct core *, const struct operation *, uint64_t beat);
void session_refused(struct core *, const struct operation *, uint64_t beat);

/* For the next process, and of the one before (saved.h). False: there is no
 * room. DDBLOCK_E_NOMEM, DDBLOCK_E_BAD_RECORD: no session is like that. */
bool session_save(struct journal *, struct saved *);
int session_inherit(struct core *, const struct core_legacy *,
    const struct journal_entry *);
void session_save_all(struct core *, struct namespace *);

/* Is any of them inherited and not proven? Then what needs no session is not
 * proven, either. */
bool session_awaits_proof(const struct namespace *);
void session_all_tell(struct core *, struct namespace *);

/* ---- leases of records ------------------------------------------------ */

/* For a grant that is about to be asked for; NULL: no memory. */
struct lease *record_lease_new(struct core *, struct namespace *,
    struct ident id);

/* A write of such a record writes all of it: this is its owner. Without memory
 * it has none. */
void record_lease_set_owner(struct lease *, const char *owner);
const char *record_lease_owner(const struct lease *);

/* Its renewal is due, and may still go. */
bool record_lease_is_due(const struct core *, const struct lease *);

/* The acquire that it counts from was sent then. */
void record_lease_count_from(struct lease *, uint64_t sent_ms);

/* The record came to show our grant. */
void record_lease_begin(struct core *, struct lease *,
    const struct lock_record *);

/* A write that renews it is on its way; and what became of it. The caller knows
 * by then that the record still shows the grant, if it could be read. */
void record_lease_sent(struct lease *);
void record_lease_stored(struct core *, struct lease *,
    const struct outcome *);

/* For the next process, and of the one before: the lease of a grant. */
struct saved_record_lease {
	struct ident id;	/* its grant's */
	uint64_t sent_ms;
	uint64_t beat;
};

bool record_lease_save(struct journal *, struct saved *);
void record_lease_touch(struct core *, struct lease *);
void record_lease_inherit(struct core *, struct lease *,
    const struct saved_record_lease *);

void record_lease_rename(struct lease *, struct ident);

/* What was taken over is held; or it is not renewed any more. */
void record_lease_hold(struct lease *);
void record_lease_give_up(struct lease *);

/* ---- holders elsewhere ------------------------------------------------ */

struct observation;

/* The waiters for the end of a holder. */
struct blocked {
	struct observation *on;		/* NULL: for none */
	uint64_t patience_ms;	/* it need not be looked at more often; 0: it is
				 * to be taken over as soon as it may be */
	struct blocked *previous, *next;
};

/* What was seen of a holder. */
struct observed {
	bool seen;		/* of the rest: */
	bool dead;
	bool silent;		/* for its lease, at least */
	bool ends;		/* it is known when its lease ends: */
	uint64_t end_ms;
	uint64_t beat;
	uint64_t since_ms;	/* that beat, or its absence, is known */
};

/* Watch the session @id, a holder with a lease of @lease_ms. NULL: there is no
 * room or memory; the caller looks again later. */
struct observation *observe(struct core *, struct namespace *, struct ident,
    uint64_t lease_ms);

/* What is known of this holder; NULL: nothing. */
struct observation *observe_holder(const struct namespace *, struct key,
    const struct holder *);

void observe_block(struct core *, struct blocked *, struct observation *,
    uint64_t patience_ms);
void observe_unblock(struct blocked *);
void observe_glance(struct core *, struct observation *, bool crowding);
void observe_stranger(struct core *, struct namespace *, struct ident);
bool observe_ends_before(const struct observation *,
    const struct observation *);
bool observe_is_over(const struct core *, const struct observation *);
bool observe_lives(struct core *, struct observation *);
bool observe_is_near_end(const struct core *, const struct observation *);
void observe_tell(const struct core *, const struct observation *,
    uint64_t now_ms, struct observed *ret);	/* or NULL: nothing */

/* In formats without sessions: the record at @key was read, and shows its one
 * holder, which is not ours; how it is to be marked; that it was; what a
 * takeover must find in it; and that something else was seen there. */
struct observation *observe_record(struct core *, struct namespace *,
    struct key, const struct lock_record *);
enum mark_form observe_mark_form(const struct core *,
    const struct observation *, size_t n_marks);
void observe_marked(struct core *, struct namespace *, struct key,
    const struct lock_record *, struct ident mark);
struct ident observe_mark(const struct namespace *, struct key);
void observe_end(struct core *, struct namespace *, struct key);

/* The core goes away. */
/* The poll time is another: the next look at each is within that. */
void observe_pace(struct core *, struct namespace *);
void observe_free_all(struct namespace *);

void observe_timer(struct core *, struct timer *);
void observe_stored(struct core *, struct observation *,
    const struct outcome *);

/* ---- writes in doubt -------------------------------------------------- */

struct in_doubt;

/* Those of a lock, which keeps this. */
struct in_doubt_list {
	struct in_doubt *first;
};

/* Memory first: no write is sent that could not be kept in doubt. NULL: there
 * is none, or none for this user. */
struct in_doubt *in_doubt_new(struct core *, struct namespace *,
    uint32_t user);
void in_doubt_drop(struct core *, struct in_doubt *);	/* accepts NULL */
void in_doubt_add(struct core *, struct in_doubt_list *, struct in_doubt *,
    const struct holder *, uint64_t sent_ms);

/* The lock's record came with an answer to what was sent at @submitted_ms. */
void in_doubt_read(struct core *, struct in_doubt_list *,
    const struct lock_record *,
    uint64_t submitted_ms);

/* Is it the element of a fail-closed grant that no client was told of? */
bool in_doubt_is_orphan(const struct in_doubt_list *, const struct holder *);

/* The client that had this one left it held; or its element has no holder any
 * more. */
void in_doubt_left_held(struct core *, struct in_doubt_list *,
    struct ident grant);
void in_doubt_disown(struct core *, struct in_doubt_list *);

/* A write that lands for a closed session does no harm. What is fail-closed is
 * not closed with it; and if the session was inherited and is another's
 * (@stale), so is all that was inherited and is fail-closed, also of sessions
 * before it. True: there was any. */
bool in_doubt_forget_session(struct core *, struct in_doubt_list *,
    struct ident, bool stale);
void in_doubt_free_all(struct core *, struct in_doubt_list *);

/* One of the process before, of a namespace and a lock that are to be found for
 * it. */
struct saved_in_doubt {
	struct ident session;
	struct ident grant;
	uint64_t sent_ms;
	uint32_t namespace_index;
	uint8_t fail_closed;
	uint8_t left;
	uint8_t spare[2];
};

void in_doubt_save_all(struct core *, const struct in_doubt_list *);
bool in_doubt_save(struct core *, struct journal *, struct saved *);
int in_doubt_inherit(struct core *, struct namespace *, struct in_doubt_list *,
    const struct saved_in_doubt *);
void in_doubt_timer(struct core *, struct timer *);

/* ---- events ----------------------------------------------------------- */

/* What this room tells those above it. */
struct lease_events {
	/* A session is lost, and all that was granted under it: when this
	 * returns nothing is. */
	void (*lost)(struct core *, struct lease *, enum core_loss);

	/* A record's lease is over; what is in the record is its holder's for
	 * a margin yet. Or its renewal is due. */
	void (*record_lost)(struct core *, struct lease *);
	void (*record_due)(struct core *, struct lease *);

	/* Its holders are to be told this; or those of them that are warned at
	 * a time of their own (@all: even if they stand not warned). */
	void (*tell)(struct core *, struct lease *, enum core_notice_kind);
	void (*renewed)(struct core *, struct lease *, bool all);

	/* Answer a request for a renewal: 0, or the reason for its failure. */
	void (*answer)(struct core *, struct lease *, int code);

	/* The namespace's store does not answer in time, or does again. */
	void (*outage)(struct core *, struct namespace *, bool);

	/* There is a session for new grants; or, definitely, there is none. */
	void (*opened)(struct core *, struct namespace *);
	void (*refused)(struct core *, struct namespace *, int code);

	/* A session of ours was closed: nothing that lands for it matters. */
	void (*closed)(struct core *, struct namespace *, struct ident);

	/* Nothing of this holder stands in the way any more; or more is known
	 * of it. */
	void (*unblocked)(struct core *, struct blocked *);
	void (*observed)(struct core *, struct blocked *);

	/* It was inherited, and is ours alone. Or (the second) what was
	 * inherited is another's: also what needs no session. */
	void (*proven)(struct core *, struct lease *);
	void (*stale)(struct core *, struct namespace *, struct ident);

	/* These are to be looked at; and is this grant of theirs live? */
	void (*read_in_doubt)(struct core *, struct in_doubt_list *);
	bool (*is_live)(const struct in_doubt_list *, struct ident grant);
	struct key (*key)(const struct in_doubt_list *);
};

#endif

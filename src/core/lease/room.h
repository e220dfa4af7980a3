/*
 * Inside of the lease room: what its files ask of each other.
 */
#ifndef DDBLOCKD_CORE_LEASE_ROOM_H
#define DDBLOCKD_CORE_LEASE_ROOM_H

#include "core/action.h"
#include "core/lease/lease.h"

/* The fate of a lease depends on its owner. */
struct lease_kind {
	void (*renew)(struct core *, struct lease *);	/* it is time */
	void (*expire)(struct core *, struct lease *);	/* it was not */
	void (*close)(struct core *, struct lease *);	/* it was lost */
	void (*unused)(struct core *, struct lease *);
};

/* ---- lease.c ---------------------------------------------------------- */
void lease_enter(struct lease *, enum lease_state, uint64_t sent_ms);
void lease_schedule(struct core *, struct lease *);
void lease_say(struct core *, struct lease *, enum core_notice_kind);
void lease_say_own(struct core *, struct lease *, bool all);
void lease_say_each(struct core *, struct lease *, bool danger);
void lease_trouble(struct core *, struct lease *, const struct outcome *);

/* ---- session.c -------------------------------------------------------- */
#define SESSION_BEATS_MAX 32

/* What may be in its item. Those that were sent before it was proven are kept
 * one by one: between them there may be another's. */
struct session_beats {
	uint64_t most;	/* what is up to this is ours, */
	uint64_t own[SESSION_BEATS_MAX];	/* and these are; or 0 */
};

struct session {
	struct lease lease;	/* first */
	uint32_t n_in_doubt;
	struct session_beats beats;
	struct core_submit submit;
	struct core_renewed renewed;
};

struct session *session_of(struct lease *);
struct lease *session_new(struct core *, struct namespace *);
void session_count_in_doubt(struct core *, struct namespace *, struct ident,
    int more);

/* ---- session_saved.c -------------------------------------------------- */
bool session_beat_is_own(struct session *, uint64_t beat);
void session_prove_closed(struct core *, struct lease *,
    const struct outcome *);

/* ---- record_lease.c --------------------------------------------------- */
extern const struct lease_kind record_lease_kind;

void record_lease_free(struct lease *);

/* ---- observe.c -------------------------------------------------------- */
enum observation_state {
	OBSERVATION_NEW = 0,	/* never read */
	OBSERVATION_ALIVE,	/* @beat stands since @since_ms */
	OBSERVATION_ABSENT,	/* no item since @since_ms */
	OBSERVATION_DEAD,
};

#define PACE_INTERVALS 3

/* When a session beats (observe_pace.c). */
struct pace {
	uint64_t asked_ms;	/* the last look that was answered was sent */
	uint64_t least_ms;	/* so long before it was seen the beat was */
	uint64_t most_ms;	/* sent; FOREVER: that is not known */
	uint64_t intervals_ms[PACE_INTERVALS];	/* of beats; 0: not seen */
	uint32_t next;		/* of these, to be written */
};

struct observation {
	UT_hash_handle hh;	/* in ns->observations, by id */
	struct namespace *ns;
	struct ident id;
	enum observation_state state;
	uint64_t beat;
	uint64_t lease_ms;	/* the longest that was seen for it */
	uint64_t since_ms;
	struct ident holder;	/* of a record: its holder and, */
	struct ident mark;	/* if it was acknowledged, since when */
	uint64_t looked_ms;	/* the last look's answer */
	uint64_t read_at_ms;	/* next read, while there is a waiter */
	struct pace pace;
	uint32_t n_prompt;	/* of the blocked: those without patience */
	uint64_t patience_ms;	/* of the last one that has some */
	bool neglected;		/* since a look's answer there were times when
				 * none of the waiters wanted another soon */
	bool busy;
	bool curious;		/* read once, also without a waiter */
	bool crowding;		/* and, once its time is up, its end */
	bool crowded;		/* another had to go for it */
	struct core_submit submit;
	struct timer timer;
	struct blocked *blocked;	/* the waiters for its end */
};

void observe_closed(struct core *, struct namespace *, struct ident);
struct observation *observe_find(const struct namespace *, struct ident);
struct observation *observe_new(struct core *, struct namespace *,
    struct ident);
void observe_free(struct core *, struct observation *);
void observe_schedule(struct core *, struct observation *);
uint64_t observe_end_ms(const struct observation *);
bool observe_lacks_mark(const struct observation *);
bool observe_is_patient(const struct observation *);

/* ---- observe_pace.c --------------------------------------------------- */
void observe_keep_pace(struct core *, struct observation *,
    const struct session_record *);	/* before that is taken note of */
uint64_t observe_next_ms(const struct core *, const struct observation *,
    uint64_t poll_ms);

/* ---- observe_record.c ------------------------------------------------- */
struct observation *observe_find_record(const struct namespace *, struct key);

#endif

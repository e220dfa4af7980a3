/*
 * Inside of the lease room: what its files ask of each other.
 */
#ifndef DDBLOCKD_CORE_LEASE_ROOM_H
#define DDBLOCKD_CORE_LEASE_ROOM_H

#include "core/action.h"
#include "core/lease/lease.h"

/* What becomes of a lease depends on what it is of. */
struct lease_kind {
	void (*renew)(struct core *, struct lease *);	/* it is time */
	void (*expire)(struct core *, struct lease *);	/* it was not */
	void (*close)(struct core *, struct lease *);	/* it was lost */
	void (*unused)(struct core *, struct lease *);
};

/* ---- lease.c ---------------------------------------------------------- */
void lease_schedule(struct core *, struct lease *);
void lease_say(struct core *, struct lease *, enum core_notice_kind);
void lease_say_own(struct core *, struct lease *, bool all);
void lease_say_each(struct core *, struct lease *, bool danger);
void lease_trouble(struct core *, struct lease *, const struct outcome *);

/* ---- session.c -------------------------------------------------------- */
struct session {
	struct lease lease;	/* first */
	uint32_t n_doubts;
	struct core_submit submit;
	struct core_renewed renewed;
};

void session_doubt(struct core *, struct namespace *, struct ident, int more);

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
	struct blocked *blocked;	/* who waits for its end */
};

void observe_closed(struct core *, struct namespace *, struct ident);

#endif

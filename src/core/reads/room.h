/*
 * Inside of the reads room: what its files ask of each other.
 */
#ifndef DDBLOCKD_CORE_READS_ROOM_H
#define DDBLOCKD_CORE_READS_ROOM_H

#include "core/action.h"
#include "core/reads/reads.h"

/* ---- batch.c ---------------------------------------------------------- */
struct batch {
	struct core_submit submit;
	bool busy;
	size_t n_locks;
	struct lock *locks[READ_MANY_MAX];
	uint32_t writes[READ_MANY_MAX];	/* as they were then */
	uint32_t looks[READ_MANY_MAX];
	struct key keys[READ_MANY_MAX];
};

bool batch_is_full(const struct batch *);
bool batch_has(const struct batch *, const struct lock *);
void batch_add(struct batch *, struct lock *);
void batch_send(struct core *, struct batch *, struct namespace *,
    enum core_about);
bool batch_is_unwritten(const struct batch *, size_t i);
bool batch_is_news(const struct batch *, size_t i);
uint64_t batch_end(struct core *, struct batch *);

/* ---- audit.c ---------------------------------------------------------- */
struct audit {
	struct timer timer;
	uint64_t started_ms;
	bool running;		/* a round is under way */
	struct batch batch;
};

void audit_pace(struct core *, struct namespace *);

/* ---- listing.c -------------------------------------------------------- */
/* Listings of a namespace whose reads are bounded take turns, by user. */
struct turns {
	struct timer timer;
	struct listing *queue;		/* the first of each user */
	struct listing *busy;		/* whose page is under way */
	uint64_t next_ms;		/* no page is asked for before */
};

void listing_pace(struct core *, struct namespace *);

/* ---- watch.c ---------------------------------------------------------- */
struct watch_id {
	const struct client *client;
	const struct lock *lock;
};

/* A client's watch of a lock. */
struct watch {
	struct core_change change;	/* first */
	UT_hash_handle hh;		/* in core->watches, by id */
	struct watch_id id;
	struct client *client;
	struct lock *lock;
	struct watch *client_previous, *client_next;
	struct watch *lock_previous, *lock_next;
	struct request *request;	/* has no answer yet; or NULL */
};

/* A lock that is watched, by however many. */
struct watched {
	struct lock *lock;
	struct watch *watches;	/* those not told of @serial yet: in front */
	struct watch *asking;	/* without an answer; the latest first */
	struct watched *prev, *next;	/* in line for a look */
	struct watched *touched_previous, *touched_next;
	struct watched *telling_previous, *telling_next;
	bool telling : 1;	/* not all are told */
	bool queued : 1;
	bool touched : 1;	/* look at the lock when this step ends */
	bool known : 1;		/* they were told @view; or of @cause */
	bool hinted : 1;	/* a hint wants a look that was not sent yet */
	bool overtaken : 1;	/* it came during the look of another one */
	bool asked : 1;	/* the look under way is because of one, */
	bool answered : 1;	/* and was that of use? */
	int cause;
	uint64_t serial;		/* of the last change */
	uint64_t due_ms;		/* the next look */
	uint64_t tried_ms;		/* the last one that was sent */
	uint64_t looked_ms;		/* when what is known was true */
	struct revision revision;	/* of what was kept in it then */
	uint64_t revised_ms;		/* when that was true; 0: never seen */
	uint64_t contents_serial;	/* rises when that changes */
	struct core_holder_view view;
	uint64_t followed;		/* a sum of the hosts that were told */
	uint64_t followed_ms;		/* then that this one watches */
};

struct watch *watch_find(const struct core *, const struct client *,
    const struct lock *);

/* ---- watch_tell.c ----------------------------------------------------- */
bool watch_view(const struct core *, const struct lock *,
    struct core_holder_view *ret);
bool watch_is_fresh(const struct watched *, const struct request *);
void watch_told(struct core *, struct watched *);	/* all of them */
void watch_fail(struct core *, struct lock *, int code);

/* ---- watch_poll.c ----------------------------------------------------- */
/* The watched locks of a namespace, in line for a look. */
struct watch_poll {
	struct timer timer;
	struct watched *queue;
	uint64_t next_ms;		/* no batch before */
	struct batch batch;
};

bool watch_poll_is_vain(const struct lock *);
void watch_poll_schedule(struct core *, struct namespace *);
void watch_poll_pace(struct core *, struct namespace *);
void watch_poll_leave(struct watched *);
void watch_poll_line_up(struct core *, struct watched *, bool known);
void watch_poll_enter_now(struct core *, struct watched *);

/* ---- watch_hints.c ---------------------------------------------------- */
void watch_follow(struct watched *, const struct lock_record *);
void watch_hint_sent(struct watched *);
void watch_hint_answered(struct watched *);
void watch_hint_judge(struct core *, struct watched *, bool news);

/* ---- reads.c ---------------------------------------------------------- */
/* What this room remembers of a namespace. */
struct reads {
	struct namespace *ns;
	struct audit audit;
	struct turns turns;
	struct watch_poll poll;
};

#endif

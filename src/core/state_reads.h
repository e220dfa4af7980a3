/*
 * What the core remembers of what it merely looks at: for the audit, for lists,
 * for who breaks a lock, for who watches one. See state.h.
 */
#ifndef DDBLOCKD_CORE_STATE_READS_H
#define DDBLOCKD_CORE_STATE_READS_H

#include <uthash.h>

#include "core/core.h"
#include "core/heap.h"

/* ---- batch.c ---- */
struct batch {
	struct core_submit submit;
	bool busy;
	size_t n_locks;
	struct lock *locks[READ_MANY_MAX];
	uint32_t writes[READ_MANY_MAX];	/* as they were then */
	uint32_t looks[READ_MANY_MAX];
	struct key keys[READ_MANY_MAX];
};

/* ---- audit.c ---- */
struct audit {
	struct timer timer;
	uint16_t round;
	uint64_t started_ms;
	bool running;		/* a round is under way */
	struct batch batch;
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
	char *broken_by;		/* GET: the view's memory, and these */
	char *record;
	char *token_text;
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

/* ---- breaking.c ---- */
struct breaking {
	struct core_submit submit;
	struct core_broke broke;
	struct request *request;
	struct core_holder_view holder;	/* who has it, or had */
	uint64_t deadline_ms;
	bool busy;
	char *record;	/* formats without sessions: the version that it was
			 * named by, or (once that was read) has */
	bool by_record;	/* and not by the token */
	char text[];			/* who: why, and the key */
};

/* ---- watch.c, looks.c ---- */
struct watch_id {
	const struct client *client;
	const struct lock *lock;
};

/* A client's wish to hear of a lock's holders. */
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
	struct watch *watches;		/* without an answer: in front */
	uint32_t n_asking;		/* of which */
	struct watched *prev, *next;	/* in line for a look */
	struct watched *touched_previous, *touched_next;
	bool queued : 1;
	bool touched : 1;	/* look at the lock when this step ends */
	bool known : 1;		/* they were told @view; or of @cause */
	int cause;
	uint64_t serial;		/* of the last change */
	uint64_t due_ms;		/* the next look */
	uint64_t tried_ms;		/* the last one that was sent */
	uint64_t looked_ms;		/* when what is known was true */
	struct revision revision;	/* of what was kept in it then */
	uint64_t revised_ms;		/* when that was true; 0: never seen */
	uint64_t kept;			/* rises when that changes */
	struct core_holder_view view;
};

/* The watched locks of a namespace, in line for a look. */
struct looks {
	struct timer timer;
	struct watched *queue;
	uint64_t next_ms;		/* no batch before */
	struct batch batch;
};

#endif

/*
 * An older client in the simulation: its programs ask for locks, and its
 * library does what its recordings (tests/traces), its documents and its
 * source show, with its weaknesses:
 *
 *   - a write whose answer was lost counts as failed, so that the library
 *     takes its own record for somebody else's, and its own next renewal for
 *     a theft;
 *   - it believes that it has a lock until a contrary sign, and some kinds stop
 *     renewing after the first trouble;
 *   - its lease counts from the answer, and it knows no drift of clocks.
 *
 * peer.c is what all of them have in common: programs, calls, repetition by
 * the SDK, time. What a library sends and makes of an answer is a table of
 * functions (peer_NAME.c).
 */
#ifndef DDBLOCKD_TESTS_PEER_H
#define DDBLOCKD_TESTS_PEER_H

#include "world_state.h"

#define PEER_TEXT_MAX 128
#define PEER_LATER UINT64_MAX	/* it cannot be taken now; look again */

enum peer_what {
	PEER_LOOK = 1,
	PEER_TAKE,
	PEER_RENEW,
	PEER_RELEASE,
};

/* A request, with the work of its SDK. */
struct peer_call {
	struct alarm alarm;		/* its time is over */
	struct peer_call *next;		/* of the lock */
	struct peer_lock *lock;
	struct message *message;	/* under way, or NULL */
	enum peer_what what;
	const char *operation;		/* "PutItem" */
	struct buffer body;
	uint32_t left;			/* repetitions */
	/* The record that it makes: */
	char version[PEER_TEXT_MAX];
	uint64_t token;
};

enum peer_state {
	PEER_TRIES = 1,
	PEER_HOLDS,
	PEER_OVER,		/* it goes when its calls have ended */
};

/* A lock that a program is after, from its request until its end. */
struct peer_lock {
	struct alarm alarm;		/* the next try or renewal */
	struct alarm end;		/* of its use */
	struct peer_lock *next;
	struct peer *peer;
	const struct plan_step *step;
	struct peer_call *calls;	/* under way */
	enum peer_state state;
	uint64_t until_ms;		/* it tries so long; boot time */
	bool patient;	/* it has waited out the record, and takes it */
	bool believes;			/* that it has the lock */
	bool renews;
	bool leaving;			/* its release waits for a renewal */
	uint64_t renewed_ms;		/* boot time of the last answer */

	/* Its record, as far as it knows: the version as in JSON. */
	char version[PEER_TEXT_MAX];
	uint64_t token;

	/* Another client's record, as it saw it. */
	bool seen;
	bool seen_released;
	char seen_version[PEER_TEXT_MAX];
	char seen_owner[PEER_TEXT_MAX];
	uint64_t seen_token;
	uint64_t seen_ms;		/* boot time: that version, first */
};

struct peer {
	struct host *host;
	const struct plan_peer *plan;
	const struct peer_library *library;
	struct peer_lock *locks;
	bool dead;
	char owner[PEER_TEXT_MAX];	/* of this life */
	unsigned lives;
	uint64_t n_random;
};

struct peer_library {
	/* The request into @call's body, and the operation's name: */
	const char *(*look)(struct peer_call *);	/* NULL: it never */
	const char *(*take)(struct peer_call *);
	const char *(*renew)(struct peer_call *);	/* NULL: it never */
	const char *(*release)(struct peer_call *);
	/* @item was read (NULL: there is none). How long until it may be
	 * taken; PEER_LATER. */
	uint64_t (*read)(struct peer_lock *, struct json_object *item);
	/*
	 * Does its own clock say that the lock is lost? NULL: it does not look.
	 */
	bool (*is_over)(const struct peer_lock *);
	unsigned safe_percent;	/* of a lease without a renewal, and then it
				 * renews no more; 0: as long as it believes */
	bool blind;	/* after that time it takes without another look */
	bool stops;	/* one failed renewal was the last */
	bool waits;	/* its release waits for a renewal under way */
};

extern const struct peer_library peer_awslabs;	/* and dynamolock */
extern const struct peer_library peer_python;
extern const struct peer_library peer_js_open;
extern const struct peer_library peer_js_closed;
extern const struct peer_library peer_dlock;
extern const struct peer_library peer_dlock_fencing;

/* ---- peer_write.c: for the libraries ---- */
const struct plan *peer_plan(const struct peer_lock *);
const struct plan_namespace *peer_namespace(const struct peer_lock *);
const struct dialect_table *peer_table(const struct peer_lock *);
uint64_t peer_boot_ms(const struct peer_lock *);
uint64_t peer_wall_ms(const struct peer_lock *);
/* A number that only the seed and this client's earlier ones decide. */
uint64_t peer_random(struct peer *);
void peer_uuid(struct peer *, char *ret);	/* 36 letters and a NUL */
/* Note what was seen; is its version another than before? */
bool peer_saw(struct peer_lock *, const char *version, const char *owner,
    uint64_t token);
/* The content of an attribute, as text; "" if it has none. */
const char *peer_text(struct json_object *item, const char *name,
    const char *type);
uint64_t peer_number(struct json_object *item, const char *name);
/* To the body, with single quotes for double quotes. */
void peer_write(struct peer_call *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* "{'TableName':...,'Key':{...}", or with 'Item':{ and its key, both open. */
void peer_write_key(struct peer_call *);
void peer_write_item(struct peer_call *);
/* The read that most of them send. */
const char *peer_look(struct peer_call *);
/* Is a lease of this length over since that version was first seen? */
bool peer_waited(const struct peer_lock *, uint64_t lease_ms);

#endif

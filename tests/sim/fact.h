/*
 * Facts: a history as an outsider can know it. The actions of local programs
 * and the answers to them, the table after each write, and the script's actions
 * on hosts, network and table. No daemon's memory.
 *
 * The simulator tells them as they happen; they can also be read from the
 * journals of real daemons (history.h). Times are real milliseconds, one clock
 * for all hosts.
 */
#ifndef DDBLOCKD_TESTS_FACT_H
#define DDBLOCKD_TESTS_FACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/core.h"	/* enum core_verb, enum core_loss */

#define FACT_HOSTS_MAX 9		/* A to I */
#define FACT_KEY_MAX 128
#define FACT_NAMESPACES_MAX 2
#define FACT_ELEMENTS_MAX 112
#define FACT_WAITER_MARKS_MAX 32	/* that are named */
#define FACT_LINE_MAX 32
#define FACT_VERSION_MAX 100
#define FACT_NEVER UINT64_MAX
#define FACT_BY_HAND FACT_HOSTS_MAX	/* as a host: a user at a console */
#define FACT_PEER_FIRST 10		/* as a host: P, an older client's */
#define FACT_WRITERS_MAX 16

enum fact_kind {
	FACT_STARTED = 1,	/* a daemon begins its life; @rate_ppm */
	FACT_DIED,	/* killed: connections end, replies never come */
	FACT_ENDED,	/* it stopped by itself, all done */

	FACT_ASKED,	/* a client sent a request; @due_ms */
	FACT_ANSWERED,	/* its final reply; @code, and for ACQUIRE the hold */
	FACT_IN_DANGER,	/* @client, @hold, @until_ms */
	FACT_SAFE,	/* @client, @hold, @until_ms */
	FACT_LOST,	/* @client, @hold, @loss */
	FACT_TAKEN,	/* @client resumes @hold, until @until_ms, or learns of
			 * its @loss; before RESUME is answered */
	FACT_RENEWED,	/* all of this host's holds in the namespace that it
			 * was not told to have lost: @until_ms */
	FACT_CHANGED,	/* @client, of a lock that it watches: @state */
	FACT_HEARD,	/* a client sent something that is no request */
	FACT_DRAINED,	/* a client sends no more, but listens */
	FACT_LEFT,	/* a client's connection ended; @loss CUT_OFF: by its
			 * daemon */
	FACT_OUTLIVED,	/* and now the @process that it held a lock for */

	FACT_LOCK,	/* the table's item of a lock changed */
	FACT_SESSION,	/* the table's item of a session changed */

	FACT_RELEASES,	/* the daemon stops, and is told to release its holds */
	FACT_WITHDRAWN,	/* the daemon grants nothing new, ... */
	FACT_RETURNED,	/* ... and grants again */
	FACT_LIMITED,	/* from now on its clients may have @holds_max holds */
	FACT_PAUSED,	/* the daemon takes no step until FACT_RESUMED */
	FACT_RESUMED,
	FACT_FROZEN,	/* the whole host stands still until FACT_RESUMED, its
			 * boot clock too: its present holds, and grants under a
			 * beat that was sent before it goes on, are exempt from
			 * the guarantees of the boot clock */
	FACT_INHERITED,	/* @host goes on with what a dead daemon left; @whole:
			 * that is all that FACT_KEPT said before; @twice:
			 * another went on with it already */
	FACT_KEPT,	/* it goes on with this: @client, @key, @hold, @token,
			 * until @until_ms or lost by @loss */
	FACT_REPEATED,	/* a request of this host arrives, and will arrive once
			 * more; its only answer is the second's */
	FACT_RECORD,	/* the table's item of a lock changed, in a namespace of
			 * another format: @record */
	FACT_MARKED,	/* or only got a mark, @version; it has @n_holders of
			 * them now */
	FACT_PEER_HAS,	/* an older client's program @client believes from now
			 * on that it has @key, ... */
	FACT_PEER_LEFT,	/* ... and no more */
	FACT_QUIET,	/* no fault any more, all hosts are up: 8 holds now */
};

/* The holder of a lock, as its watchers are told. */
enum fact_state {
	FACT_UNKNOWN = 0,
	FACT_FREE,
	FACT_HELD,
	FACT_DEAD,
};

/* The contents of a lock: each value is the number of the request that brought
 * it; 0: none. */
enum fact_slot {
	FACT_DATA = 0,
	FACT_NOTE,		/* an attribute */
	FACT_SLOTS
};

/* An element of `holders`, as text: "SESSION.GRANT.LEASE_MS.FLAGS". */
struct fact_element {
	char session[33];
	char grant[33];
	uint64_t lease_ms;
	bool fail_closed;
};

/* Of a session whose clients may not have the lock. */
struct fact_waiter_mark {
	char session[33];
	bool shared;		/* and not for exclusive use */
};

struct fact_lock {
	bool exists;
	bool readable;		/* false: broken by hand */
	bool shared;		/* its use, now or last; otherwise exclusive */
	uint64_t limit;		/* shared: most elements; 0: any number */
	struct fact_element elements[FACT_ELEMENTS_MAX];
	size_t n_elements;
	size_t n_waiter_marks;	/* of both kinds */
	/* The first ones: */
	struct fact_waiter_mark waiter_marks[FACT_WAITER_MARKS_MAX];
	char line[FACT_LINE_MAX][33];	/* sessions, the next one first */
	size_t n_line;
	uint64_t token;		/* 0: none */
	bool has_ttl;
	bool says_broken;	/* and by whom */
	uint64_t contents[FACT_SLOTS];
	int64_t ttl_ahead_s;	/* of the request's send; 0: none */
};

/* Of another format, with one holder at most. */
struct fact_record {
	bool exists;
	bool free;		/* it exists, and says that it is free */
	char hold[33];		/* the name of a hold of ours; "" if an older
				 * client wrote it */
	char version[FACT_VERSION_MAX];	/* the version for observers; "" if it
					 * is a time */
	uint64_t lease_ms;	/* 0: without */
	uint64_t until_ms;	/* real: its writer's clock reads the end that
				 * it names; FACT_NEVER: it names none */
	uint64_t token;		/* 0: none */
	uint64_t contents[FACT_SLOTS];
};

struct fact_session {
	bool exists;
	bool dead;
	uint64_t beat;
	uint64_t lease_ms;
	int64_t ttl_ahead_s;	/* of the request's send; 0: none */
};

/*
 * One fact. Members that have no meaning for its kind are zero. Strings are
 * borrowed for the call.
 */
struct fact {
	enum fact_kind kind;
	uint64_t at_ms;
	unsigned host;		/* 0 is A; FACT_BY_HAND */
	uint32_t namespace_index;
	int32_t rate_ppm;	/* STARTED: its boot clock against real time */
	uint32_t holds_max;	/* LIMITED */

	uint64_t client;	/* unique in a history, also across lives */
	uint64_t request;	/* of the client */
	uint64_t multi;		/* it is about one key of several: the first
				 * key's request. There is a fact for each, with
				 * a request and a hold of its own. 0: alone */
	enum core_verb verb;
	const char *key;	/* without "lock:" */
	uint64_t wait_ms;	/* ASKED ACQUIRE */
	bool fail_closed;	/* ASKED ACQUIRE */
	bool shared;		/* ASKED ACQUIRE: and not exclusive, ...; of a
				 * holder: the same */
	uint64_t limit;		/* ... with so many at most; 0: any number */
	uint64_t max_hold_ms;	/* ASKED ACQUIRE; 0: without */
	uint64_t keepalive_ms;	/* ASKED ACQUIRE; 0: without */
	uint64_t danger_ms;	/* ASKED ACQUIRE; 0: as the rules have it,
				 * FACT_NEVER: without a warning */
	bool manual;		/* ASKED ACQUIRE: only its own RENEW counts */
	bool reentrant;		/* ASKED ACQUIRE: again, if it holds it */
	bool stays;		/* ASKED ACQUIRE: when its client leaves */
	uint64_t linger_ms;	/* ASKED ACQUIRE: it stays so long; 0: not */
	uint64_t at_least_ms;	/* ASKED ACQUIRE: so long after its grant */
	uint64_t every_ms;	/* ASKED ACQUIRE: once in so long, */
	bool at_end;		/* where it counts if it succeeds */
	bool resumes;		/* ASKED ACQUIRE, RESUME: its client comes back
				 * if its daemon ends the connection; ANSWERED
				 * ACQUIRE: and may */
	uint64_t process;	/* ASKED ACQUIRE, OUTLIVED: which; 0: none */
	bool whole;		/* INHERITED */
	bool twice;		/* INHERITED */
	uint64_t user;		/* ASKED ACQUIRE, if it lingers or resumes,
				 * RESUME: the user */
	uint64_t due_ms;	/* ASKED: its reply comes by then (real), or
				 * FACT_NEVER */
	int code;		/* ANSWERED: 0 or DDBLOCK_E_* */
	uint64_t hold;		/* unique for a host's daemon life; ASKED
				 * RELEASE and RENEW, ANSWERED, notices */
	uint64_t target;	/* ASKED CANCEL: that request; RESUME: whose
				 * secret it says, 0: nobody's or unknown */
	uint64_t token;		/* ANSWERED ACQUIRE, WATCH, ASKED BREAK,
				 * CHANGED */
	const char *version;	/* ASKED BREAK: or the record's version; NULL.
				 * MARKED: the mark */
	const char *grant;	/* ANSWERED ACQUIRE and DOWNGRADE: the element
				 * that the daemon means; NULL: not known */
	enum fact_state state;	/* ANSWERED WATCH; CHANGED */
	uint64_t n_holders;	/* the same; MARKED: marks */
	uint64_t until_ms;	/* real: the deadline as the client reads it;
				 * FACT_NEVER: it has none */
	uint64_t contents[FACT_SLOTS];	/* ASKED ACQUIRE, RENEW, RELEASE: the
				 * contents it brings; ANSWERED ACQUIRE: the
				 * other contents that it is told */
	bool clears;		/* ASKED RELEASE: the contents are removed */
	uint64_t end_ms;	/* ANSWERED ACQUIRE: and it is not renewed
				 * beyond; 0: not so */
	enum core_loss loss;

	const char *session;	/* SESSION: 32 digits */
	/*
	 * LOCK, RECORD, MARKED and SESSION: the present state of the table; the
	 * writer (a host, or by hand, or TTL, which counts as by hand with
	 * @expired) and when its request was sent.
	 */
	struct fact_lock lock;
	struct fact_session item;
	struct fact_record record;
	uint64_t sent_ms;
	bool expired;
};

#endif

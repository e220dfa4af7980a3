/*
 * Stands between a store and its endpoint, in the loop of the test, and does
 * to single requests what networks do. Requests that only look at the table
 * pass.
 */
#ifndef DDBLOCKD_TESTS_DYNAMODB_PROXY_H
#define DDBLOCKD_TESTS_DYNAMODB_PROXY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

struct event_base;
struct proxy;
struct seen;

enum proxy_fault {
	PROXY_PASS = 0,
	PROXY_LOSE_REQUEST,	/* closed before it took effect */
	PROXY_LOSE_ANSWER,	/* closed after it took effect */
	PROXY_GARBLE_ANSWER,	/* took effect; the answer is no HTTP */
	PROXY_HIDE_ANSWER,	/* took effect; open, but no answer */
	PROXY_FAIL_AFTER,	/* took effect; the answer is a 500 */
	PROXY_THROTTLE,		/* no effect; to be repeated */
	PROXY_STRIP_ITEM,	/* a failed condition without its record */
	PROXY_HOLD,		/* nothing; takes effect with proxy_let_go() */
	PROXY_FAULTS,
};

/* Those after which a store has to ask once more. */
#define PROXY_LOSSES 7U
extern const enum proxy_fault proxy_losses[PROXY_LOSSES];

struct proxy *proxy_new(struct event_base *, const char *endpoint);
void proxy_free(struct proxy *);

/* A store on the environment's endpoint behind a proxy, with its table. */
struct store *proxy_open_store(struct event_base *, const char *table,
    store_outcome_fn, void *outcome_arg, struct proxy **ret);

/* "http://127.0.0.1:PORT" */
const char *proxy_endpoint(const struct proxy *);

/* What happens to the next @n requests; after them all pass. */
void proxy_next(struct proxy *, enum proxy_fault, unsigned n);

/* Before those, so many pass. */
void proxy_skip(struct proxy *, unsigned n);

/* Answer requests about tables with AccessDeniedException. */
void proxy_deny_tables(struct proxy *);

/* Requests since the start, those about tables left out. */
unsigned proxy_requests(const struct proxy *);

/*
 * Do it in @time_ms with its first request lost. False: it was over before the
 * store could ask once more, or know why it had to; the machine may stand
 * still. What was held is sent on then, for another try.
 */
bool proxy_lose(struct proxy *, enum proxy_fault, struct operation *,
    uint64_t time_ms, struct seen **ret);

/* Does nobody hear of it, so that the store has to run out of time? */
bool proxy_hangs(enum proxy_fault);

/* Send on what was held, and run the loop until it took effect. */
void proxy_let_go(struct proxy *);

#endif

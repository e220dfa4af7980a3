/*
 * Stands between a store and its endpoint, in the loop of the test, and does
 * to single requests what networks do. Requests that only look at the table
 * pass.
 */
#ifndef DDBLOCKD_TESTS_DYNAMODB_PROXY_H
#define DDBLOCKD_TESTS_DYNAMODB_PROXY_H

#include "conformance.h"

struct store_dynamodb_config;

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

/* ---- the proxy of the case, and the store behind it ---- */

/* With its table, on the environment's endpoint; @config says which. */
struct store *proxy_open_store(struct event_base *,
    struct store_dynamodb_config *, store_outcome_fn, void *outcome_arg);
void proxy_close_store(struct store *);

/* main(): the tests of this file, with a store on a table of this name. */
int proxy_run(const char *name, const char *file);

/* What happens to the next @n requests but the first @skips; after them all
 * pass. */
void proxy_next(enum proxy_fault, unsigned n, unsigned skips);

/* Answer requests about tables with AccessDeniedException. */
void proxy_deny_tables(void);

/* Requests since the start, those about tables left out. */
unsigned proxy_requests(void);

/* Send on what was held: it has taken effect when this returns. */
void proxy_let_go(void);

/* Be gone: nobody listens here any more. */
void proxy_leave(void);

#endif

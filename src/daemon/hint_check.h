/*
 * The part of CHECK that is about hints: the living hosts of a table are asked
 * whether they hear this one.
 */
#ifndef DDBLOCKD_DAEMON_HINT_CHECK_H
#define DDBLOCKD_DAEMON_HINT_CHECK_H

#include <stdint.h>

#include "hints/hint_format.h"
#include "store/store.h"

struct event_base;
struct hinter;
struct hint_check;	/* one run, until its end */

/* Of a namespace with hints. All is borrowed until the end. */
struct hint_check_config {
	struct event_base *base;
	struct hinter *hinter;
	uint32_t namespace_index;
	struct store *store;
	const char *host;
};

/*
 * @found is called as by store_check(), but perhaps from within; by the last
 * time the run is freed and *@ret is NULL. It takes a second when a host does
 * not answer, after the store has shown which hosts there are.
 *
 * DDBLOCK_E_NOMEM, DDBLOCK_E_SYSTEM
 */
int hint_check_start(const struct hint_check_config *, store_finding_fn found,
    void *arg, struct hint_check **ret);

/* hinter_calls.pong, for any run. May end it. Accepts NULL. */
void hint_check_heard(struct hint_check *, const struct hint_id *sender,
    uint64_t digest);

/* End it without a word more, after the store's end. Accepts NULL. */
void hint_check_free(struct hint_check *);

#endif

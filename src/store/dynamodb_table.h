/*
 * The table itself: look at it, check it, create it.
 */
#ifndef DDBLOCKD_STORE_DYNAMODB_TABLE_H
#define DDBLOCKD_STORE_DYNAMODB_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "store/dynamodb_job.h"

struct dynamodb_table;	/* one run, until its answer */

#define DYNAMODB_TABLE_TEXT_MAX 1536

enum dynamodb_table_goal {
	DYNAMODB_TABLE_LOOK = 1, /* is it there, with the right keys? */
	DYNAMODB_TABLE_CHECK,	/* and is its time to live switched on? */
	DYNAMODB_TABLE_INIT,	/* make it so */
};

/*
 * @done is called once, from the loop, at the latest some seconds after
 * @deadline_ms (boot time), or 10 s after the start if nothing has answered by
 * then; the run is freed then. LOOK succeeds where looking
 * is denied. All is borrowed until then; of @jobs it uses the client and
 * counts its requests and troubles there.
 *
 * DDBLOCK_E_NOMEM
 */
int dynamodb_table_run(struct dynamodb_jobs *jobs, enum dynamodb_table_goal,
    uint64_t deadline_ms, store_table_fn done, void *arg,
    struct dynamodb_table **ret);

/* End it without an answer. Accepts NULL. */
void dynamodb_table_cancel(struct dynamodb_table *);

#endif

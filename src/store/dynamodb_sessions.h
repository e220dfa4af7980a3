/*
 * The sessions in a table: pages of a Scan, one after the other, in parallel to
 * the operations.
 */
#ifndef DDBLOCKD_STORE_DYNAMODB_SESSIONS_H
#define DDBLOCKD_STORE_DYNAMODB_SESSIONS_H

#include "store/dynamodb_job.h"
#include "store/store.h"

struct dynamodb_sessions;	/* one run, until its end */

/*
 * The calls come from the loop; by the time of the last the run is freed and
 * *@ret is NULL. Each request has a time limit, none is repeated, and there are
 * 200 at most. Of @jobs it uses the client and the table, and counts its
 * requests there.
 *
 * DDBLOCK_E_UNSUPPORTED
 *     The format is not the native one.
 * DDBLOCK_E_NOMEM
 */
int dynamodb_sessions_run(struct dynamodb_jobs *jobs,
    const struct store_sessions_calls *, void *arg,
    struct dynamodb_sessions **ret);

/* End it without a word more. Accepts NULL. */
void dynamodb_sessions_cancel(struct dynamodb_sessions *);

#endif

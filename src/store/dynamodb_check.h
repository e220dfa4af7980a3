/*
 * A look at all that a namespace with a table needs: one check after the other,
 * with one request at a time, in parallel to the operations.
 */
#ifndef DDBLOCKD_STORE_DYNAMODB_CHECK_H
#define DDBLOCKD_STORE_DYNAMODB_CHECK_H

#include "store/dynamodb_findings.h"
#include "store/dynamodb_job.h"
#include "store/store.h"

struct dynamodb_check;	/* one run, until its end */

/* Borrowed until the end of the run. */
struct dynamodb_check_config {
	struct findings_target target;
	const char *ca_file;	/* NULL: the system's */
};

/*
 * @found is called from the loop, at the end with NULL; by then the run is
 * freed and *@ret is NULL.
 * Each request has a time limit, so it ends within a minute or so. Of @jobs it
 * uses the client, and counts its requests there.
 *
 * DDBLOCK_E_NOMEM
 */
int dynamodb_check_run(struct dynamodb_jobs *jobs,
    const struct dynamodb_check_config *, store_finding_fn found, void *arg,
    struct dynamodb_check **ret);

/* End it without a word more. Accepts NULL. */
void dynamodb_check_cancel(struct dynamodb_check *);

#endif

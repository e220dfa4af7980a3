/*
 * Waiting for a lock, as `run` and `acquire` do it: until it is granted or
 * refused, with progress for people, and interruptible.
 */
#ifndef DDBLOCKD_CLI_ACQUIRE_WAIT_H
#define DDBLOCKD_CLI_ACQUIRE_WAIT_H

#include "cli/acquire/request.h"
#include "cli/base/cli.h"

/*
 * A connection that goes on when the daemon is started again. The wait of the
 * request bounds the wait for a daemon, too, and is shortened by it. 0, or the
 * exit status. It complains.
 */
int wait_open(struct cli *, const char *name, struct lock_request *,
    struct ddblock **ret);

/*
 * The hold, or 0 and the exit status (which may be 0, by -E, or because all are
 * held already: ->inside). It complains. The request must live as long as the
 * connection.
 */
int wait_for_lock(struct cli *, struct ddblock *, struct lock_request *,
    uint64_t *ret_id);

#endif

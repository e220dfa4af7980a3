/*
 * The locks under which this command itself runs. To wait for one of them would
 * be to wait for itself.
 */
#ifndef DDBLOCKD_CLI_ACQUIRE_OUTER_H
#define DDBLOCKD_CLI_ACQUIRE_OUTER_H

#include "cli/acquire/request.h"
#include "cli/base/cli.h"

#define OUTER_HOLDS "DDBLOCK_HOLDS"	/* the variable that tells of them */
#define OUTER_HOLDS_BYTES_MAX (32 * 1024)

/* Note a hold in the environment of the command. False: errno. */
bool outer_add(const struct ddblock *, uint64_t id,
    const struct lock_request *);

/* All the holds that are noted there, a line each. */
const char *outer_holds(void);

/*
 * Before it waits. 0: go on, and ->inside says whether all locks asked for are
 * held already, with ->tokens. Else the exit status; it complains.
 */
int outer_check(const struct cli *, struct ddblock *, struct lock_request *);

#endif

/*
 * The locks under which this very command runs. To wait for one of them would
 * be to wait for oneself.
 */
#ifndef DDBLOCKD_CLI_OUTER_H
#define DDBLOCKD_CLI_OUTER_H

#include "cli/cli.h"
#include "cli/wait.h"

#define OUTER_HOLDS "DDBLOCK_HOLDS"	/* the variable that tells of them */
#define OUTER_HOLDS_BYTES_MAX (32 * 1024)

/* Note a hold in the environment, for what runs under it. False: errno. */
bool outer_add(const struct ddblock *, uint64_t id,
    const struct wait_request *);

/* All that are noted there, one a line. */
const char *outer_holds(void);

/*
 * Before it waits. 0: go on, and ->inside says whether all that is asked for
 * is had already, with ->tokens. Else the exit status; it complains.
 */
int outer_check(const struct cli *, struct ddblock *, struct wait_request *);

#endif

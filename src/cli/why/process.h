/*
 * A client's process, as /proc shows it.
 */
#ifndef DDBLOCKD_CLI_WHY_PROCESS_H
#define DDBLOCKD_CLI_WHY_PROCESS_H

#include "cli/why/facts.h"

/*
 * Fill in what /proc says of @pid. The number alone proves nothing: in another
 * pid namespace, or after its end, it is another process. So it must be the
 * user's, and have begun before it had the lock, @ago_ms ago. Of a ddblock the
 * processes that it runs are looked at, too.
 */
void why_process_look(struct why_process *, pid_t pid, uint64_t uid,
    uint64_t ago_ms);

#endif

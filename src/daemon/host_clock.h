/*
 * Record formats in which the clocks of hosts are compared need clocks that
 * somebody sets right.
 */
#ifndef DDBLOCKD_DAEMON_HOST_CLOCK_H
#define DDBLOCKD_DAEMON_HOST_CLOCK_H

#include <stddef.h>

#include "daemon/config.h"

/*
 * May the namespaces be served with this host's clock? @probe is
 * clock_is_synchronised(); it is asked if one of them depends on the answer.
 *
 * DDBLOCK_E_SYSTEM
 *     @text (of @size bytes) says which one, why, and what to do.
 */
int host_clock_check(const struct config *, int (*probe)(void), char *text,
    size_t size);

#endif

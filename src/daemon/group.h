/*
 * A group of the configuration, by its name or its number.
 */
#ifndef DDBLOCKD_DAEMON_GROUP_H
#define DDBLOCKD_DAEMON_GROUP_H

#include <stdbool.h>
#include <sys/types.h>

/* False: there is no such group. A number need not have a name. */
bool group_find(const char *name, gid_t *ret);

#endif

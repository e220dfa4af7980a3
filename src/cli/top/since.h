/*
 * Moments as people read them.
 */
#ifndef DDBLOCKD_CLI_TOP_SINCE_H
#define DDBLOCKD_CLI_TOP_SINCE_H

#include <stddef.h>
#include <stdint.h>

/* "15:04:05" if it was within a day, else "Nov 29". */
void since_local(char *ret, size_t size, uint64_t wall_ms,
    uint64_t now_wall_ms);

#endif

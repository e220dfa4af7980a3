/*
 * How long a lock has been held, for people.
 */
#ifndef DDBLOCKD_CLI_BASE_AGE_H
#define DDBLOCKD_CLI_BASE_AGE_H

#include <stdint.h>

#include "ddblock.h"

struct buffer;

/* "12s", "4m10s", "3h5m", "2d4h". */
void age_write(struct buffer *, uint64_t ms);

/* The same, with @before in front, of the holder that the row describes: by
 * `held`, or by `acquired_at` and the wall clock. Nothing if it has neither. */
void age_of_holder(struct buffer *, const char *before,
    const struct ddblock_row *);

#endif

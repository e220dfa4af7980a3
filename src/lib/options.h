/*
 * Structures of options that callers fill: how one that was compiled against
 * another version is read, and how its times are written.
 */
#ifndef DDBLOCKD_LIB_OPTIONS_H
#define DDBLOCKD_LIB_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"

/*
 * Copy what the caller filled (@size bytes of it) over the defaults in @to.
 * A caller that is newer may set only what we know; the rest must be zero.
 *
 * DDBLOCK_E_UNSUPPORTED
 */
int options_copy(void *to, size_t to_size, const void *from, size_t size);

/* A duration, exactly: " NAME=1500ms". */
void options_milliseconds(struct buffer *, const char *name, int64_t ms);

#endif

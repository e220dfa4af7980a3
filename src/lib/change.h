/*
 * What a request changes of the contents of a lock, as arguments.
 */
#ifndef DDBLOCKD_LIB_CHANGE_H
#define DDBLOCKD_LIB_CHANGE_H

#include "common/buffer.h"
#include "ddblock.h"

/*
 * Read the options of the caller, and keep the error text. NULL: no change.
 *
 * DDBLOCK_E_UNSUPPORTED
 *     The caller is newer than this library.
 * DDBLOCK_E_BAD_REQUEST
 *     An attribute has no name.
 */
int change_take(struct ddblock *, const struct ddblock_change *,
    struct ddblock_change *ret);

/* " data=... attr.NAME=..." */
void change_write(struct buffer *, const struct ddblock_change *);

#endif

/*
 * A row is a line from the daemon; a caller sees only its fields.
 */
#ifndef DDBLOCKD_LIB_ROW_H
#define DDBLOCKD_LIB_ROW_H

#include "ddblock.h"
#include "ipc/codec.h"

struct ddblock_row {
	struct codec_line line;
};

/* The line's fields about the contents of a lock, for free(3); NULL: it has
 * none. DDBLOCK_E_NOMEM */
int row_copy_contents(const struct codec_line *, struct ddblock_row **ret);

#endif

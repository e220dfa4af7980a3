/*
 * The daemon's answer to a request.
 */
#ifndef DDBLOCKD_LIB_REPLY_H
#define DDBLOCKD_LIB_REPLY_H

#include "ddblock.h"
#include "ipc/codec.h"
#include "lib/request.h"

/* A row before the answer, and the answer, which ends the request. They call
 * back. Negative: the daemon broke the protocol. */
int reply_row(struct ddblock *, struct request *, const struct ddblock_row *);
int reply_end(struct ddblock *, struct request *, const struct ddblock_row *);

/* The codes of an ERR line; its text is kept as the last error text. */
void reply_read_error(struct ddblock *, const struct codec_line *,
    struct ddblock_reply *ret);

#endif

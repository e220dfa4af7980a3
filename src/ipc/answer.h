/*
 * What is known of a lock's holder, as arguments of a line.
 */
#ifndef DDBLOCKD_IPC_ANSWER_H
#define DDBLOCKD_IPC_ANSWER_H

#include "core/core.h"

struct buffer;
struct connection;

/* Who is in the way: token, owner and how long it has given no sign. */
void answer_owner(struct connection *, struct buffer *,
    const struct core_holder_view *);

/* All of it, for GET and LIST. */
void answer_holder(struct connection *, struct buffer *,
    const struct core_holder_view *);

#endif

/*
 * What is known of a lock's holder, as arguments of a line.
 */
#ifndef DDBLOCKD_IPC_ANSWER_H
#define DDBLOCKD_IPC_ANSWER_H

#include "core/core.h"

struct buffer;
struct connection;

/* How it is used. Exclusive use goes without saying. */
void answer_shared(struct buffer *, enum lock_mode, uint64_t limit);

/* Who is in the way: token, owner, how many if they share it, and how long it
 * has given no sign. */
void answer_owner(struct connection *, struct buffer *,
    const struct core_holder_view *);

/* All of it, for GET and LIST. */
void answer_holder(struct connection *, struct buffer *,
    const struct core_holder_view *);

#endif

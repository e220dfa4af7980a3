/*
 * What is known of a lock's holder, as arguments of a line.
 */
#ifndef DDBLOCKD_IPC_ANSWER_H
#define DDBLOCKD_IPC_ANSWER_H

#include "core/core.h"

struct buffer;
struct connection;

/* What a client calls a lock: `key`, and `sort` unless it goes without
 * saying. */
void answer_token(struct buffer *, uint64_t token, const char *text);
void answer_name(struct buffer *, struct key name);

/* How it is used. Exclusive use goes without saying. */
void answer_shared(struct buffer *, enum lock_mode, uint64_t limit);

/* What ends it. Fail-open goes without saying. */
void answer_policy(struct buffer *, bool fail_closed);

/* Until when it is had: nothing, if it has no deadline. */
void answer_until(struct buffer *, uint64_t remaining_ms, uint64_t until_ms);

/* Who is in the way: token, owner, how many if they share it, and how long it
 * has given no sign. */
void answer_owner(struct connection *, struct buffer *,
    const struct core_holder_view *);

/* All of it, for GET and LIST. */
void answer_holder(struct connection *, struct buffer *,
    const struct core_holder_view *);

#endif

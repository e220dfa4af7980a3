/*
 * The functions that the files of src/ipc/answer/ share.
 */
#ifndef DDBLOCKD_IPC_ANSWER_ROOM_H
#define DDBLOCKD_IPC_ANSWER_ROOM_H

#include "ipc/answer/answer.h"

/* ---- answer.c: the state of a lock, as arguments of a line --------- */

/* The client's name of a lock: `key`, and `sort` unless it is the default. */
void answer_token(struct buffer *, uint64_t token, const char *text);
void answer_name(struct buffer *, struct key name);

/* Its mode and limit. The second function leaves out exclusive mode. */
void answer_use(struct buffer *, enum lock_mode, uint64_t limit);
void answer_shared(struct buffer *, enum lock_mode, uint64_t limit);

/* The policy that ends the hold. Fail-open is left out. */
void answer_policy(struct buffer *, bool fail_closed);

/* The hold's deadline; left out if it has none. */
void answer_until(struct buffer *, uint64_t remaining_ms, uint64_t until_ms);

/* The holder in the way: token, owner, the number of sharers, and the time
 * since its last sign of life. */
void answer_owner(struct connection *, struct buffer *,
    const struct core_holder_view *);

/* All of it, for GET and LIST. */
void answer_holder(struct connection *, struct buffer *,
    const struct core_holder_view *);

/* ---- listing.c --------------------------------------------------------- */

void listing_where(const struct connection *, struct buffer *,
    const struct listing *);
/* Does any listing of this connection report progress? Then report it now. */
bool listing_say_all(struct connection *, uint64_t now_ms);
/* The core has read a namespace to its end. */
void listing_read(struct connection *, struct pending *);

/* ---- listing_view.c ---------------------------------------------------- */

/* Does this part of a key match? NULL: any does. */
bool listing_is_part(const char *part, size_t length, struct key name);
/* Write as many rows of the core's views as there is room for. */
void listing_write_view(struct connection *, struct pending *);

/* ---- change.c ---------------------------------------------------------- */

/* The answer to a WATCH that another process has answered. */
void change_tell_again(struct connection *, const struct pending *,
    const struct core_reply *);

/* ---- resume.c ---------------------------------------------------------- */

void resume_answered(struct connection *, struct pending *,
    const struct core_reply *);

#endif

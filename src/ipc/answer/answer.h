/*
 * The lines that the server sends to its clients: the core's actions, and
 * periodic reports.
 */
#ifndef DDBLOCKD_IPC_ANSWER_ANSWER_H
#define DDBLOCKD_IPC_ANSWER_ANSWER_H

#include "ipc/connection/connection.h"

/* reply.c */
void answer_reply(struct connection *, const struct core_reply *);

/* notice.c */
void answer_notice(struct connection *, const struct core_notice *);
void answer_renewed(struct connection *, uint32_t namespace_index,
    uint64_t until_ms);
/*
 * A renewal not yet sent is about the holds of its time. It goes before a new
 * renewal, whose session may be another and end sooner, and before later lines
 * about the old holds.
 */
void answer_write_renewed(struct connection *);

/* change.c: events for the watchers of a lock. */
void change_tell(struct connection *, const struct core_change *);
/* Changes that were deferred because the client did not read. */
void change_tell_rest(struct connection *);
void change_forget(struct connection *);
/* It may not see this lock any more, and watches it no longer. */
void change_denied(struct connection *, uint32_t namespace_index, struct key);

/* listing.c. Tell the progress, at most that often. */
void listing_tell(struct connection *, struct listing *, uint64_t tell_ms);
/* Ask the core to read the next namespace of a LIST. Negative: the core
 * refuses, and the request is gone. */
int listing_start(struct connection *, struct pending *);
void listing_rows(struct connection *, const struct core_rows *);
/* Write the next rows of the listings, or ask the core for them. */
void listing_write_more(struct connection *);

/* report.c: a place in line. */
void report_begin(struct connection *, struct pending *);
/* Those that are due, until the turn is over. */
void report_say_some(struct connection *);

/* release.c: a release of all. A part of it was answered and is gone. */
void release_answered(struct connection *, struct pending *part, int code);
/* The same for a part that there was no memory for. */
void release_count(struct connection *, struct pending *whole, int code);
/* Count an answered part. After the last, answer the whole. */
void release_settle(struct connection *, struct pending *whole);

/* tell.c: periodic reports. */
void tell_on_time(evutil_socket_t, short, void *server);

#endif

/*
 * What merely looks: clients that watch locks, the audit of what is held,
 * GET and LIST, and views for the daemon. It decides nothing.
 */
#ifndef DDBLOCKD_CORE_READS_READS_H
#define DDBLOCKD_CORE_READS_READS_H

#include "core/client/client.h"

/* DDBLOCK_E_NOMEM */
int reads_new(struct core *, struct namespace *);

/* Its times are others now: what is to be looked at goes by them. */
void reads_pace(struct core *, struct namespace *);

/* It never came to be: its timers go. */
void reads_unset(struct core *, struct namespace *);

/* The core goes away: first its watches, then what a namespace has, if any. */
void watch_free_all(struct core *);
void listing_forget_all(struct core *);
void reads_free(struct namespace *);

/* 0 or a code with which the request is not admitted. */
int listing_ask(struct core *, struct request *, const struct core_request *);
int watch_ask(struct core *, struct request *, const struct core_request *);
int watch_unask(struct core *, struct request *, const struct core_request *);

/* The client has room for the next page of its LIST. */
void listing_continue(struct core *, uint64_t client, uint64_t request);

void audit_timer(struct core *, struct timer *);
void listing_timer(struct core *, struct timer *);
void watch_poll_timer(struct core *, struct timer *);
void audit_stored(struct core *, struct namespace *, const struct outcome *);
void listing_stored(struct core *, struct request *, const struct outcome *);
void watch_poll_stored(struct core *, struct namespace *,
    const struct outcome *);

/* What must be true of this room after each step. */
void reads_check(const struct core *);

/* At the end of a step: of all that it brought, what is true now. */
void watch_tell(struct core *);

/* ---- what the rooms below tell this one ------------------------------- */

bool watch_wants_read(const struct lock *);
void watch_seen(struct lock *, const struct lock_record *,
    uint64_t submitted_ms);
void watch_failed(struct core *, struct lock *, int code, const char *text);
void watch_touch(struct core *, struct lock *);
void watch_leave(struct core *, struct client *);
void watch_hinted(struct core *, struct lock *);

#endif

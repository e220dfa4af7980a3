/*
 * Lines and intervals of the audit trail, for people and as JSON.
 */
#ifndef DDBLOCKD_CLI_HISTORY_SHOW_H
#define DDBLOCKD_CLI_HISTORY_SHOW_H

#include "cli/history/intervals.h"
#include "common/buffer.h"

/* The date of @now_us is left out. @wrap: in lines for a terminal. */
void show_event(struct buffer *, const struct event *, uint64_t now_us,
    bool wrap);
void show_event_json(struct buffer *, const struct event *);
void show_interval(struct buffer *, const struct interval *, uint64_t now_us);
void show_interval_json(struct buffer *, const struct interval *);

#endif

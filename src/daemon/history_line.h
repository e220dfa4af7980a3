/*
 * A line of a history, while it is made. Private to history*.c.
 */
#ifndef DDBLOCKD_DAEMON_HISTORY_LINE_H
#define DDBLOCKD_DAEMON_HISTORY_LINE_H

#include "common/buffer.h"
#include "daemon/history.h"
#include "daemon/log_line.h"

struct history_line {
	struct log_line line;
	struct buffer keys;		/* a field's memory */
};

/* Begin it; then its fields, which are borrowed until history_write(). */
void history_begin(struct history *, struct history_line *,
    const char *event);
void history_text(struct history_line *, const char *name, const char *value);
void history_number(struct history_line *, const char *name, uint64_t value);
void history_namespace(const struct history *, struct history_line *,
    uint32_t index);
/* As on the wire, where a space comes before each; a sort value stands behind
 * "%00". */
void history_keys(struct history_line *, const struct key *keys, uint32_t n);
void history_write(struct history_line *);

/* The daemon ends the connection. Its holds, except those that it may resume,
 * are lost with that. */
void history_cut_off(struct history *, uint64_t client);

#endif

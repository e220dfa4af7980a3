/*
 * What the daemon says in its log: losses, dangers, sessions, and troubles of
 * the stores, each once per change.
 */
#ifndef DDBLOCKD_DAEMON_WATCH_H
#define DDBLOCKD_DAEMON_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buffer.h"
#include "core/core.h"

/* What was last said about a namespace. */
struct watch {
	const char *name;	/* borrowed */
	bool open;
	bool danger;
	bool opened;		/* ever */
	int trouble;		/* DDBLOCK_E_*, or 0 */
};

struct store;

/* Look at a namespace's session. True if something changed. */
bool watch_session(struct watch *, const struct core *, uint32_t index,
    uint64_t now_ms);

/* Look at the outcome of an operation of this store. True if something
 * changed. */
bool watch_outcome(struct watch *, const struct operation *,
    const struct outcome *, const struct store *);

/* Log what happened to a hold. To be called before the next step. */
void watch_notice(const struct core *, const struct core_notice *,
    uint64_t now_ms);

/* A client is about to be cut off: log which locks it has. */
void watch_cut_off(const struct core *, uint64_t client, uint64_t now_ms);

/* Log what became of a break, by namespaces' watches: an audit, which nothing
 * limits. */
void watch_broke(const struct watch *, const struct core_broke *);

/* "default: open" or "default: opening, NO_TABLE". */
void watch_describe(const struct watch *, struct buffer *);

#endif

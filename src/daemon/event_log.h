/*
 * What the daemon says in its log: losses, dangers, sessions, and troubles of
 * the stores, each once per change.
 */
#ifndef DDBLOCKD_DAEMON_EVENT_LOG_H
#define DDBLOCKD_DAEMON_EVENT_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buffer.h"
#include "core/core.h"

/* The last message about a namespace. */
struct event_log {
	const char *name;	/* borrowed */
	bool open;
	bool danger;
	bool opened;		/* ever */
	int trouble;		/* DDBLOCK_E_*, or 0 */
	uint64_t tokens_back;	/* so many were said, at last then: */
	uint64_t tokens_back_ms;
};

struct server_client;
struct store;

/* Look at a namespace's session, and whether tokens went back in it. True if
 * the session changed. */
bool event_log_session(struct event_log *, const struct core *, uint32_t index,
    uint64_t now_ms);

/* Look at the outcome of an operation of this store. True if something
 * changed. */
bool event_log_outcome(struct event_log *, const struct operation *,
    const struct outcome *, const struct store *);

/* Log what happened to a hold, by namespaces' watches. To be called before the
 * next step. @who: its client, or NULL if that has left. */
void event_log_notice(const struct event_log *, const struct core *,
    const struct core_notice *, const struct server_client *who,
    uint64_t now_ms);

/* A client is about to be cut off: log which locks it has. */
void event_log_cut_off(const struct event_log *, const struct core *,
    uint64_t client, const struct server_client *who, uint64_t now_ms);

/* Log what became of a break: nothing limits that. @who asked for it. */
void event_log_broke(const struct event_log *, const struct core_broke *,
    const struct server_client *who);

/* "default: open" or "default: opening, NO_TABLE". */
void event_log_describe(const struct event_log *, struct buffer *);

#endif

/*
 * The audit trail: who was granted a lock, who gave it back, who was refused
 * what, and when the daemon was there. Losses, dangers and breaks are in
 * event_log.h, because they are always logged; all of them have the fields of
 * log_line_trail().
 *
 * Each user has a limit of its own for each kind of line, so that no user can
 * hide what another does; what is left out is counted, and said.
 */
#ifndef DDBLOCKD_DAEMON_TRAIL_H
#define DDBLOCKD_DAEMON_TRAIL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/ended.h"
#include "daemon/config.h"
#include "ipc/server.h"

/* What it is about. Borrowed. */
struct trail {
	const struct config *config;
	const struct core *core;
	const struct server *server;
	const struct core_request *asked;	/* in this step; or NULL */
};

/* It serves now. @inherited: what the daemon before left goes on. These two are
 * always logged, because the end of a daemon may be that of a hold. */
void trail_started(const char *socket, bool inherited, uint32_t n_held);

/* It is about to end, as the text says, and leaves that many to the next one,
 * or to their lease. */
void trail_stopped(int level, uint32_t n_held, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A reply is about to go to its client. */
void trail_reply(const struct trail *, const struct core_reply *,
    uint64_t now_ms);

/* A hold ends, without a loss. */
void trail_ended(const struct trail *, const struct core_ended *);

/* Something was refused. */
void trail_refused(const struct trail *, const struct server_refusal *);

#endif

/*
 * Metrics: what the daemon counts by itself, and the text that METRICS and the
 * HTTP listener answer (metrics.def). All other figures are those of the core,
 * the stores and the server, which STATUS shows, too.
 */
#ifndef DDBLOCKD_DAEMON_METRICS_H
#define DDBLOCKD_DAEMON_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buffer.h"
#include "common/error.h"
#include "common/histogram.h"
#include "core/core.h"
#include "ipc/server.h"

#define METRICS_PIECE_MAX 16384		/* bytes: no piece is longer */

/* The operations of one store. */
struct metrics_operations {
	uint64_t outcomes[OPERATION_KINDS][OUTCOME_KINDS];
	struct histogram took[OPERATION_KINDS];
	uint64_t errors[ERROR_CODES_MAX];
};

struct metrics {
	uint64_t started_wall_ms;
	struct metrics_operations operations[CORE_NAMESPACES_MAX];
	struct histogram lag;
	uint64_t refused[ERROR_CODES_MAX];
};

/* @m is all zeroes. */
void metrics_start(struct metrics *m);

/* An operation has ended. */
void metrics_outcome(struct metrics *, const struct operation *,
    const struct outcome *, uint64_t now_ms);
/* A timer that was due at @due_ms runs. */
void metrics_lag(struct metrics *, uint64_t due_ms, uint64_t now_ms);
/* A client was refused something. */
void metrics_refused(struct metrics *, int code);

/* What the text is made from; all of it is borrowed. */
struct metrics_view {
	const struct metrics *metrics;
	const struct core *core;
	const struct server *server;
	struct store *const *stores;
	uint32_t n_namespaces;
	uint64_t namespaces;	/* a bit for each that is shown */
	bool (*hints)(void *arg, struct server_hints *ret);
	void *arg;
};

/*
 * Append the next piece of the text, whole lines; *@position is 0 for the
 * first. False: that was the last. A piece may be empty.
 */
bool metrics_write(const struct metrics_view *, uint64_t *position,
    struct buffer *);

#endif

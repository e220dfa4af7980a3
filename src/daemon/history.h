/*
 * The history of a daemon: all requests of clients, replies and events, in the
 * log, to find out afterwards the holders of a lock and their times. Each line
 * is written before the reply that it tells of goes out, and has a number, so
 * that one that is missing is missed.
 */
#ifndef DDBLOCKD_DAEMON_HISTORY_H
#define DDBLOCKD_DAEMON_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/core.h"
#include "daemon/config.h"

/* Of a line: the daemon that wrote it, and the line's number. */
struct history_place {
	uint64_t pid;		/* 0: there is none */
	uint64_t serial;
};

struct history {
	const struct config *config;	/* borrowed; NULL: nothing is written */
	uint64_t serial;
	uint64_t leaving;	/* the client of this step's CORE_GONE or
				 * CORE_CUT, or 0 */
	const struct core_event *came_back;	/* this step's, or NULL */
};

/* Begin, if the configuration says so: with the settings of all namespaces. */
void history_start(struct history *, const struct config *, const char *host);

/*
 * The core has inherited, and @came_back is about to go into it: what is kept,
 * and whose connection is missing. Lines of the daemon before that come after
 * @from are about what was never said or sent. @all: it has left nothing out.
 */
void history_inherited(struct history *, const struct core *,
    const struct history_place *from, bool all,
    const struct core_event *came_back, uint64_t now_ms);

/* An event is about to go into the core. */
void history_event(struct history *, const struct core_event *);

/* The core refused this request, and it is answered with @code. */
void history_refused(struct history *, const struct core_request *, int code);

/* An action of the core, which is as it is after the step, is about to be
 * performed. */
void history_action(struct history *, const struct core *,
    const struct core_action *, uint64_t now_ms);

/* An outcome is about to go into the core. Those of our sessions are told. */
void history_outcome(struct history *, const struct operation *,
    const struct outcome *);

/* What clients call what the core is asked. */
const char *history_verb_word(enum core_verb);

/* @settled: the core had nothing left to do. */
void history_end(struct history *, bool settled);

#endif

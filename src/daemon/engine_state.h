/*
 * What the files of the engine share.
 */
#ifndef DDBLOCKD_DAEMON_ENGINE_STATE_H
#define DDBLOCKD_DAEMON_ENGINE_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/succession.h"
#include "daemon/client_check.h"
#include "daemon/engine.h"
#include "daemon/event_log.h"
#include "daemon/hinter.h"
#include "daemon/history.h"
#include "daemon/keeper.h"
#include "daemon/memory.h"
#include "daemon/metrics.h"
#include "daemon/metrics_http.h"
#include "daemon/stores.h"
#include "daemon/trail.h"
#include "ipc/server.h"

struct engine {
	struct event_base *base;
	const struct config *config;
	const char *host;
	struct engine_calls calls;
	void *arg;
	struct core *core;
	struct server *server;
	struct stores *opener;
	struct store *stores[CORE_NAMESPACES_MAX];
	struct event_log watches[CORE_NAMESPACES_MAX];
	struct client_check_run checks[CORE_NAMESPACES_MAX];
	uint32_t n_namespaces;
	struct hinter *hinter;		/* NULL: there are no hints */
	struct history history;
	struct descriptor_store *descriptors;	/* NULL: there is none */
	const struct journal *journal;	/* that the server writes, too */
	struct keeper keeper;
	struct memory memory;
	struct metrics metrics;
	struct metrics_http *metrics_http;	/* NULL: there is none */
	struct core_inherited inherited;	/* from the one before */
	int timer_fd;
	struct event *timer;
	uint64_t armed_ms;	/* when the timer will fire */
	uint64_t due_ms;	/* the same, or now, if that is later */
	bool stepping;
	const struct core_request *asked;	/* by this step; or NULL */
	bool stopping;
	bool stopped;
	bool closing;
	uint64_t successor;	/* the client that is to take our place, or 0 */
	int successor_fd;
	struct activation *activation;	/* until engine_start() */
};

/* engine.c: step the core. The server's way into it, and everybody's. */
int engine_step(void *engine, struct core_event *event);
/* The same, for events that the core cannot refuse. */
void engine_must_step(struct engine *, struct core_event *);

/* engine.c: what the audit trail is about now. */
struct trail engine_trail(const struct engine *);

/* engine_replace.c: server_calls.replace. */
int engine_replace(void *engine, uint64_t client, int fd, char *text,
    size_t size);

/* engine_server.c: server_calls.metrics, also for HTTP. */
bool engine_metrics(void *engine, uint64_t namespaces, uint64_t *position,
    struct buffer *);

/* engine_server.c: as configured. */
gid_t engine_group(const char *name);
struct server_limits engine_limits(const struct config_daemon *);

#endif

/*
 * The socket server: listener, connections, verbs. It turns lines into events
 * for the core and the core's actions into lines; it decides nothing about
 * locks.
 */
#ifndef DDBLOCKD_IPC_SERVER_H
#define DDBLOCKD_IPC_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/core.h"

struct event_base;
struct finding;
struct server;
struct store_status;

struct server_limits {
	uint32_t connections_max;
	uint32_t connections_per_uid_max;
	uint32_t requests_per_connection_max;	/* unanswered */
	/* Per connection, outgoing. Room for two pages of a LIST with long
	 * keys, so at least a mebibyte. */
	size_t queued_bytes_max;
	/* In and out, together; what is left when a round is over. */
	size_t queued_bytes_per_uid_max;
};

/* Copied, strings too. */
struct server_config {
	const char *path;
	mode_t mode;
	gid_t group;			/* (gid_t)-1: leave it */
	gid_t admin_group;	/* who may break and check, with root;
				 * (gid_t)-1: none */
	struct server_limits limits;
	const char *version;
	const char *host;
};

/* What a request in this namespace means that does not say it. */
struct server_defaults {
	uint64_t wait_ms;	/* ACQUIRE; CORE_FOREVER */
	const char *owner;	/* what holders are called; NULL: as the
				 * client is, HOST/NAME:PID */
};

/* What the server asks of the daemon. */
struct server_calls {
	/* Step the core (now_ms is filled in by the callee) and perform the
	 * actions. Returns what core_step() returned. */
	int (*step)(void *arg, struct core_event *event);
	const struct core *(*core)(void *arg);
	uint32_t (*n_namespaces)(void *arg);
	const char *(*namespace_name)(void *arg, uint32_t index);
	struct server_defaults (*defaults)(void *arg, uint32_t index);
	void (*store_status)(void *arg, uint32_t index,
	    struct store_status *ret);
	/*
	 * Look at what a namespace needs, for that request of that client:
	 * server_finding() with each thing found, and NULL at the end.
	 *
	 * DDBLOCK_E_LIMIT: that is being done already. DDBLOCK_E_NOMEM
	 */
	int (*check)(void *arg, uint32_t index, uint64_t client,
	    uint64_t request);
	/* Something worth a line in the log; the server never logs itself. */
	void (*log)(void *arg, int priority, const char *text);
	/* Bits that nobody can guess. 0, or DDBLOCK_E_SYSTEM. */
	int (*secret)(void *arg, struct ident *ret);
};

/*
 * Bind and listen. A socket file that nobody listens on is replaced; a live
 * one is refused. @ret_text (at least 256 bytes) says what went wrong.
 *
 * DDBLOCK_E_SYSTEM, DDBLOCK_E_NOMEM, DDBLOCK_E_LIMIT (path too long)
 */
int server_new(struct event_base *, const struct server_config *,
    const struct server_calls *, void *arg, struct server **ret,
    char *ret_text, size_t text_size);

/* Closes every connection and removes the socket file. Accepts NULL. */
void server_free(struct server *);

/* CORE_REPLY, CORE_ROWS, CORE_NOTICE, CORE_RENEWED, CORE_CHANGED, CORE_CLOSE or
 * CORE_PARTED. Never steps the core from within. */
void server_perform(struct server *, const struct core_action *);

/* One thing that was found for a CHECK, or NULL: that was all. Who asked may be
 * gone. Not from within server_calls.check. */
void server_finding(struct server *, uint64_t client, uint64_t request,
    const struct finding *);

/* Refuse new connections and tell every client "!SHUTDOWN in=..". */
void server_stop(struct server *, uint64_t in_ms);

uint32_t server_connections(const struct server *);

#endif

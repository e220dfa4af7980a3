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

#include "core/succession.h"
#include "ipc/protocol.h"

#define SERVER_ENTRY_KINDS (CORE_ENTRY_KINDS + 16)

struct access;
struct buffer;
struct event_base;
struct finding;
struct server;
struct store_status;

struct server_limits {
	uint32_t connections_max;
	uint32_t connections_per_uid_max;
	uint32_t requests_per_connection_max;	/* unanswered */
	uint32_t requests_max;			/* the same, of all */
	/* Per connection, outgoing. Room for two pages of a LIST with long
	 * keys, so at least a mebibyte. */
	size_t queued_bytes_max;
	/* In and out, together; the rest at the end of a round. */
	size_t queued_bytes_per_uid_max;
};

/* Copied, strings too. */
struct server_config {
	const char *path;
	int fd;			/* listens there already: taken, and the file
				 * is its maker's; -1: make it */
	bool owns_file;		/* of that: it is ours from now on */
	mode_t mode;
	gid_t group;			/* (gid_t)-1: leave it */
	gid_t admin_group;	/* may break and check, as root may; (gid_t)-1:
				 * none */
	bool admin_any;		/* root is root in any pid namespace */
	const struct access *access;	/* the rules; borrowed. NULL: none */
	struct server_limits limits;
	uint64_t client_last;	/* no client has this number or a lower one */
	const char *version;
	const char *host;
};

/* The defaults of requests in this namespace. */
struct server_defaults {
	uint64_t wait_ms;	/* ACQUIRE; CORE_FOREVER */
	const char *owner;	/* the owner of holds; NULL: the client's name,
				 * HOST/NAME:PID USER */
};

/* The process at the other end of a connection, as the kernel says; its name is
 * its own words. Borrowed from the connection. */
struct server_client {
	const char *name;
	pid_t pid;
	uid_t uid;
};

/* Somebody was denied something (DDBLOCK_E_DENIED), or it was too much
 * (_LIMIT). All borrowed. */
struct server_refusal {
	uint64_t client;	/* 0: it did not become one */
	const struct server_client *who;
	const char *verb;	/* NULL: the connection was refused */
	const char *namespace;	/* as they were named; NULL: they were not */
	const char *key;
	const char *sort;
	int code;
	const char *why;
};

#define SERVER_KEEP_LATER (UINT64_MAX - 1)	/* server_calls.keep */
#define SERVER_KEPT_NOWHERE (UINT64_MAX - 2)	/* the same */

/* Hints of other daemons, since the start. */
struct server_hints {
	const char *address;	/* that they are told; "": none yet */
	uint64_t peers;		/* whose address and key are known */
	uint64_t sent;
	uint64_t unsent;	/* for want of a way, or too many */
	uint64_t accepted;
	uint64_t late;		/* or repeated */
	uint64_t refused;	/* forged, or of nobody known */
};

/* Calls from the server to the daemon. */
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
	 * Check what a namespace needs, for that request of that client:
	 * server_finding() with each finding, and NULL at the end.
	 *
	 * DDBLOCK_E_LIMIT: that is being done already. DDBLOCK_E_NOMEM
	 */
	int (*check)(void *arg, uint32_t index, uint64_t client,
	    uint64_t request);
	/*
	 * Append the next lines of the text of metrics, whole ones and not
	 * many; *@position is 0 for the first. @namespaces: those that are
	 * shown, a bit each. False: these were the last.
	 */
	bool (*metrics)(void *arg, uint64_t namespaces, uint64_t *position,
	    struct buffer *);
	/* False, or NULL: there are no hints. */
	bool (*hints)(void *arg, struct server_hints *ret);
	/* An event for the log; the server never logs itself. @user: the uid
	 * whose programs are the reason, or LOG_NO_USER. */
	void (*log)(void *arg, int priority, int64_t user, const char *text);
	/* For an audit trail. NULL: nobody wants to know. */
	void (*refused)(void *arg, const struct server_refusal *);
	/* Random bits that cannot be guessed. 0, or DDBLOCK_E_SYSTEM. */
	int (*secret)(void *arg, struct ident *ret);
	/* Keep a copy of this descriptor, of a connection or of the server's
	 * memory, for the process after this one, and give it a number; 0: what
	 * the client has is not kept; SERVER_KEPT_NOWHERE: that is, but no
	 * copy; SERVER_KEEP_LATER: not yet, for want of room, and
	 * server_keep_more() is called when there is some. NULL: no connection
	 * outlives this process. */
	uint64_t (*keep)(void *arg, int fd, bool is_memory);
	/* Is that confirmed? NULL: nothing keeps them if this process dies. */
	bool (*is_kept)(void *arg, uint64_t number);
	/* The journal has no room: move it to a larger block. False: it cannot
	 * grow, and nothing is written there any more. */
	bool (*grow)(void *arg);
	/* This client, whose socket @fd is, wants to take the place of this
	 * process, which speaks with it from now on; perhaps it is closed at
	 * the end. @ret_text says why not. */
	int (*replace)(void *arg, uint64_t client, int fd, char *ret_text,
	    size_t text_size);
};

/*
 * Bind and listen, or take the socket that listens. A stale socket file is
 * replaced; a live one is refused. @ret_text (at least 256 bytes) says why it
 * failed.
 *
 * DDBLOCK_E_SYSTEM, DDBLOCK_E_NOMEM, DDBLOCK_E_LIMIT (path too long)
 */
int server_new(struct event_base *, const struct server_config *,
    const struct server_calls *, void *arg, struct server **ret,
    char *ret_text, size_t text_size);

/*
 * From now on what the connections need in the process after this one is
 * written into this journal (in entries of the kinds from SERVER_ENTRY_KINDS
 * on); NULL: nowhere. All of it is written at once. It is committed by others'
 * commits, and by the server before it sends or receives anything.
 *
 * DDBLOCK_E_LIMIT
 *     It has no room for all of it; it is as if it were NULL.
 */
int server_journal(struct server *, struct journal *);

/* There is room again for connections to be kept. */
void server_keep_more(struct server *);

/* At the end of a step, when its answers were performed and before a commit:
 * what was asked and has no answer is written. */
void server_save(struct server *);

/* What the process before this one left. */
struct server_legacy {
	const void *journal;	/* a journal that is good; NULL: none */
	size_t journal_size;
	int memory;		/* what was kept as the server's memory, which
				 * takes it; -1: nothing */
	int *connections;	/* what was kept as connections: those that it
				 * takes are -1 then */
	size_t n_connections;
	bool is_handed_over;	/* by a process that has ended; no service
				 * manager has them */
};

/*
 * Go on with these connections, before anything else is asked of the server,
 * and as far as its journal tells: server_is_here() says which clients that
 * are. When the core knows it, too, server_go_on() puts to it what they had
 * asked. Returns how many there are.
 *
 * DDBLOCK_E_NOMEM
 *     Some are missing.
 */
int server_inherit(struct server *, struct server_legacy *, uint32_t *ret);
bool server_is_here(void *server, uint64_t client);
uint32_t server_user(void *server, uint64_t client);	/* that is here */
/* For core_legacy and CORE_CAME_BACK: what follows from a secret in clear,
 * where there is no server yet; and its seal, where it has none. */
int server_learn_secret(void *, struct ident clear, struct core_secret *ret);
void server_seal_secret(void *server, struct core_secret *);
void server_go_on(struct server *);

/*
 * This process ends, and the one after it goes on: server_free() ends no
 * connection that is kept and tells nobody anything. Nothing else may be asked
 * of the server. False: nothing is kept.
 */
bool server_leave(struct server *);

/* What the process that takes the place of this one gets: all connections but
 * that client's. */
struct server_handover {
	int listening, memory;
	int *connections;	/* the caller's to free; they are not copies */
	size_t n_connections;
};

/*
 * Everything that the journal says of them counts as soon as it is committed.
 * @ret_text says what is in the way.
 *
 * DDBLOCK_E_UNSUPPORTED, DDBLOCK_E_NOMEM
 */
int server_hand_over(struct server *, uint64_t client,
    struct server_handover *ret, char *ret_text, size_t text_size);

/* Other limits, administrators and rules (as in server_config) from now on.
 * Nobody is cut off for what is queued already; what waits and watches goes on
 * if the rules allow it. */
void server_configure(struct server *, const struct server_limits *,
    gid_t admin_group, bool admin_any, const struct access *);

/* Closes every connection and removes the socket file, if it made that. Accepts
 * NULL. */
void server_free(struct server *);

/* CORE_REPLY, CORE_ROWS, CORE_NOTICE, CORE_RENEWED, CORE_CHANGED, CORE_CLOSE or
 * CORE_PARTED. Never steps the core from within. */
void server_perform(struct server *, const struct core_action *);

/* One finding of a CHECK, or NULL at the end. The client may be gone. Not from
 * within server_calls.check. */
void server_finding(struct server *, uint64_t client, uint64_t request,
    const struct finding *);

/* Refuse new connections and tell every client "!SHUTDOWN in=..". */
void server_stop(struct server *, uint64_t in_ms);

uint32_t server_connections(const struct server *);

/* For metrics. */
struct server_figures {
	uint32_t connections;
	uint32_t requests;	/* without a reply */
	uint64_t queued_bytes;	/* of all connections, in and out */
};
void server_view_figures(const struct server *, struct server_figures *ret);

/* How often a client sent this, without an error in the line. */
uint64_t server_requests(const struct server *, enum protocol_verb);

/* What the connections of a user have of memory, here and in the core: those
 * with most, falling; how many there are. */
#define SERVER_USERS_MAX 8
struct server_user_memory {
	uid_t uid;
	uint64_t bytes;
};
size_t server_view_users(const struct server *,
    struct server_user_memory ret[SERVER_USERS_MAX]);

/* False: this client is not connected. */
bool server_view_client(const struct server *, uint64_t client,
    struct server_client *ret);

#endif

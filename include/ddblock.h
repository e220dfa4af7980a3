/*
 * libddblock: distributed locks for any program on a host.
 *
 * This is the only installed header. A connection to ddblockd(8) owns the
 * locks that are acquired on it: when it ends, they are free.
 */
#ifndef DDBLOCK_H
#define DDBLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Errors: every function that returns an int returns 0 (or a count, where it
 * says so) or one of these.
 */
enum ddblock_error {
	/* the lock did not become free in time */
	DDBLOCK_E_ACQUIRE_TIMEOUT = -1,
	/* somebody else holds the lock */
	DDBLOCK_E_LOCK_BUSY = -2,
	/* this connection does not hold that lock */
	DDBLOCK_E_LOCK_NOT_OWNED = -3,
	/* the lock's record was changed by somebody else */
	DDBLOCK_E_LOCK_STOLEN = -4,
	/* the lock was lost: its lease could not be renewed in time */
	DDBLOCK_E_LOCK_LOST = -5,
	/* this connection already holds the lock */
	DDBLOCK_E_ALREADY_HELD = -6,
	/* there is no such lock */
	DDBLOCK_E_NO_SUCH_LOCK = -7,
	/* the store does not answer */
	DDBLOCK_E_UNREACHABLE = -8,
	/* the store asks to slow down */
	DDBLOCK_E_THROTTLED = -9,
	/* AWS does not allow the request */
	DDBLOCK_E_ACCESS_DENIED = -10,
	/* there are no usable AWS credentials */
	DDBLOCK_E_NO_CREDENTIALS = -11,
	/* the table does not exist */
	DDBLOCK_E_NO_TABLE = -12,
	/* the table does not fit the namespace */
	DDBLOCK_E_WRONG_TABLE = -13,
	/* the daemon's access rules forbid it */
	DDBLOCK_E_DENIED = -14,
	/* a limit is reached */
	DDBLOCK_E_LIMIT = -15,
	/* the request is not understood */
	DDBLOCK_E_BAD_REQUEST = -16,
	/* the namespace's record format cannot express it */
	DDBLOCK_E_UNSUPPORTED = -17,
	/* the daemon has no such namespace */
	DDBLOCK_E_UNKNOWN_NAMESPACE = -18,
	/* the daemon is shutting down */
	DDBLOCK_E_SHUTTING_DOWN = -19,
	/* the daemon has a defect; its log says more */
	DDBLOCK_E_INTERNAL = -20,
	/* the request was cancelled */
	DDBLOCK_E_CANCELLED = -21,
	/* the lock's record is not in the namespace's format */
	DDBLOCK_E_BAD_RECORD = -22,
	/* the store has no room left */
	DDBLOCK_E_STORE_FULL = -23,
	/* the store is damaged or not usable */
	DDBLOCK_E_STORE_BROKEN = -24,
	/* the daemon is not there */
	DDBLOCK_E_NO_DAEMON = -25,
	/* the other side does not speak the protocol */
	DDBLOCK_E_PROTOCOL = -26,
	/* out of memory */
	DDBLOCK_E_NOMEM = -27,
	/* a system call failed */
	DDBLOCK_E_SYSTEM = -28,
	/* the lock is shared within another limit */
	DDBLOCK_E_WRONG_LIMIT = -29,
};

/*
 * FUNCTIONS
 *
 * A connection may be used by one thread at a time; different connections
 * need no care. No function logs, exits, or touches signals. None but those
 * marked "blocks" waits for the daemon. What the library hands out belongs to
 * it and is valid until the next call on the same connection.
 */
struct ddblock;		/* a connection to the daemon */
struct ddblock_row;	/* named fields; lent to a callback until it returns */

#define DDBLOCK_SOCKET "/run/ddblockd/ddblockd.sock"
#define DDBLOCK_NEVER_MS UINT64_MAX

/* Texts that live for ever: "LOCK_BUSY"; a sentence without a full stop; the
 * exit status that ddblock(1) has for it. */
const char *ddblock_error_name(int code);
const char *ddblock_error_text(int code);
int ddblock_exit_status(int code);

/*
 * Connect to the daemon at @path (NULL: $DDBLOCK_SOCKET, or else the default).
 * @name says who asks, in listings (NULL: the program's name). It waits, 10
 * seconds at most, only while the daemon has more callers than it can greet.
 *
 * DDBLOCK_E_NO_DAEMON
 *     Nobody listens there; errno says more.
 * DDBLOCK_E_BAD_REQUEST
 *     The path does not fit a socket address.
 * DDBLOCK_E_NOMEM, DDBLOCK_E_SYSTEM
 */
int ddblock_open(const char *path, const char *name, struct ddblock **ret);

/* Disconnect: the daemon releases every lock of this connection. Accepts NULL;
 * must not be called from a callback. */
void ddblock_close(struct ddblock *);

/* Where it is connected to. */
const char *ddblock_path(const struct ddblock *);

/* What the last failure was about, for people; may be empty. */
const char *ddblock_last_text(const struct ddblock *);

/*
 * LOCKS
 *
 * A hold is known by its id, a number that is not used again on this
 * connection. It is valid until it is released or LOST, whichever is first,
 * and a hold that was lost never becomes valid again.
 *
 * Its deadline, until_boot_ms, is a moment on CLOCK_BOOTTIME: the one at which
 * the daemon would say that the lock is lost. Each renewal by the daemon moves
 * it on. The library keeps it by its own clock and reports the loss itself
 * when the moment passes, whether the daemon is busy, stopped or dead. Nobody
 * else can hold the lock before the deadline and margin_ms have passed: that
 * is the time to stop whatever still works under the lock.
 *
 * If the connection ends, every hold on it is lost at once: a daemon that
 * lives gives the locks to the next who wait.
 */
enum ddblock_mode {
	DDBLOCK_EXCLUSIVE = 0,	/* one holder */
	DDBLOCK_SHARED,		/* many, but no exclusive one beside them */
};

struct ddblock_acquire_options {
	size_t size;		/* of this structure */
	const char *ns;		/* namespace; NULL: the daemon's default */
	int64_t wait_ms;	/* 0: do not wait; negative: for ever */
	int64_t poll_ms;	/* 0: as the daemon is configured */
	enum ddblock_mode mode;
	uint32_t limit;	/* SHARED: how many may hold it, 1 to 1,000, the same
			 * for all who share it; 0: any number */
};

#define DDBLOCK_ACQUIRE_OPTIONS_INIT \
	{ sizeof(struct ddblock_acquire_options), NULL, -1, 0, \
	    DDBLOCK_EXCLUSIVE, 0 }

/*
 * Acquire the lock @key (UTF-8, 1 to 1,024 bytes) and learn the hold's id.
 * @options NULL: wait for ever in the default namespace. Blocks.
 *
 * DDBLOCK_E_LOCK_BUSY, DDBLOCK_E_ACQUIRE_TIMEOUT
 *     Somebody else has it; after no wait, or after all of it.
 * DDBLOCK_E_WRONG_LIMIT
 *     It is shared, within another limit, and there was no wait.
 * DDBLOCK_E_ALREADY_HELD
 *     This connection has it. To use it in another mode, release it first.
 * DDBLOCK_E_NO_DAEMON
 *     The connection broke, or no answer came in time.
 * any other code
 *     As the daemon said; ddblock_last_text() has its words.
 */
int ddblock_acquire(struct ddblock *, const char *key,
    const struct ddblock_acquire_options *, uint64_t *ret_id);

/* The same for exclusive use, with no wait. Blocks. */
int ddblock_try(struct ddblock *, const char *key, const char *ns,
    uint64_t *ret_id);

/*
 * Give a lock back and learn that it happened. The id is void afterwards
 * whatever is returned. Blocks, but not beyond the hold's deadline.
 *
 * DDBLOCK_E_LOCK_LOST, DDBLOCK_E_LOCK_STOLEN
 *     It was not held any more: what was done under it may have overlapped.
 * DDBLOCK_E_LOCK_NOT_OWNED
 *     There is no such hold.
 */
int ddblock_release(struct ddblock *, uint64_t id);

/* Renew now, without waiting for the daemon's own rhythm. Blocks. */
int ddblock_renew(struct ddblock *, uint64_t id);

/*
 * Of a hold: its fencing token, which rises with every grant of the lock in
 * the whole system; its deadline; how long until then (0: lost, or there is no
 * such hold); and the margin after it. They only look: they read nothing from
 * the daemon.
 */
uint64_t ddblock_token(const struct ddblock *, uint64_t id);
uint64_t ddblock_until_boot_ms(const struct ddblock *, uint64_t id);
uint64_t ddblock_remaining_ms(const struct ddblock *, uint64_t id);
uint64_t ddblock_margin_ms(const struct ddblock *, uint64_t id);

/*
 * EVENTS
 */
enum ddblock_event_kind {
	DDBLOCK_EVENT_IN_DANGER = 1,	/* no renewal for too long; see code.
					 * Maybe again, with a later deadline */
	DDBLOCK_EVENT_SAFE,		/* the danger is over */
	DDBLOCK_EVENT_LOST,		/* final; see loss. Stop at once. */
	DDBLOCK_EVENT_SHUTDOWN,		/* the daemon stops; see remaining_ms */
	DDBLOCK_EVENT_DISCONNECTED,	/* after the LOST of every hold */
};

enum ddblock_loss {
	DDBLOCK_LOSS_EXPIRED = 1,	/* the deadline passed */
	DDBLOCK_LOSS_STOLEN,		/* its record was changed */
	DDBLOCK_LOSS_BROKEN,		/* somebody broke it on purpose */
	DDBLOCK_LOSS_SHUTDOWN,		/* the daemon stopped with it */
	DDBLOCK_LOSS_DISCONNECTED,	/* the connection ended */
	DDBLOCK_LOSS_OTHER,
};

struct ddblock_event {
	enum ddblock_event_kind kind;
	uint64_t id;			/* IN_DANGER, SAFE, LOST */
	int code;			/* IN_DANGER, DISCONNECTED: why */
	enum ddblock_loss loss;		/* LOST */
	uint64_t remaining_ms;
	uint64_t until_boot_ms;
};

typedef void ddblock_event_function(void *arg, struct ddblock *,
    const struct ddblock_event *);

/*
 * Callbacks run inside ddblock_dispatch() and the functions that block, never
 * by themselves. A callback may call the functions that do not block, save
 * ddblock_close() and ddblock_dispatch().
 */
void ddblock_on_event(struct ddblock *, ddblock_event_function *, void *arg);

/*
 * WITHOUT BLOCKING
 *
 * ddblock_fd() is readable (POLLIN) whenever ddblock_dispatch() has something
 * to do: lines from the daemon, room for lines to it, a deadline that passed,
 * after a suspend of the host too. No timer of the caller's is needed. The
 * descriptor is the library's, to be polled and nothing else.
 */
int ddblock_fd(struct ddblock *);	/* or DDBLOCK_E_SYSTEM */

/* The socket itself, to be inherited by a child that shall keep the locks of
 * this connection for as long as it lives; -1 when it is closed. */
int ddblock_socket(const struct ddblock *);

/*
 * Do what can be done at once: read, call back, report losses, write. 0, or,
 * for ever after the connection broke, why.
 */
int ddblock_dispatch(struct ddblock *);

/* The earliest moment (CLOCK_BOOTTIME) at which a hold may be lost, or
 * DDBLOCK_NEVER_MS. ddblock_dispatch() is due no later. */
uint64_t ddblock_next_deadline_ms(const struct ddblock *);

struct ddblock_reply {
	uint64_t request;
	int code;		/* 0, or DDBLOCK_E_* */
	int cause;		/* ACQUIRE_TIMEOUT: what was in the way, or 0 */
	const char *text;	/* for people; may be empty */
	uint64_t id;		/* of the hold, if one was acquired */
	const struct ddblock_row *row;	/* the reply's fields; may be NULL */
};

typedef void ddblock_reply_function(void *arg, struct ddblock *,
    const struct ddblock_reply *);

/*
 * Send a request and return. Unless a negative value is returned, @function
 * (may be NULL) is called exactly once. @ret_request may be NULL.
 *
 * DDBLOCK_E_LIMIT
 *     1,024 requests are unanswered, or 2 MiB unsent.
 * DDBLOCK_E_BAD_REQUEST, DDBLOCK_E_NO_DAEMON, DDBLOCK_E_NOMEM
 */
int ddblock_acquire_start(struct ddblock *, const char *key,
    const struct ddblock_acquire_options *, ddblock_reply_function *function,
    void *arg, uint64_t *ret_request);
int ddblock_release_start(struct ddblock *, uint64_t id,
    ddblock_reply_function *function, void *arg, uint64_t *ret_request);
int ddblock_renew_start(struct ddblock *, uint64_t id,
    ddblock_reply_function *function, void *arg, uint64_t *ret_request);

/* Give up a request that waits. It is still answered: with
 * DDBLOCK_E_CANCELLED, or with a grant that came first. */
int ddblock_cancel(struct ddblock *, uint64_t request);

/*
 * QUERIES
 *
 * They change nothing. Rows, and the fields in them, are those of
 * ddblock-protocol(7).
 */
enum ddblock_query_kind {
	DDBLOCK_QUERY_GET = 1,	/* who holds @key? One row, the final one */
	DDBLOCK_QUERY_LIST,	/* the locks in the store */
	DDBLOCK_QUERY_HELD,	/* what is held through this daemon */
	DDBLOCK_QUERY_WAITING,	/* who waits through this daemon */
	DDBLOCK_QUERY_STATUS,	/* a row per namespace, and the daemon's own */
	DDBLOCK_QUERY_PING,	/* does it answer? */
};

/* @final: this is not a row but the fields of the reply, which comes last. */
typedef void ddblock_row_function(void *arg, const struct ddblock_row *,
    bool final);

struct ddblock_query_options {
	size_t size;		/* of this structure */
	const char *ns;		/* GET; LIST, HELD, WAITING: one, or several
				 * with commas between; NULL: as the daemon
				 * thinks fit */
	const char *key;	/* GET; HELD, WAITING: NULL is any */
	const char *prefix;	/* LIST */
	const char *state;	/* LIST: "free", "held", "dead", or several
				 * with commas between; NULL is any */
	/* LIST: called every second or so with the fields of !LISTING, which
	 * say how far it is; never @final. NULL: not asked for. */
	ddblock_row_function *on_progress;
};

#define DDBLOCK_QUERY_OPTIONS_INIT \
	{ sizeof(struct ddblock_query_options), NULL, NULL, NULL, NULL, NULL }

/* Ask, and have every row given to @function. Blocks. */
int ddblock_query(struct ddblock *, enum ddblock_query_kind,
    const struct ddblock_query_options *, ddblock_row_function *function,
    void *arg);

/* Ask and return; @on_row gets no final row, for @on_reply has it. */
int ddblock_query_start(struct ddblock *, enum ddblock_query_kind,
    const struct ddblock_query_options *, ddblock_row_function *on_row,
    ddblock_reply_function *on_reply, void *arg, uint64_t *ret_request);

/* A field's value (a NUL follows it), or NULL. @ret_length may be NULL. */
const char *ddblock_row_find(const struct ddblock_row *, const char *name,
    size_t *ret_length);

/* The fields in their order: false when there is no such @index. */
bool ddblock_row_at(const struct ddblock_row *, size_t index,
    const char **ret_name, const char **ret_value, size_t *ret_length);

#ifdef __cplusplus
}
#endif

#endif

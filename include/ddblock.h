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
	/* the caller may not do that */
	DDBLOCK_E_DENIED = -14,
	/* a limit is reached */
	DDBLOCK_E_LIMIT = -15,
	/* the request is not understood */
	DDBLOCK_E_BAD_REQUEST = -16,
	/* the daemon or the record format cannot do that */
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
	/* the lock has another token than the one named */
	DDBLOCK_E_WRONG_TOKEN = -30,
	/* the client did not renew the lock */
	DDBLOCK_E_NOT_RENEWED = -31,
	/* this host grants no new locks; try another */
	DDBLOCK_E_DRAINING = -32,
	/* it has run in this period already */
	DDBLOCK_E_NOT_DUE = -33,
};

/* FUNCTIONS
 *
 * A connection may be used by one thread at a time, whichever it is; different
 * connections need no care. (Threads that share one take turns, with a mutex.
 * Waiting for ddblock_fd() to become readable is no use of it.) No function
 * logs, exits, or touches signals. None but those marked "blocks" waits for the
 * daemon. What the library hands out belongs to it and is valid until the next
 * call on the same connection.
 */
struct ddblock;		/* a connection to the daemon */
struct ddblock_row;	/* named fields; lent to a callback until it returns */

/* @final: this is not a row but the fields of the reply, which comes last. */
typedef void ddblock_row_function(void *arg, const struct ddblock_row *,
    bool final);

#define DDBLOCK_SOCKET "/run/ddblockd/ddblockd.sock"
#define DDBLOCK_NEVER_MS UINT64_MAX
#define DDBLOCK_WAIT_FOREVER INT64_MAX

/* Texts that live for ever: "LOCK_BUSY"; a sentence; ddblock(1)'s status. */
const char *ddblock_error_name(int code);
const char *ddblock_error_text(int code);
int ddblock_exit_status(int code);

/*
 * Connect to the daemon at @path (NULL: $DDBLOCK_SOCKET, or else the default).
 * @name names the client, in listings (NULL: the program's name). It waits, 10
 * seconds at most, only while the daemon has more callers than it can greet.
 *
 * DDBLOCK_E_NO_DAEMON
 *     No daemon listens there; errno says more.
 * DDBLOCK_E_BAD_REQUEST
 *     The path does not fit a socket address.
 * DDBLOCK_E_NOMEM, DDBLOCK_E_SYSTEM
 */
int ddblock_open(const char *path, const char *name, struct ddblock **ret);

/* No daemon listens, for this errno, and it is waited for. */
typedef void ddblock_wait_function(void *arg, int error);

struct ddblock_connect_options {
	size_t size;		/* of this structure */
	const char *path;	/* as of ddblock_open() */
	const char *name;
	int resume;		/* connect again, see RESUMING below */
	int64_t wait_ms;	/* for a daemon, if none listens;
				 * DDBLOCK_WAIT_FOREVER */
	int interrupt_fd;	/* ends that wait when it is readable, or -1 */
	ddblock_wait_function *on_wait;	/* called once before it; or NULL */
	void *wait_arg;
};

#define DDBLOCK_CONNECT_OPTIONS_INIT \
	{ sizeof(struct ddblock_connect_options), NULL, NULL, 0, 0, -1, \
	    NULL, NULL }

/*
 * The same, with options. (NULL: as DDBLOCK_CONNECT_OPTIONS_INIT has them.) It
 * waits for wait_ms. Only a socket that does not exist or that nobody listens
 * on is waited for: no other failure goes away by waiting. (One that this user
 * may not connect to is, for two seconds: systemd makes it before it gives it
 * to its group.)
 *
 * DDBLOCK_E_CANCELLED
 *     interrupt_fd became readable.
 * DDBLOCK_E_UNSUPPORTED
 *     This library is older than the options.
 * any other code
 *     As of ddblock_open().
 */
int ddblock_connect(const struct ddblock_connect_options *,
    struct ddblock **ret);

/* Disconnect: the daemon releases every lock of this connection that does not
 * linger. Accepts NULL; must not be called from a callback. */
void ddblock_close(struct ddblock *);

/* Where it is connected to; the namespace of requests that name none; what the
 * last failure was, for people, or "". */
const char *ddblock_path(const struct ddblock *);
const char *ddblock_default_namespace(const struct ddblock *);
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
 * it on. The library keeps it by its own clock and reports the loss itself when
 * the moment passes, whether the daemon is busy, stopped or dead. No other
 * client can hold the lock before the deadline and margin_ms have passed: that
 * is the time to stop whatever still works under the lock.
 *
 * If the connection ends, every hold on it is lost at once: a daemon that lives
 * gives the locks to the next waiters, unless they linger.
 *
 * RESUMING
 *
 * With the option resume the library connects again by itself when the daemon
 * ends the connection, stops or dies: at once, then after pauses of 50 ms up to
 * a second. What a caller sees:
 *
 * - DDBLOCK_EVENT_BROKEN, when the connection broke, DDBLOCK_EVENT_RESUMED,
 *   when there is another one. In between, ddblock_fd() and ddblock_dispatch()
 *   are used as always, and ddblock_dispatch() returns 0.
 * - Meanwhile a hold is good until half a margin before its deadline, because
 *   it is not renewed: so say ddblock_until_boot_ms() and
 *   ddblock_remaining_ms(), and then it is LOST (DDBLOCK_LOSS_DISCONNECTED).
 * - After RESUMED each hold is good, with the same id and token, or LOST: a
 *   daemon that was started again may not know it.
 * - A call that blocks goes on waiting. An acquire is asked again, with what is
 *   left of its wait; ACQUIRE_TIMEOUT, with the cause NO_DAEMON, if that ends
 *   first. Releases, renewals, watches and cancellations are sent again, too.
 *   Only other requests that were sent and not answered fail with
 *   DDBLOCK_E_NO_DAEMON. Requests made meanwhile are sent when it is back.
 * - When no hold is good any more and 30 seconds (or wait_ms, if that is more)
 *   have passed, it gives up: DDBLOCK_EVENT_DISCONNECTED.
 * - The ids of the library remain unique; the fields "id" of rows are the
 *   daemon's, and may be others after a restart.
 *
 * Lost at once, as without the option, are holds that are fail-closed, renewed
 * manually, stay, or are for a process; and all of them when the daemon breaks
 * the protocol, or when another client resumed them. A daemon of an older
 * version keeps only what lingers: without such a hold the first end of the
 * connection is the last.
 *
 * If the process dies or closes the connection, the locks are free at once. A
 * child that inherited ddblock_socket() keeps only that connection open.
 */
enum ddblock_mode {
	DDBLOCK_EXCLUSIVE = 0,	/* one holder */
	DDBLOCK_SHARED,		/* many, but no exclusive one beside them */
};

/*
 * A change of the data and attributes of a lock: its data, bytes of any kind,
 * and attributes. Values that are not named do not change. Only an exclusive
 * holder may change them; names and values have at most 300 KiB in all, and
 * there are at most 32 attributes (else DDBLOCK_E_LIMIT).
 */
struct ddblock_attribute {
	const char *name;	/* 1 to 255 bytes of UTF-8, without a colon */
	const char *value;	/* UTF-8; NULL: take it out */
	int typed;		/* the value is in DynamoDB's JSON */
};

struct ddblock_change {
	size_t size;		/* of this structure */
	const void *data;	/* NULL: they do not change */
	size_t length;		/* of the data; 0: none from now on */
	const struct ddblock_attribute *attributes;
	size_t n_attributes;
	int spare_data;		/* acquire: data only where there are none */
	int clear;		/* values that are not named are removed */
};

#define DDBLOCK_CHANGE_INIT \
	{ sizeof(struct ddblock_change), NULL, 0, NULL, 0, 0, 0 }

/* The fate of a hold when its holder is gone. */
enum ddblock_policy {
	DDBLOCK_FAIL_OPEN = 0,	/* it ends with the connection, or the lease */
	DDBLOCK_FAIL_CLOSED,	/* it stays, until it is released on the same
				 * connection, or broken. It has no deadline:
				 * DDBLOCK_NEVER_MS */
};

struct ddblock_acquire_options {
	size_t size;		/* of this structure */
	const char *ns;		/* namespace; NULL: the daemon's default */
	int64_t wait_ms;	/* 0: do not wait; DDBLOCK_WAIT_FOREVER;
				 * negative: as the daemon is configured, for
				 * ever unless it says otherwise */
	int64_t poll_ms;	/* 0: as the daemon is configured */
	enum ddblock_mode mode;
	uint32_t limit;	/* SHARED: how many may hold it, 1 to 1,000, the same
			 * for all sharers; 0: any number */
	int64_t max_hold_ms;	/* it is lost after so long; 0: never */
	int64_t keepalive_ms;	/* it is lost when this connection sends
				 * nothing for so long; 0: never */
	int64_t danger_ms;	/* IN_DANGER so long after the last renewal; 0:
				 * as the daemon is configured; negative:
				 * never */
	const struct ddblock_change *change;	/* before it is granted; or
						 * NULL */
	int only_if_exists;	/* DDBLOCK_E_NO_SUCH_LOCK if nothing is kept
				 * in it */
	const char *sort;	/* tells apart locks of one key; NULL: "-" */
	enum ddblock_policy policy;
	int renew_manually;	/* it ends with its deadline unless
				 * ddblock_renew() moves that on */
	int reentrant;		/* if it is held so, it is held once more, under
				 * the same id; release it as often */
	/* While it waits in line: called with the fields of !QUEUED, which
	 * say how it stands; never @final. NULL: not asked for. */
	ddblock_row_function *on_queue;
	void *queue_arg;
	int stays;		/* if the connection ends first, it is left to
				 * its deadline, and not renewed */
	const char *owner;	/* what people see, 1 to 255 bytes in one line;
				 * NULL: as configured, else
				 * HOST/NAME:PID USER */
	int64_t linger_ms;	/* it stays for ddblock_resume(); 0: no */
	int process_fd;		/* a pidfd: it ends with that; -1: none */
	int loss_signal;	/* to that; 0: SIGTERM, negative: none */
	int64_t at_least_ms;	/* so long after its grant it stays held,
				 * however early it is released; 0: no longer
				 * than that */
	int64_t every_ms;	/* once in so long, by the store's clock, in
				 * whole seconds: otherwise
				 * DDBLOCK_E_NOT_DUE; 0: at any time */
	int counts_at_end;	/* of that: what is released, and not what is
				 * granted */
};

#define DDBLOCK_ACQUIRE_OPTIONS_INIT \
	{ sizeof(struct ddblock_acquire_options), NULL, -1, 0, \
	    DDBLOCK_EXCLUSIVE, 0, 0, 0, 0, NULL, 0, NULL, DDBLOCK_FAIL_OPEN, \
	    0, 0, NULL, NULL, 0, NULL, 0, -1, 0, 0, \
	    0, 0 }

/*
 * Acquire the lock @key (UTF-8, 1 to 1,024 bytes) and learn the hold's id.
 * @options NULL: as DDBLOCK_ACQUIRE_OPTIONS_INIT has them. Blocks.
 *
 * DDBLOCK_E_LOCK_BUSY, DDBLOCK_E_ACQUIRE_TIMEOUT
 *     Another client has it; after no wait, or after all of it.
 * DDBLOCK_E_WRONG_LIMIT
 *     It is shared, within another limit, and there was no wait.
 * DDBLOCK_E_UNSUPPORTED
 *     A sort value, in a namespace whose table has no sort key.
 * DDBLOCK_E_ALREADY_HELD
 *     This connection has it. To use it in another mode, release it first.
 * DDBLOCK_E_NO_DAEMON
 *     The connection broke, or no answer came in time.
 * any other code
 *     As the daemon said; ddblock_last_text() has its words.
 */
int ddblock_acquire(struct ddblock *, const char *key,
    const struct ddblock_acquire_options *, uint64_t *ret_id);

/*
 * Acquire the locks @keys, in any order and each once, as one hold: all of them
 * or none. They are of one namespace, in the same mode and within the same
 * limit, and have the same sort value. One release gives all back, and when one
 * of them is lost, all are. Blocks.
 *
 * DDBLOCK_E_UNSUPPORTED
 *     A term of its own, or what is kept in a lock: for one lock only.
 * any other code
 *     As of ddblock_acquire(); the reply's field "key" names the lock that was
 *     in the way.
 */
#define DDBLOCK_KEYS_MAX 25

int ddblock_acquire_several(struct ddblock *, const char *const *keys,
    size_t n_keys, const struct ddblock_acquire_options *, uint64_t *ret_id);

/* One lock for exclusive use, with no wait. Blocks. */
int ddblock_try(struct ddblock *, const char *key, const char *ns,
    uint64_t *ret_id);

/*
 * Give a lock back and learn that it happened. The id is void afterwards
 * whatever is returned. Blocks, but not beyond the hold's deadline.
 *
 * DDBLOCK_E_LOCK_LOST, DDBLOCK_E_LOCK_STOLEN
 *     It was not held any more: work under it may have overlapped.
 * DDBLOCK_E_LOCK_NOT_OWNED
 *     There is no such hold.
 */
int ddblock_release(struct ddblock *, uint64_t id);

/*
 * The same as far as it goes: 0 also when it was lost before, or when the store
 * or the daemon does not answer in time. Then @ret_cause (may be NULL) is the
 * code that says so; it is 0 otherwise. Blocks.
 */
int ddblock_release_best_effort(struct ddblock *, uint64_t id,
    int *ret_cause);

/*
 * As far as it goes, all that this connection holds in the namespace @ns, or
 * several with commas between (NULL: in all), however often it holds it.
 * Their ids are void afterwards whatever is returned. Blocks.
 *
 * DDBLOCK_E_BAD_REQUEST
 *     An acquire of this connection is not answered yet; nothing was done.
 */
int ddblock_release_all(struct ddblock *, const char *ns, int *ret_cause);

/*
 * Release what another connection of this user has for its process_fd, or left
 * to it when it ended. If it is there, it is told (DDBLOCK_LOSS_RELEASED).
 * Blocks.
 *
 * DDBLOCK_E_LOCK_NOT_OWNED
 *     It is another user's, or not for a process.
 * DDBLOCK_E_LOCK_LOST
 *     It is lost already.
 */
int ddblock_release_for_process(struct ddblock *, uint64_t id);

/*
 * Turn exclusive use into shared use, within @limit (0: none), without a moment
 * in which it is free. The id does not change, the token is a new one. From the
 * call on, rely on shared use only, whatever is returned. Blocks.
 *
 * DDBLOCK_E_BAD_REQUEST
 *     It is shared already.
 * DDBLOCK_E_UNREACHABLE
 *     Not known yet; the daemon goes on.
 */
int ddblock_downgrade(struct ddblock *, uint64_t id, uint32_t limit);

/* Renew now, without waiting for the daemon's own rhythm. Blocks. */
int ddblock_renew(struct ddblock *, uint64_t id);

/*
 * The same, and first change the data of the lock (DDBLOCK_E_BAD_REQUEST, and
 * nothing else is done, if an attribute's name cannot be one). Without an
 * answer, or with an error about the store, it may have been changed or not;
 * the release goes on all the same, also if the change is refused. Both block.
 */
int ddblock_release_change(struct ddblock *, uint64_t id,
    const struct ddblock_change *);
int ddblock_renew_change(struct ddblock *, uint64_t id,
    const struct ddblock_change *);

/*
 * What was kept in the lock when it was granted, as the fields "data",
 * "attr.NAME" and "attr.NAME:json", but for what the acquire brought itself.
 * NULL: nothing. Unlike other rows it is valid until the hold is released.
 */
const struct ddblock_row *ddblock_found(const struct ddblock *, uint64_t id);

/*
 * Of a hold, without asking the daemon: its fencing token, which rises with
 * every grant of the lock anywhere (the first lock's, or @key's; 0: none, or
 * from 2^53 on, which is in the text, otherwise NULL); its deadline; how long
 * until then (0: lost, or there is no such hold); and the margin after it.
 */
uint64_t ddblock_token(const struct ddblock *, uint64_t id);
uint64_t ddblock_token_of(const struct ddblock *, uint64_t, const char *key);
const char *ddblock_token_text(const struct ddblock *, uint64_t,
    const char *key);
uint64_t ddblock_until_boot_ms(const struct ddblock *, uint64_t id);
uint64_t ddblock_remaining_ms(const struct ddblock *, uint64_t id);
uint64_t ddblock_margin_ms(const struct ddblock *, uint64_t id);

/*
 * Have what lingers under the ids that it had, before anything is acquired. The
 * old connection ends. @on_row (or NULL) gets each lock's "id", "key", "token",
 * "state", perhaps "reason". Blocks. The secret (or NULL) is known since an
 * acquire with linger_ms, also of a connection that has ended.
 */
int ddblock_resume(struct ddblock *, const char *secret,
    ddblock_row_function *on_row, void *arg);
const char *ddblock_secret(const struct ddblock *);

/*
 * Take a lock from all its holders. Administrators only. @ns and @sort may be
 * NULL, as with an acquire. @token is the lock's as ddblock_query() showed it:
 * later holders are not broken. @reason (one line of UTF-8, at most 200 bytes)
 * is kept in the record and the daemon's log. A broken holder may go on working
 * for a while: its daemon hears of it with its next audit. Blocks.
 *
 * DDBLOCK_E_DENIED
 *     Only root and the daemon's admin_group may.
 * DDBLOCK_E_WRONG_TOKEN
 *     It has another holder now; ddblock_last_text() names the token.
 * DDBLOCK_E_NO_SUCH_LOCK It is free. DDBLOCK_E_UNREACHABLE
 *     It may be broken, or may yet be.
 */
int ddblock_break(struct ddblock *, const char *key, const char *ns,
    const char *sort, uint64_t token, const char *reason);
/* In an older client's format: by the "record" that was shown. Blocks. */
int ddblock_break_record(struct ddblock *, const char *key, const char *ns,
    const char *sort, const char *record, const char *reason);

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
	DDBLOCK_EVENT_BROKEN,		/* but it tries again; holds are good
					 * until until_boot_ms, the first */
	DDBLOCK_EVENT_RESUMED,		/* and it is back */
};

enum ddblock_loss {
	DDBLOCK_LOSS_EXPIRED = 1,	/* the deadline passed */
	DDBLOCK_LOSS_STOLEN,		/* its record was changed */
	DDBLOCK_LOSS_BROKEN,		/* somebody broke it on purpose */
	DDBLOCK_LOSS_SHUTDOWN,		/* the daemon stopped with it */
	DDBLOCK_LOSS_DISCONNECTED,	/* the connection ended */
	DDBLOCK_LOSS_OTHER, DDBLOCK_LOSS_MAX_HOLD, /* held for max_hold_ms */
	DDBLOCK_LOSS_KEEPALIVE,		/* nothing was sent for keepalive_ms */
	DDBLOCK_LOSS_CUT_OFF,	/* the daemon ends this connection */
	DDBLOCK_LOSS_RELEASED,	/* by ddblock_release_for_process() */
};

struct ddblock_event {
	enum ddblock_event_kind kind;
	uint64_t id;			/* IN_DANGER, SAFE, LOST */
	int code;		/* IN_DANGER, DISCONNECTED, BROKEN: why */
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
 * this connection for as long as it lives; -1 when it is closed. What a child
 * of another user writes there is not read. */
int ddblock_socket(const struct ddblock *);

/*
 * Do what can be done at once: read, call back, report losses, write. 0, or,
 * for ever after the connection broke, why.
 */
int ddblock_dispatch(struct ddblock *);

/* The earliest moment (CLOCK_BOOTTIME) at which a hold may be lost, or a broken
 * connection is tried again, or DDBLOCK_NEVER_MS. ddblock_dispatch() is due no
 * later. */
uint64_t ddblock_next_deadline_ms(const struct ddblock *);

struct ddblock_reply {
	uint64_t request;
	int code;		/* 0, or DDBLOCK_E_* */
	int cause;		/* ACQUIRE_TIMEOUT: what was in the way; a
				 * release as far as it goes: what failed; or
				 * 0 */
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
int ddblock_acquire_several_start(struct ddblock *, const char *const *keys,
    size_t n_keys, const struct ddblock_acquire_options *,
    ddblock_reply_function *function, void *arg, uint64_t *ret_request);
int ddblock_release_start(struct ddblock *, uint64_t id,
    ddblock_reply_function *function, void *arg, uint64_t *ret_request);
int ddblock_release_best_effort_start(struct ddblock *, uint64_t id,
    ddblock_reply_function *function, void *arg, uint64_t *ret_request);
int ddblock_release_all_start(struct ddblock *, const char *ns,
    ddblock_reply_function *function, void *arg, uint64_t *ret_request);
int ddblock_downgrade_start(struct ddblock *, uint64_t id, uint32_t limit,
    ddblock_reply_function *function, void *arg, uint64_t *ret_request);
int ddblock_resume_start(struct ddblock *, const char *secret,
    ddblock_row_function *on_row, ddblock_reply_function *on_reply, void *arg,
    uint64_t *ret_request);
int ddblock_renew_start(struct ddblock *, uint64_t id,
    ddblock_reply_function *function, void *arg, uint64_t *ret_request);
int ddblock_release_change_start(struct ddblock *, uint64_t id,
    const struct ddblock_change *, ddblock_reply_function *function,
    void *arg, uint64_t *ret_request);
int ddblock_renew_change_start(struct ddblock *, uint64_t id,
    const struct ddblock_change *, ddblock_reply_function *function,
    void *arg, uint64_t *ret_request);
int ddblock_break_start(struct ddblock *, const char *key, const char *ns,
    const char *sort, uint64_t token, const char *reason,
    ddblock_reply_function *function, void *arg, uint64_t *ret_request);

/* Give up a request that waits. It is still answered: with
 * DDBLOCK_E_CANCELLED, or with a grant that came first. */
int ddblock_cancel(struct ddblock *, uint64_t request);

/* QUERIES
 *
 * DRAIN, UNDRAIN and RAISE are orders. Rows and their fields are in
 * ddblock-protocol(7). */
enum ddblock_query_kind {
	DDBLOCK_QUERY_GET = 1,	/* who holds @key? One row, the final one */
	DDBLOCK_QUERY_LIST,	/* the locks in the store */
	DDBLOCK_QUERY_HELD,	/* what is held through this daemon */
	DDBLOCK_QUERY_WAITING,	/* who waits through this daemon */
	DDBLOCK_QUERY_STATUS,	/* a row per namespace, and the daemon's own */
	DDBLOCK_QUERY_PING,	/* does it answer? */
	DDBLOCK_QUERY_CHECK,	/* have the stores all that they need? */
	DDBLOCK_QUERY_DRAIN,	/* no new locks; one row: how many are held */
	DDBLOCK_QUERY_UNDRAIN,	/* and again */
	DDBLOCK_QUERY_ACCESS,	/* what may a user do, by which rule? */
	DDBLOCK_QUERY_RAISE,	/* a higher token for the record of @key */
	DDBLOCK_QUERY_METRICS,	/* what was counted; a line of text each */
};

struct ddblock_query_options {
	size_t size;		/* of this structure */
	const char *ns;		/* GET; of the others one, or several ("a,b");
				 * NULL: the daemon's own */
	const char *key;	/* GET; HELD, WAITING: NULL is any; ACCESS: NULL
				 * is all that no rule names */
	const char *prefix;	/* LIST */
	const char *state;	/* LIST: "free", "held", "dead"; HELD: "held",
				 * "danger", "lost"; or several with commas
				 * between; NULL is any */
	/* LIST: called every second or so with the fields of !LISTING, which
	 * say how far it is; never @final. NULL: not asked for. */
	ddblock_row_function *on_progress;
	const char *sort;	/* GET: of the lock, NULL is "-"; LIST, HELD,
				 * WAITING: of the locks, NULL is any */
	const char *uid;	/* ACCESS: its number, */
	const char *groups;	/* and those of its groups: "4,100"; or NULL */
	const char *unit;	/* ACCESS: of its process; NULL: none */
	const char *to;		/* RAISE: the least token; NULL: the time */
};

#define DDBLOCK_QUERY_OPTIONS_INIT \
	{ sizeof(struct ddblock_query_options), NULL, NULL, NULL, NULL, \
	    NULL, NULL, NULL, NULL, NULL, NULL }

/* Ask, and have every row given to @function. Blocks. */
int ddblock_query(struct ddblock *, enum ddblock_query_kind,
    const struct ddblock_query_options *, ddblock_row_function *function,
    void *arg);

/* Ask and return; @on_row gets no final row, for @on_reply has it. */
int ddblock_query_start(struct ddblock *, enum ddblock_query_kind,
    const struct ddblock_query_options *, ddblock_row_function *on_row,
    ddblock_reply_function *on_reply, void *arg, uint64_t *ret_request);

/*
 * WATCHES
 *
 * The state of a lock, and each change of it: for followers of a leader.
 * @on_change is called with the fields of a GET (of !CHANGED, later), first
 * with the daemon's answer, then whenever the holder is another, is gone or
 * dead, or when that is not known any more (state=unknown). After a gap
 * (RESUMING) the present state comes again; if the next daemon refuses the
 * watch, it is over, and @on_change is called once more, @final, with no such
 * fields.
 * Changes in quick succession may come as one, but the last is never left out.
 * The data of the lock are not among the fields, but a change of them is such a
 * change: DDBLOCK_QUERY_GET, asked after each, has it. A connection watches a
 * lock once; a watch ends with the connection.
 *
 * DDBLOCK_E_BAD_REQUEST
 *     It does so already.
 * DDBLOCK_E_LIMIT
 *     It watches too many.
 * any other code
 *     As the daemon said: it could not look, and does not watch.
 */

/* Blocks, until @on_change was called for the first time. */
int ddblock_watch(struct ddblock *, const char *key, const char *ns,
    const char *sort, ddblock_row_function *on_change, void *arg);

/* The same without blocking. @on_reply (may be NULL) comes after the first
 * @on_change, or says why there is none. */
int ddblock_watch_start(struct ddblock *, const char *key, const char *ns,
    const char *sort, ddblock_row_function *on_change,
    ddblock_reply_function *on_reply, void *arg, uint64_t *ret_request);

/* No more @on_change. DDBLOCK_E_NO_SUCH_LOCK: it was not watched. */
int ddblock_unwatch(struct ddblock *, const char *key, const char *ns,
    const char *sort);

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

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
};

/* LIBRARY FUNCTIONS */

#ifdef __cplusplus
}
#endif

#endif

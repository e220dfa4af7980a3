/*
 * The binary interface of libddblock, as the first release with this SONAME has
 * it (doc/compatibility.md). A program that was compiled then has these numbers
 * in it: so a row here never changes, and what is new gets rows of its own when
 * it is released. Nothing here is code.
 *
 * A structure that a program fills in may grow at its end, because it begins
 * with the size that the program knows. A new field begins where the structure
 * ended before, and not in bytes that only filled it up: an older program may
 * have left anything in those.
 *
 * That no function goes away, the package's list of symbols says.
 */
#include <stddef.h>
#include <stdint.h>

#include "ddblock.h"

/* Other processors have other sizes, and the same rule. */
#if UINTPTR_MAX == UINT64_MAX

#define FIELD(structure, field, offset)                                        \
	_Static_assert(offsetof(struct structure, field) == (offset),          \
	    #structure "." #field " has moved")
/* Handed in with its size, or handed out: it may grow. */
#define AT_LEAST(structure, bytes)                                             \
	_Static_assert(sizeof(struct structure) >= (bytes),                    \
	    #structure " has shrunk")
/* Part of an array: it may not. */
#define EXACTLY(structure, bytes)                                              \
	_Static_assert(sizeof(struct structure) == (bytes),                    \
	    #structure " has another size")

AT_LEAST(ddblock_connect_options, 64);
FIELD(ddblock_connect_options, size, 0);
FIELD(ddblock_connect_options, path, 8);
FIELD(ddblock_connect_options, name, 16);
FIELD(ddblock_connect_options, resume, 24);
FIELD(ddblock_connect_options, wait_ms, 32);
FIELD(ddblock_connect_options, interrupt_fd, 40);
FIELD(ddblock_connect_options, on_wait, 48);
FIELD(ddblock_connect_options, wait_arg, 56);

EXACTLY(ddblock_attribute, 24);
FIELD(ddblock_attribute, name, 0);
FIELD(ddblock_attribute, value, 8);
FIELD(ddblock_attribute, typed, 16);

AT_LEAST(ddblock_change, 48);
FIELD(ddblock_change, size, 0);
FIELD(ddblock_change, data, 8);
FIELD(ddblock_change, length, 16);
FIELD(ddblock_change, attributes, 24);
FIELD(ddblock_change, n_attributes, 32);
FIELD(ddblock_change, spare_data, 40);
FIELD(ddblock_change, clear, 44);

AT_LEAST(ddblock_acquire_options, 176);
FIELD(ddblock_acquire_options, size, 0);
FIELD(ddblock_acquire_options, ns, 8);
FIELD(ddblock_acquire_options, wait_ms, 16);
FIELD(ddblock_acquire_options, poll_ms, 24);
FIELD(ddblock_acquire_options, mode, 32);
FIELD(ddblock_acquire_options, limit, 36);
FIELD(ddblock_acquire_options, max_hold_ms, 40);
FIELD(ddblock_acquire_options, keepalive_ms, 48);
FIELD(ddblock_acquire_options, danger_ms, 56);
FIELD(ddblock_acquire_options, change, 64);
FIELD(ddblock_acquire_options, only_if_exists, 72);
FIELD(ddblock_acquire_options, sort, 80);
FIELD(ddblock_acquire_options, policy, 88);
FIELD(ddblock_acquire_options, renew_manually, 92);
FIELD(ddblock_acquire_options, reentrant, 96);
FIELD(ddblock_acquire_options, on_queue, 104);
FIELD(ddblock_acquire_options, queue_arg, 112);
FIELD(ddblock_acquire_options, stays, 120);
FIELD(ddblock_acquire_options, owner, 128);
FIELD(ddblock_acquire_options, linger_ms, 136);
FIELD(ddblock_acquire_options, process_fd, 144);
FIELD(ddblock_acquire_options, loss_signal, 148);
FIELD(ddblock_acquire_options, at_least_ms, 152);
FIELD(ddblock_acquire_options, every_ms, 160);
FIELD(ddblock_acquire_options, counts_at_end, 168);

AT_LEAST(ddblock_event, 40);
FIELD(ddblock_event, kind, 0);
FIELD(ddblock_event, id, 8);
FIELD(ddblock_event, code, 16);
FIELD(ddblock_event, loss, 20);
FIELD(ddblock_event, remaining_ms, 24);
FIELD(ddblock_event, until_boot_ms, 32);

AT_LEAST(ddblock_reply, 40);
FIELD(ddblock_reply, request, 0);
FIELD(ddblock_reply, code, 8);
FIELD(ddblock_reply, cause, 12);
FIELD(ddblock_reply, text, 16);
FIELD(ddblock_reply, id, 24);
FIELD(ddblock_reply, row, 32);

AT_LEAST(ddblock_query_options, 88);
FIELD(ddblock_query_options, size, 0);
FIELD(ddblock_query_options, ns, 8);
FIELD(ddblock_query_options, key, 16);
FIELD(ddblock_query_options, prefix, 24);
FIELD(ddblock_query_options, state, 32);
FIELD(ddblock_query_options, on_progress, 40);
FIELD(ddblock_query_options, sort, 48);
FIELD(ddblock_query_options, uid, 56);
FIELD(ddblock_query_options, groups, 64);
FIELD(ddblock_query_options, unit, 72);
FIELD(ddblock_query_options, to, 80);

#endif

/* Numbers, each used once. (Those of errors: src/common/err.def.) */
#define NUMBER(name, value)                                                    \
	_Static_assert((name) == (value), #name " is another number")

NUMBER(DDBLOCK_EXCLUSIVE, 0);
NUMBER(DDBLOCK_SHARED, 1);
NUMBER(DDBLOCK_FAIL_OPEN, 0);
NUMBER(DDBLOCK_FAIL_CLOSED, 1);
NUMBER(DDBLOCK_EVENT_IN_DANGER, 1);
NUMBER(DDBLOCK_EVENT_SAFE, 2);
NUMBER(DDBLOCK_EVENT_LOST, 3);
NUMBER(DDBLOCK_EVENT_SHUTDOWN, 4);
NUMBER(DDBLOCK_EVENT_DISCONNECTED, 5);
NUMBER(DDBLOCK_EVENT_BROKEN, 6);
NUMBER(DDBLOCK_EVENT_RESUMED, 7);
NUMBER(DDBLOCK_LOSS_EXPIRED, 1);
NUMBER(DDBLOCK_LOSS_STOLEN, 2);
NUMBER(DDBLOCK_LOSS_BROKEN, 3);
NUMBER(DDBLOCK_LOSS_SHUTDOWN, 4);
NUMBER(DDBLOCK_LOSS_DISCONNECTED, 5);
NUMBER(DDBLOCK_LOSS_OTHER, 6);
NUMBER(DDBLOCK_LOSS_MAX_HOLD, 7);
NUMBER(DDBLOCK_LOSS_KEEPALIVE, 8);
NUMBER(DDBLOCK_LOSS_CUT_OFF, 9);
NUMBER(DDBLOCK_LOSS_RELEASED, 10);
NUMBER(DDBLOCK_QUERY_GET, 1);
NUMBER(DDBLOCK_QUERY_LIST, 2);
NUMBER(DDBLOCK_QUERY_HELD, 3);
NUMBER(DDBLOCK_QUERY_WAITING, 4);
NUMBER(DDBLOCK_QUERY_STATUS, 5);
NUMBER(DDBLOCK_QUERY_PING, 6);
NUMBER(DDBLOCK_QUERY_CHECK, 7);
NUMBER(DDBLOCK_QUERY_DRAIN, 8);
NUMBER(DDBLOCK_QUERY_UNDRAIN, 9);
NUMBER(DDBLOCK_QUERY_ACCESS, 10);
NUMBER(DDBLOCK_QUERY_RAISE, 11);
NUMBER(DDBLOCK_QUERY_METRICS, 12);

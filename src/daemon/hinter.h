/*
 * The daemon's hints (proto/hints.md): brings together what knows of locks (the
 * core), of keys and peers (hints/hints.h), and of datagrams.
 *
 * Sessions have a public key and an address, their contact, which goes into
 * their items with the operations that open and renew them, and is read with
 * other hosts' sessions: so the hinter sees each operation that goes to a
 * store, and each outcome.
 */
#ifndef DDBLOCKD_DAEMON_HINTER_H
#define DDBLOCKD_DAEMON_HINTER_H

#include "core/core.h"
#include "daemon/config.h"
#include "hints/hints.h"

struct event_base;
struct hinter;

struct hinter_calls {
	/* CORE_HINTED and CORE_STRANGER: from the loop. */
	void (*step)(void *arg, struct core_event *);
	/* A PONG with this digest, from that session. */
	void (*pong)(void *arg, const struct hint_id *sender,
	    uint64_t digest);
};

/*
 * As it is configured; NULL if there are to be no hints. An address that is in
 * use (by the daemon that this one takes the place of) is tried again.
 *
 * DDBLOCK_E_NOMEM, DDBLOCK_E_SYSTEM
 */
int hinter_new(struct event_base *, const struct config_daemon *,
    const struct hinter_calls *, void *arg, struct hinter **ret);
void hinter_free(struct hinter *);	/* accepts NULL; after the stores */

/* Are there hints in this namespace? */
bool hinter_serves(const struct hinter *, const struct config_namespace *);

/* Before an operation goes to its store, and when its outcome has come. */
void hinter_submitting(struct hinter *, struct operation *);
void hinter_stored(struct hinter *, const struct operation *,
    const struct outcome *);

/* Send it, now or when it is known where to. */
void hinter_perform(struct hinter *, const struct core_hint *);

/* Do other hosts know where a session of this namespace hears? */
bool hinter_is_known(const struct hinter *, uint32_t namespace_index);

/* Is it a session of ours? */
bool hinter_is_own(const struct hinter *, struct ident session);

/*
 * Ask a host whether it hears us, by the contact of its session:
 * hinter_calls.pong.
 *
 * DDBLOCK_E_BAD_REQUEST: none of ours is known to others. Errors of
 * hints_add_peer() and hint_socket_send(), too.
 */
int hinter_ping(struct hinter *, uint32_t namespace_index,
    const struct hint_party *, const struct hint_address *, uint64_t digest);

struct hint_id hinter_id(struct ident);

struct hinter_view {
	const char *address;	/* that others are told; "": none yet */
	struct hint_address own;	/* of the socket, */
	struct hint_address public;	/* and as others are told it */
	uint32_t n_peers;
	const struct hints_counters *counters;
};
void hinter_view(const struct hinter *, struct hinter_view *ret);

#endif

/*
 * The peers of our sessions: found by the two ids, in a table whose size never
 * changes, and in the order of their last use, so that when there are too many
 * the one used longest ago gives way.
 */
#ifndef DDBLOCKD_HINTS_HINT_PEERS_H
#define DDBLOCKD_HINTS_HINT_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/siphash.h"
#include "hints/hint_address.h"
#include "hints/hint_keys.h"
#include "hints/hint_rate.h"
#include "hints/hint_window.h"

struct hint_session;	/* of ours; hints.c */

enum hint_peer_state {
	HINT_PEER_NEW,		/* its keys are derived when they are needed */
	HINT_PEER_READY,
	HINT_PEER_UNUSABLE,	/* its public key gives none */
};

struct hint_peer {
	struct hint_peer *prev, *next;	/* by last use */
	struct hint_peer *chain;
	struct hint_session *session;
	struct hint_id session_id;
	struct hint_party party;
	struct hint_address address;
	enum hint_address_verdict verdict;	/* on the address */
	enum hint_peer_state state;
	struct hint_pair keys;
	struct hint_window window;
	struct hint_bucket bucket;
};

struct hint_peers {
	struct siphash_key key;
	struct hint_peer **chains;
	size_t n_chains;	/* a power of two */
	uint32_t n;
	uint32_t max;
	struct hint_peer *line;	/* the first was used longest ago */
};

/* DDBLOCK_E_NOMEM */
int hint_peers_init(struct hint_peers *, const struct siphash_key *,
    uint32_t max);
void hint_peers_done(struct hint_peers *);	/* zeroed is fine, too */

struct hint_peer *hint_peers_find(const struct hint_peers *,
    const struct hint_id *session, const struct hint_id *peer);

/* One that is not there; another gives way if there are too many, and then
 * *@ret_evicted is true. NULL: no memory. */
struct hint_peer *hint_peers_add(struct hint_peers *,
    const struct hint_id *session, const struct hint_id *peer,
    bool *ret_evicted);
void hint_peers_forget(struct hint_peers *, struct hint_peer *);
void hint_peers_forget_session(struct hint_peers *,
    const struct hint_session *);

/* It is in use. */
void hint_peers_touch(struct hint_peers *, struct hint_peer *);

#endif

/*
 * Hints between daemons (pure; proto/hints.md): "a lock was released, you are
 * next", so that a hand-over takes a round trip instead of a poll.
 *
 * A hint only ever causes a read. It never grants and never loses, and nothing
 * depends on its arrival: one that is lost, late, forged or repeated costs
 * time. This layer knows of no locks. It says who may be believed, how often,
 * and where a datagram may go; hint_socket.h is the socket.
 *
 * The user of it:
 *
 *  1. makes one for the socket's address, with limits;
 *  2. adds each of its sessions, with 32 random bytes, and puts the public key
 *     that it gets and the address that others reach it at into the session's
 *     item. A session that a new process took over has a new key there;
 *  3. adds a session of another host as a peer when its item was read anyway:
 *     the holder's when a wait begins, the first waiter's when its mark is
 *     seen;
 *  4. knows what each digest of a hint stands for (core/lock/hint.c), and has
 *     the store asked for that lock, as if its poll were due;
 *  5. forgets a session when it has ended.
 *
 * Times are boot-time milliseconds. Ids are those of session items.
 */
#ifndef DDBLOCKD_HINTS_HINTS_H
#define DDBLOCKD_HINTS_HINTS_H

#include <stddef.h>
#include <stdint.h>

#include "common/siphash.h"
#include "hints/hint_address.h"
#include "hints/hint_format.h"
#include "hints/hint_keys.h"
#include "hints/hint_rate.h"

#define HINTS_SESSIONS_MAX 256	/* ours; a namespace may have two for a time */

struct hints;

struct hints_limits {
	uint32_t peers_max;	/* the one used longest ago gives way */
	struct hint_rate peer;		/* looked at, from each peer */
	struct hint_rate unknown;	/* told of, of all strangers and
					 * forgers */
	struct hint_rate address;	/* sent to one IP address */
	struct hint_rate all;		/* sent */
};

extern const struct hints_limits hints_limits_default;

/* What happened to datagrams, each in one figure of its direction. */
struct hints_counters {
	uint64_t sent;
	uint64_t unsent_rate;	/* too many to this address, or in all */
	uint64_t unsent_peer;	/* its address or its key is of no use */
	uint64_t failed;		/* of those sent: the socket did not */

	uint64_t accepted;
	uint64_t malformed;	/* not a hint, or none of this version */
	uint64_t not_ours;	/* for a session that is not ours */
	uint64_t unknown;	/* from a session that is not a peer */
	uint64_t over_rate;
	uint64_t forged;	/* not sealed with our common key */
	uint64_t replayed;
	uint64_t late;		/* perhaps replayed: before the window */

	uint64_t evicted;	/* peers that gave way */
};

enum hint_verdict {
	HINT_ACCEPTED,
	HINT_MALFORMED,
	HINT_NOT_OURS,
	HINT_UNKNOWN,
	HINT_OVER_RATE,
	HINT_FORGED,
	HINT_REPLAYED,
	HINT_LATE,
};

struct hint {
	struct hint_head head;	/* unless malformed; believed if accepted */
	struct hint_body body;	/* if accepted */
	bool look;	/* UNKNOWN, FORGED: the sender's item may be read, where
			 * it may have another key by now */
};

/*
 * @own is the address of the socket, which decides where one can send to. @key:
 * random bits. All is copied.
 *
 * DDBLOCK_E_NOMEM, DDBLOCK_E_SYSTEM
 */
int hints_new(const struct hints_limits *, const struct hint_address *own,
    const struct siphash_key *, struct hints **ret);
void hints_free(struct hints *);	/* all keys are wiped */

struct hints_counters *hints_counters(struct hints *);
uint32_t hints_n_peers(const struct hints *);	/* of all sessions */

/*
 * A session of ours begins. @random is its private key, used for this session
 * in this process only; the caller wipes it.
 *
 * DDBLOCK_E_BAD_REQUEST
 *     It is there.
 * DDBLOCK_E_LIMIT
 *     There are HINTS_SESSIONS_MAX.
 * DDBLOCK_E_NOMEM, DDBLOCK_E_SYSTEM
 */
int hints_add_session(struct hints *, const struct hint_id *,
    const uint8_t random[HINT_KEY_BYTES], uint8_t ret_public[HINT_KEY_BYTES]);

/* With its peers. One that is not there is fine. */
void hints_forget_session(struct hints *, const struct hint_id *);

/*
 * One of our sessions knows another host's, by what stands in its item. The
 * same again changes nothing; another address is used from now on; with another
 * key all begins again: its session was taken over by a new process.
 *
 * DDBLOCK_E_BAD_REQUEST
 *     @session is none of ours, or the peer is.
 * DDBLOCK_E_NOMEM
 */
int hints_add_peer(struct hints *, const struct hint_id *session,
    const struct hint_party *peer, const struct hint_address *);
void hints_forget_peer(struct hints *, const struct hint_id *session,
    const struct hint_id *peer);

/*
 * A hint for a peer, to be sent to *@ret_to.
 *
 * DDBLOCK_E_BAD_REQUEST
 *     The peer is not known, or the body is not sound.
 * DDBLOCK_E_DENIED
 *     Nothing is sent to such an address.
 * DDBLOCK_E_LIMIT
 *     A rate is reached. It is no reason to wait: the peer polls.
 * DDBLOCK_E_UNSUPPORTED
 *     The peer's public key is of no use.
 * DDBLOCK_E_SYSTEM
 */
int hints_encode(struct hints *, const struct hint_id *session,
    const struct hint_id *peer, const struct hint_body *, uint64_t now_ms,
    uint8_t ret[HINT_BYTES], struct hint_address *ret_to);

/*
 * What is a datagram? Where it came from does not matter, and an answer goes to
 * the peer's address: so no host is made to receive what it did not ask for.
 *
 * HINT_UNKNOWN, HINT_FORGED: @ret->head says who it claims to be. To read that
 * session's item is up to the caller, and limited by the rate of strangers.
 */
enum hint_verdict hints_decode(struct hints *, const void *bytes,
    size_t length, uint64_t now_ms, struct hint *ret);

#endif

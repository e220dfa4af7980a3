/*
 * The keys of hints, on libcrypto. Two sessions have a secret in common that
 * stands nowhere: each has an X25519 key pair (RFC 7748), whose public half is
 * in its item. HKDF-SHA256 (RFC 5869) makes of it a key for each direction, and
 * ChaCha20-Poly1305 (RFC 8439) seals with it.
 *
 * Each number of a sequence is used once with a key: hints.c counts all that a
 * session sends in one sequence, and a private key is in one process only.
 */
#ifndef DDBLOCKD_HINTS_HINT_KEYS_H
#define DDBLOCKD_HINTS_HINT_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hints/hint_format.h"

#define HINT_KEY_BYTES 32	/* of each kind */

struct evp_pkey_st;

/* The algorithms: to look one up costs libcrypto more than to use it. */
struct hint_crypto;

int hint_crypto_new(struct hint_crypto **ret);
void hint_crypto_free(struct hint_crypto *);

/* Forget the keys that were used last. */
void hint_crypto_wipe(struct hint_crypto *);

/* A session, as all others see it. */
struct hint_party {
	struct hint_id id;
	uint8_t public_key[HINT_KEY_BYTES];
};

/* A session of ours. */
struct hint_identity {
	struct hint_party party;
	struct evp_pkey_st *private_key;
};

/* @random is the private key; the caller wipes it. DDBLOCK_E_SYSTEM */
int hint_identity_init(struct hint_identity *, const struct hint_id *,
    const uint8_t random[HINT_KEY_BYTES]);

/* Zeroed is fine, too. Its private key is wiped. */
void hint_identity_done(struct hint_identity *);

/* Between one of our sessions and a peer. */
struct hint_pair {
	uint8_t to_peer[HINT_KEY_BYTES];
	uint8_t from_peer[HINT_KEY_BYTES];
};

/*
 * DDBLOCK_E_BAD_REQUEST
 *     The peer's public key gives no secret: it is of small order.
 * DDBLOCK_E_SYSTEM
 */
int hint_keys_derive(struct hint_crypto *, const struct hint_identity *,
    const struct hint_party *peer, struct hint_pair *ret);
void hint_keys_wipe(struct hint_pair *);

/* In place: head and body become a hint. DDBLOCK_E_SYSTEM */
int hint_keys_seal(struct hint_crypto *, const uint8_t key[HINT_KEY_BYTES],
    uint64_t sequence, uint8_t hint[HINT_BYTES]);

/* False: it was not sealed like this with this key. */
bool hint_keys_open(struct hint_crypto *, const uint8_t key[HINT_KEY_BYTES],
    uint64_t sequence, const uint8_t hint[HINT_BYTES],
    uint8_t ret_body[HINT_BODY_BYTES]);

#endif

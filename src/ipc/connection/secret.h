/*
 * What is secret, in a journal that tells none of it: of secrets the digest,
 * and what they are sealed to; bytes that were read or are to be sent,
 * enciphered.
 * The key is in the memory that is kept beside the connections (wire.h), and
 * nowhere else. Without such memory nothing is sealed.
 */
#ifndef DDBLOCKD_IPC_CONNECTION_SECRET_H
#define DDBLOCKD_IPC_CONNECTION_SECRET_H

#include "ipc/connection/connection.h"

/* What follows from the clear one. DDBLOCK_E_SYSTEM */
int secret_learn(const struct server *, struct ident clear,
    struct core_secret *ret);

/* The clear one; false: nobody here knows it. */
bool secret_reveal(const struct server *, const struct core_secret *,
    struct ident *ret);

/* Turn these bytes into others, or back, with a nonce for nothing else. False:
 * it cannot be done, and they are as they were. */
#define SECRET_NONCE 16
bool secret_hides(const struct server *);
bool secret_nonce(struct server *, uint8_t ret[SECRET_NONCE]);
bool secret_turn(struct server *, const uint8_t nonce[SECRET_NONCE],
    const void *from, void *to, size_t length);

void secret_stop(struct server *);

#endif

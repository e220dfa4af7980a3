/*
 * What a client resumes its holds by: 128 random bits. The core compares
 * digests. In a journal is the digest, and the secret sealed by a key that is
 * not there (ipc/connection/secret.h).
 */
#ifndef DDBLOCKD_CORE_SECRET_H
#define DDBLOCKD_CORE_SECRET_H

#include <stdint.h>

#include "core/ident.h"

#define CORE_SECRET_DIGEST 32

struct core_secret {
	struct ident clear;	/* none: this process does not know it */
	uint8_t digest[CORE_SECRET_DIGEST];
	struct ident sealed;	/* none: it is not */
};

#endif

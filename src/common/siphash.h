/*
 * SipHash-2-4 (Aumasson and Bernstein 2012), for bytes that others choose.
 * Without the key they cannot choose them so that they get one hash.
 */
#ifndef DDBLOCKD_COMMON_SIPHASH_H
#define DDBLOCKD_COMMON_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

/* Random bits, and nothing that is shown to others follows from them. */
struct siphash_key {
	uint64_t words[2];
};

uint64_t siphash(const struct siphash_key *, const void *, size_t length);

#endif

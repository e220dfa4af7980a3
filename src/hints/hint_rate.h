/*
 * How many datagrams a second: to or from one peer, to one address, of all
 * unknown senders. A bucket is one number, the time at which it is full again.
 */
#ifndef DDBLOCKD_HINTS_HINT_RATE_H
#define DDBLOCKD_HINTS_HINT_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/siphash.h"
#include "hints/hint_address.h"

struct hint_rate {
	uint32_t per_second;	/* 0: none ever */
	uint32_t at_once;	/* after a pause */
};

/* Zeroed: full. */
struct hint_bucket {
	uint64_t full_ns;
};

/* Take one; false: there is none. */
bool hint_rate_take(struct hint_bucket *, const struct hint_rate *,
    uint64_t now_ms);

#define HINT_TARGET_SETS 256
#define HINT_TARGET_WAYS 4

/*
 * What was sent to each address, whatever the port and the number of sessions
 * that name it: so a table full of sessions with a victim's address is no
 * weapon. An address whose bucket is full again needs no place here, so a place
 * is free after a moment; where none is, nothing is sent.
 */
struct hint_targets {
	struct siphash_key key;
	struct hint_target {
		uint8_t ip[HINT_IP_BYTES];
		struct hint_bucket bucket;
	} targets[HINT_TARGET_SETS][HINT_TARGET_WAYS];
};

bool hint_targets_take(struct hint_targets *, const uint8_t ip[HINT_IP_BYTES],
    const struct hint_rate *, uint64_t now_ms);

#endif

/*
 * Random bits from a seed (xoshiro256**, Blackman and Vigna 2018). The seed
 * comes from outside, so that a simulation replays exactly. Good enough for
 * names that must be unique and for jitter; not for secrets.
 */
#ifndef DDBLOCKD_CORE_RANDOM_H
#define DDBLOCKD_CORE_RANDOM_H

#include <stdint.h>

#include "core/ident.h"

struct random {
	uint64_t state[4];
};

void random_init(struct random *, const uint64_t seed[4]);
uint64_t random_next(struct random *);
struct ident random_ident(struct random *);

/* Uniform in [@period_ms * 7/8, @period_ms], so that hosts do not march in
 * step and no period is ever exceeded. */
uint64_t random_jitter(struct random *, uint64_t period_ms);

#endif

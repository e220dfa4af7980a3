/*
 * xoshiro256**.
 */
#include "core/random.h"

static uint64_t
random_rotate(uint64_t x, int bits)
{
	return x << bits | x >> (64 - bits);
}

void
random_init(struct random *r, const uint64_t seed[4])
{
	for (int i = 0; i < 4; i++)
		r->state[i] = seed[i];
	/* All zero is the one state that it never leaves. */
	if ((seed[0] | seed[1] | seed[2] | seed[3]) == 0)
		r->state[0] = 1;
	for (int i = 0; i < 8; i++)
		(void)random_next(r);
}

uint64_t
random_next(struct random *r)
{
	uint64_t *s = r->state;
	uint64_t result = random_rotate(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = random_rotate(s[3], 45);
	return result;
}

struct ident
random_ident(struct random *r)
{
	struct ident i;

	do {
		i.high = random_next(r);
		i.low = random_next(r);
	} while (ident_is_none(i));
	return i;
}

uint64_t
random_jitter(struct random *r, uint64_t period_ms)
{
	uint64_t range = period_ms / 8 + 1;

	return period_ms - random_next(r) % range;
}

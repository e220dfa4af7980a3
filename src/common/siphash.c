/*
 * SipHash-2-4, after the description in its paper.
 */
#include "common/siphash.h"

static uint64_t
siphash_rotate(uint64_t x, int bits)
{
	return x << bits | x >> (64 - bits);
}

static void
siphash_round(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = siphash_rotate(v[1], 13) ^ v[0];
	v[3] = siphash_rotate(v[3], 16) ^ v[2];
	v[0] = siphash_rotate(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = siphash_rotate(v[1], 17) ^ v[2];
	v[3] = siphash_rotate(v[3], 21) ^ v[0];
	v[2] = siphash_rotate(v[2], 32);
}

static void
siphash_word(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	siphash_round(v);
	siphash_round(v);
	v[0] ^= word;
}

/* The first byte is the lowest. */
static uint64_t
siphash_read(const unsigned char *bytes, size_t n)
{
	uint64_t word = 0;

	while (n-- > 0)
		word = word << 8 | bytes[n];
	return word;
}

uint64_t
siphash(const struct siphash_key *key, const void *bytes, size_t length)
{
	const unsigned char *at = bytes;
	uint64_t v[4] = {
		UINT64_C(0x736f6d6570736575) ^ key->words[0],
		UINT64_C(0x646f72616e646f6d) ^ key->words[1],
		UINT64_C(0x6c7967656e657261) ^ key->words[0],
		UINT64_C(0x7465646279746573) ^ key->words[1],
	};
	size_t rest = length;

	for (; rest >= 8; rest -= 8, at += 8)
		siphash_word(v, siphash_read(at, 8));
	siphash_word(v, (uint64_t)length << 56 | siphash_read(at, rest));
	v[2] ^= 0xff;
	for (int i = 0; i < 4; i++)
		siphash_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

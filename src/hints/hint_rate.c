/*
 * Buckets of tokens, for one and for many addresses. See hint_rate.h.
 */
#include "hints/hint_rate.h"

#include <string.h>

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)

bool
hint_rate_take(struct hint_bucket *b, const struct hint_rate *rate,
    uint64_t now_ms)
{
	const uint64_t now_ns = now_ms * NS_PER_MS;
	uint64_t each_ns, full_ns = b->full_ns;

	if (rate->per_second == 0 || rate->at_once == 0)
		return false;
	each_ns = NS_PER_S / rate->per_second;
	if (full_ns < now_ns)
		full_ns = now_ns;
	if (full_ns - now_ns > (rate->at_once - 1) * each_ns)
		return false;
	b->full_ns = full_ns + each_ns;
	return true;
}

bool
hint_targets_take(struct hint_targets *t, const uint8_t ip[HINT_IP_BYTES],
    const struct hint_rate *rate, uint64_t now_ms)
{
	struct hint_target *set = t->targets[
	    siphash(&t->key, ip, HINT_IP_BYTES) % HINT_TARGET_SETS];
	struct hint_target *free_one = NULL;

	for (int i = 0; i < HINT_TARGET_WAYS; i++) {
		if (memcmp(set[i].ip, ip, HINT_IP_BYTES) == 0)
			return hint_rate_take(&set[i].bucket, rate, now_ms);
		if (set[i].bucket.full_ns <= now_ms * NS_PER_MS)
			free_one = &set[i];
	}
	if (free_one == NULL)
		return false;
	memcpy(free_one->ip, ip, HINT_IP_BYTES);
	return hint_rate_take(&free_one->bucket, rate, now_ms);
}

/*
 * A fleet on its way over a bridge: the configuration of a host in each phase,
 * the namespaces of its clients' locks, and the two records of each lock as
 * facts for the judge, as if both had been requested as one multi-lock.
 */
#include "peek.h"
#include "world_state.h"

#include <stdlib.h>
#include <string.h>

/* Namespace 0 has the older format, namespace 1 is native. */
enum { BRIDGE_OLD = 0, BRIDGE_NATIVE = 1 };

void
bridge_configure(const struct host *h,
    struct core_namespace ret[PLAN_NAMESPACES_MAX])
{
	const struct world *w = h->world;

	memcpy(ret, w->namespaces, sizeof(w->namespaces));
	if (w->plan->bridge && h->phase == PHASE_BRIDGE)
		ret[BRIDGE_NATIVE].bridge = BRIDGE_OLD + 1;
}

uint32_t
bridge_namespace(const struct host *h, uint32_t namespace_index)
{
	if (!h->world->plan->bridge)
		return namespace_index;
	return h->phase == PHASE_OLD ? BRIDGE_OLD : BRIDGE_NATIVE;
}

bool
bridge_is_crossed(const struct host *h, uint32_t namespace_index)
{
	return h->world->plan->bridge && h->phase == PHASE_BRIDGE &&
	    namespace_index == BRIDGE_NATIVE;
}

uint64_t
bridge_request_ms(const struct host *h, uint32_t namespace_index)
{
	const struct core_namespace *n = h->world->namespaces;
	uint32_t i = bridge_namespace(h, namespace_index);
	uint64_t request_ms = n[i].request_ms;

	return bridge_is_crossed(h, i) ?
	    request_ms + n[BRIDGE_OLD].request_ms : request_ms;
}

/* Both records within one time. */
uint64_t
bridge_try_ms(const struct host *h, uint32_t namespace_index)
{
	return h->world->namespaces[
	    bridge_namespace(h, namespace_index)].try_ms;
}

void
bridge_split(const struct host *h, uint32_t namespace_index, const char *text,
    struct customer_keys *ret)
{
	customer_split(text, ret);
	for (size_t i = 0; i < ret->n; i++)
		ret->namespaces[i] = namespace_index;
	if (!bridge_is_crossed(h, namespace_index))
		return;
	/* All old records come before the native ones. */
	for (size_t i = 0; i < ret->n; i++) {
		memcpy(ret->keys[ret->n + i], ret->keys[i], PLAN_KEY_MAX);
		ret->namespaces[ret->n + i] = BRIDGE_NATIVE;
		ret->namespaces[i] = BRIDGE_OLD;
	}
	ret->n *= 2;
}

/* A reply names native locks only, and for one key none. */
static uint32_t
bridge_n_told(const struct host *h, const struct customer_keys *keys)
{
	uint32_t n = (uint32_t)keys->n;

	if (!bridge_is_crossed(h, keys->namespaces[n - 1]))
		return n;
	return n == 2 ? 0 : n / 2;
}

/* Its client is told one token; as text if it is too large for a number of the
 * protocol: then it is the older record's alone. */
static uint64_t
bridge_token(const struct core_reply *r, const struct core_part *told,
    const struct core_part *part)
{
	const char *text = told == NULL ? r->token_text : told->token_text;

	if (text != NULL && part->namespace_index == BRIDGE_OLD)
		return strtoull(text, NULL, 10);
	return text != NULL ? part->token :
	    told == NULL ? r->token : told->token;
}

/* The reply's row about the @i-th lock; NULL: none, or too many. */
static const struct core_part *
bridge_told(const struct host *h, const struct core_reply *r,
    const struct customer_keys *keys, uint32_t i)
{
	uint32_t n_told = bridge_n_told(h, keys);

	return n_told == 0 ? NULL : &r->parts[i % n_told];
}

bool
bridge_part(const struct host *h, const struct core_reply *r,
    const struct customer_keys *keys, uint32_t i, struct core_part *ret)
{
	const struct core_part *told;

	if (r->n_parts != bridge_n_told(h, keys) ||
	    !peek_part(h->core, r->hold, i, ret) ||
	    ret->namespace_index != keys->namespaces[i] ||
	    ret->key.length != strlen(keys->keys[i]) ||
	    memcmp(ret->key.bytes, keys->keys[i], ret->key.length) != 0 ||
	    (i == 0 && ret->hold != r->hold))
		return false;
	told = bridge_told(h, r, keys, i);
	if (told != NULL && (told->key.length != ret->key.length ||
	    memcmp(told->key.bytes, ret->key.bytes, ret->key.length) != 0))
		return false;
	if (told != NULL && told->namespace_index == ret->namespace_index &&
	    told->hold != ret->hold)
		return false;
	ret->token = bridge_token(r, told, ret);
	return true;
}

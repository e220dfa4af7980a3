/*
 * The locks of a namespace: making, finding and forgetting them.
 */
#include "core/lock/room.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

/* A lock has so many bits for its key's length. */
#define LOCK_KEY_MASK 4095

_Static_assert(KEY_BYTES_MAX <= LOCK_KEY_MASK, "no room for a key's length");

static uint64_t
lock_hash_all(const struct namespace *ns, struct key key)
{
	return siphash(&ns->core->hash_key, key.bytes, key.length);
}

static uint32_t
lock_hash_key(const struct namespace *ns, struct key key)
{
	return (uint32_t)lock_hash_all(ns, key);
}

uint32_t
lock_hash(const struct hash_link *link)
{
	const struct lock *l = (const struct lock *)link;

	return lock_hash_key(l->ns, lock_key(l));
}

struct lock *
lock_find(const struct namespace *ns, struct key key)
{
	struct hash_link *link =
	    hash_chain(&ns->locks, lock_hash_key(ns, key));

	while (link != NULL && !key_equal(lock_key((struct lock *)link), key))
		link = link->next;
	return (struct lock *)link;
}

/* After @l, or first of all if that is NULL, in no order. */
struct lock *
lock_next(const struct namespace *ns, const struct lock *l)
{
	return (struct lock *)hash_next(&ns->locks,
	    l == NULL ? NULL : &l->link);
}

/* Where the token of a lock that is not in memory is remembered, by the hash of
 * its key; *@hash becomes another one for each namespace. */
static struct remembered_token *
lock_remembered(struct core *core, const struct namespace *ns, uint64_t *hash)
{
	*hash ^= (ns->index + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15);
	return &core->tokens[*hash % TOKENS_REMEMBERED];
}

/* Its record may go back (tokens.c). */
static void
lock_remember_token(struct core *core, const struct lock *l, uint64_t hash)
{
	struct remembered_token *t;

	if (l->token_known == 0)
		return;
	t = lock_remembered(core, l->ns, &hash);
	t->hash = hash;
	t->token = l->token_known;
}

/* The highest that was seen of it, if it was in memory before. */
static void
lock_recall_token(struct core *core, struct lock *l, uint64_t hash)
{
	const struct remembered_token *t = lock_remembered(core, l->ns, &hash);

	if (t->hash == hash)
		l->token_known = t->token;
}

int
lock_new(struct core *core, struct namespace *ns, struct key key,
    struct lock **ret)
{
	uint64_t hash = lock_hash_all(ns, key);
	struct lock *l;

	if (core->n_locks >= core->limits.locks_max)
		return DDBLOCK_E_LIMIT;
	l = calloc(1, sizeof(*l) + key.length);
	if (l == NULL)
		return DDBLOCK_E_NOMEM;
	if (heap_reserve(&core->later) < 0) {
		free(l);
		return DDBLOCK_E_NOMEM;
	}
	l->ns = ns;
	l->timer.kind = TIMER_LOCK;
	l->key_length = key.length & LOCK_KEY_MASK;
	memcpy(l->key, key.bytes, key.length);
	lock_recall_token(core, l, hash);
	hash_add(&ns->locks, &l->link, (uint32_t)hash);
	if (ns->settings.hints)
		hint_add_lock(l);
	core->n_locks++;
	*ret = l;
	return 0;
}

void
lock_take_out(struct core *core, struct lock *l)
{
	uint64_t hash = lock_hash_all(l->ns, lock_key(l));

	lock_remember_token(core, l, hash);
	if (l->ns->settings.hints)
		hint_remove_lock(l);
	hash_remove(&l->ns->locks, &l->link, (uint32_t)hash);
}

void
lock_ref(struct lock *l)
{
	l->references++;
}

int
lock_init(struct namespace *ns)
{
	ns->audit_round = 1;
	if (ns->settings.hints && hint_init(ns) < 0)
		return DDBLOCK_E_NOMEM;
	return hash_init(&ns->locks, lock_hash);
}

void
lock_reserve(struct namespace *ns, size_t n)
{
	hash_reserve(&ns->locks, n);
}

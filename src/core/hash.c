/*
 * A hash table with a chain for every four objects.
 */
#include "core/hash.h"

#include <assert.h>
#include <stdlib.h>

#include "common/error.h"

#define HASH_CHAINS_MIN 32
#define HASH_CHAINS_MAX (UINT32_C(1) << 30)
#define HASH_LOAD 4	/* objects for each chain */

int
hash_init(struct hash_table *t, hash_fn hash)
{
	*t = (struct hash_table){ .n_chains = HASH_CHAINS_MIN, .hash = hash };
	t->chains = calloc(t->n_chains, sizeof(struct hash_link *));
	return t->chains != NULL ? 0 : DDBLOCK_E_NOMEM;
}

void
hash_done(struct hash_table *t)
{
	free(t->chains);
	*t = (struct hash_table){ .n = 0 };
}

static struct hash_link **
hash_place(const struct hash_table *t, uint32_t hash)
{
	return &t->chains[hash & (t->n_chains - 1)];
}

static void
hash_put(struct hash_table *t, struct hash_link *link, uint32_t hash)
{
	struct hash_link **chain = hash_place(t, hash);

	link->next = *chain;
	*chain = link;
}

/* Without memory chains just get longer. */
static void
hash_widen(struct hash_table *t, uint32_t n_chains)
{
	struct hash_table wider = {
		.n_chains = n_chains,
		.n = t->n,
		.hash = t->hash,
	};

	wider.chains = calloc(wider.n_chains, sizeof(struct hash_link *));
	if (wider.chains == NULL)
		return;
	for (uint32_t i = 0; i < t->n_chains; i++) {
		struct hash_link *link = t->chains[i], *next;

		for (; link != NULL; link = next) {
			next = link->next;
			hash_put(&wider, link, t->hash(link));
		}
	}
	free(t->chains);
	*t = wider;
}

void
hash_reserve(struct hash_table *t, size_t n)
{
	uint32_t n_chains = t->n_chains;

	while (n / HASH_LOAD > n_chains && n_chains < HASH_CHAINS_MAX)
		n_chains *= 2;
	if (n_chains > t->n_chains)
		hash_widen(t, n_chains);
}

void
hash_add(struct hash_table *t, struct hash_link *link, uint32_t hash)
{
	t->n++;
	if (t->n / HASH_LOAD > t->n_chains && t->n_chains < HASH_CHAINS_MAX)
		hash_widen(t, t->n_chains * 2);
	hash_put(t, link, hash);
}

void
hash_remove(struct hash_table *t, struct hash_link *link)
{
	struct hash_link **at = hash_place(t, t->hash(link));

	while (*at != link) {
		assert(*at != NULL);
		at = &(*at)->next;
	}
	*at = link->next;
	t->n--;
}

struct hash_link *
hash_chain(const struct hash_table *t, uint32_t hash)
{
	return *hash_place(t, hash);
}

struct hash_link *
hash_next(const struct hash_table *t, const struct hash_link *link)
{
	struct hash_link **chain = t->chains;
	struct hash_link **end = t->chains + t->n_chains;

	if (link != NULL && link->next != NULL)
		return link->next;
	if (link != NULL)
		chain = hash_place(t, t->hash(link)) + 1;
	while (chain < end && *chain == NULL)
		chain++;
	return chain < end ? *chain : NULL;
}

/*
 * A hash table with a chain for every four objects. It grows by one chain at a
 * time (linear hashing): to move all objects at once took 90 ms for 500,000.
 */
#include "core/hash.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/error.h"

#define HASH_CHAINS_MIN 32
#define HASH_CHAINS_MAX (UINT32_C(1) << 30)
#define HASH_LOAD 4	/* objects for each chain */

int
hash_init(struct hash_table *t, hash_fn hash)
{
	*t = (struct hash_table){
		.n_chains = HASH_CHAINS_MIN,
		.n_halves = HASH_CHAINS_MIN,
		.n_places = HASH_CHAINS_MIN,
		.hash = hash,
	};
	t->chains = calloc(t->n_chains, sizeof(struct hash_link *));
	return t->chains != NULL ? 0 : DDBLOCK_E_NOMEM;
}

void
hash_done(struct hash_table *t)
{
	free(t->chains);
	*t = (struct hash_table){ .n = 0 };
}

/* The chains from n_halves on were split from those at the beginning; those
 * that are to be split yet have the objects of both. */
static struct hash_link **
hash_place(const struct hash_table *t, uint32_t hash)
{
	uint32_t i = hash & (2 * t->n_halves - 1);

	return &t->chains[i < t->n_chains ? i : i - t->n_halves];
}

static void
hash_put(struct hash_table *t, struct hash_link *link, uint32_t hash)
{
	struct hash_link **chain = hash_place(t, hash);

	link->next = *chain;
	*chain = link;
}

static bool
hash_make_room(struct hash_table *t, uint32_t n_places)
{
	struct hash_link **chains;

	if (n_places <= t->n_places)
		return true;
	chains = realloc(t->chains, n_places * sizeof(struct hash_link *));
	if (chains == NULL)
		return false;
	t->chains = chains;
	t->n_places = n_places;
	return true;
}

/* One chain more, with its part of the objects of another; there is room. */
static void
hash_split(struct hash_table *t)
{
	struct hash_link **from = &t->chains[t->n_chains - t->n_halves];
	struct hash_link *link = *from, *next;

	*from = t->chains[t->n_chains] = NULL;
	t->n_chains++;
	for (; link != NULL; link = next) {
		next = link->next;
		hash_put(t, link, t->hash(link));
	}
	if (t->n_chains == 2 * t->n_halves)
		t->n_halves *= 2;
}

void
hash_reserve(struct hash_table *t, size_t n)
{
	size_t n_chains = n / HASH_LOAD;

	if (n_chains > HASH_CHAINS_MAX)
		n_chains = HASH_CHAINS_MAX;
	if (!hash_make_room(t, (uint32_t)n_chains))
		return;
	while (t->n_chains < n_chains)
		hash_split(t);
}

/* Without memory chains just get longer. */
void
hash_add(struct hash_table *t, struct hash_link *link, uint32_t hash)
{
	t->n++;
	if (t->n / HASH_LOAD > t->n_chains && t->n_chains < HASH_CHAINS_MAX &&
	    (t->n_chains < t->n_places || hash_make_room(t, 2 * t->n_places)))
		hash_split(t);
	hash_put(t, link, hash);
}

void
hash_remove(struct hash_table *t, struct hash_link *link, uint32_t hash)
{
	struct hash_link **at = hash_place(t, hash);

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

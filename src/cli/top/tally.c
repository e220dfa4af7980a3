/*
 * Open addressing with linear steps, at most half full. The hashes are keyed,
 * so no user chooses names that collide.
 */
#include <config.h>

#include "cli/top/tally.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define TALLY_SIZE_FIRST 1024

void
tally_done(struct tally *t)
{
	free(t->entries);
	*t = (struct tally){ .size = 0 };
}

void
tally_clear(struct tally *t)
{
	if (t->size > 0)
		(void)memset(t->entries, 0, t->size * sizeof(t->entries[0]));
	t->n = 0;
	t->full = false;
}

/* Its place, or the free one where it belongs. */
static struct tally_entry *
tally_place(const struct tally *t, uint64_t hash)
{
	size_t i = (size_t)hash & (t->size - 1);

	while (t->entries[i].hash != 0 && t->entries[i].hash != hash)
		i = (i + 1) & (t->size - 1);
	return &t->entries[i];
}

struct tally_entry *
tally_find(const struct tally *t, uint64_t hash)
{
	struct tally_entry *e = t->size == 0 ? NULL : tally_place(t, hash);

	return e == NULL || e->hash == 0 ? NULL : e;
}

static bool
tally_grow(struct tally *t)
{
	struct tally grown = {
		.size = t->size == 0 ? TALLY_SIZE_FIRST : 2 * t->size,
		.n = t->n,
	};

	grown.entries = calloc(grown.size, sizeof(grown.entries[0]));
	if (grown.entries == NULL)
		return false;
	for (size_t i = 0; i < t->size; i++) {
		if (t->entries[i].hash != 0)
			*tally_place(&grown, t->entries[i].hash) =
			    t->entries[i];
	}
	free(t->entries);
	*t = grown;
	return true;
}

struct tally_entry *
tally_add(struct tally *t, uint64_t hash)
{
	struct tally_entry *e = tally_find(t, hash);

	assert(hash != 0);
	if (e != NULL)
		return e;
	if (t->n == TALLY_MAX || (2 * t->n >= t->size && !tally_grow(t))) {
		t->full = true;
		return NULL;
	}
	t->n++;
	e = tally_place(t, hash);
	e->hash = hash;
	return e;
}

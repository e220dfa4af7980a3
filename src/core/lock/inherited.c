/*
 * Grants that were taken over, by their numbers, and the holds that use them. A
 * restart waits for this: so a table of its final size at once, and no search
 * through what is sorted, which misses the cache at each step.
 */
#include "core/lock/room.h"

#include <stdlib.h>

#include "ddblock.h"

#define SLOTS_MIN 16

bool
inherited_grants_init(struct inherited_grants *all, size_t n_max)
{
	size_t n_slots = SLOTS_MIN;

	while (n_slots < 2 * n_max)
		n_slots *= 2;
	*all = (struct inherited_grants){
		.list = calloc(n_max + 1, sizeof(*all->list)),
		.slots = calloc(n_slots, sizeof(*all->slots)),
		.mask = n_slots - 1,
	};
	return all->list != NULL && all->slots != NULL;
}

void
inherited_grants_done(struct inherited_grants *all)
{
	free(all->list);
	free(all->slots);
}

/* Where it is, or where it would be. */
static uint32_t *
inherited_grants_slot(const struct inherited_grants *all, uint64_t number)
{
	size_t i = (size_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 32);

	for (;; i++) {
		uint32_t *slot = &all->slots[i & all->mask];

		if (*slot == 0 || all->list[*slot - 1].number == number)
			return slot;
	}
}

int
inherited_grants_index(struct inherited_grants *all)
{
	for (size_t i = 0; i < all->n; i++) {
		const uint64_t number = all->list[i].number;
		uint32_t *slot;

		if (number == 0)
			continue;
		slot = inherited_grants_slot(all, number);
		if (*slot != 0)
			return DDBLOCK_E_BAD_RECORD;
		*slot = (uint32_t)(i + 1);
	}
	return 0;
}

/* The lock asks for nothing: no look, no waiter mark, no write in doubt. */
static bool
inherited_rests(const struct lock *l)
{
	return l->leftovers == NULL && l->in_doubt_list.first == NULL &&
	    l->own_mark_mode == LOCK_MODE_NONE && l->mark_due == MARK_NONE;
}

/* Its hold goes on, and there is nothing else to do about it. */
static bool
inherited_goes_on(const struct grant *g)
{
	return g != NULL && g->state == GRANT_HELD && g->uses != NULL &&
	    g->extras == NULL && g->releasing == NULL && g->gap_ms == 0 &&
	    !g->unproven && !g->unsealed && g->lock->ns->has_sessions &&
	    inherited_rests(g->lock);
}

void
inherited_grants_advance(struct core *core,
    const struct inherited_grants *all)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct inherited_grant *g = &all->list[i];

		if (g->lock != NULL && !inherited_goes_on(g->grant))
			heap_set(&core->later, &g->lock->timer, core->now_ms);
	}
}

struct inherited_grant *
inherited_grants_find(const struct inherited_grants *all, uint64_t number)
{
	const uint32_t slot = number == 0 ? 0 :
	    *inherited_grants_slot(all, number);

	return slot == 0 ? NULL : &all->list[slot - 1];
}

bool
use_may_inherit(const struct grant *g, uint64_t token, bool fail_closed)
{
	return g->state == GRANT_HELD && g->fail_closed == fail_closed &&
	    (g->uses == NULL || grant_is_common(g)) &&
	    (g->mode == LOCK_MODE_SHARED || token == 0 ||
		token < g->token_next);
}

void
use_inherit(struct use *u, struct lock *l, struct grant *g, uint64_t token,
    bool fail_closed)
{
	u->lock = l;
	u->token = token & TOKEN_MAX;
	u->fail_closed = fail_closed;
	if (g == NULL)
		return;
	/* A downgrade may have changed it. */
	if (g->mode == LOCK_MODE_SHARED)
		u->token = g->token_last & TOKEN_MAX;
	u->grant = g;
	DL_APPEND2(g->uses, u, previous, next);
	l->n_uses++;
}

/*
 * What must be true of a lock after anything happened to it, and of its grants,
 * its queue and its uses.
 */
#include "core/lock/room.h"

#include <assert.h>

static void
lock_check_tokens(const struct grant *g)
{
	const struct use *u = g->uses;

	if (g->mode != LOCK_MODE_EXCLUSIVE)
		return;
	assert(g->limit == 0);
	assert(u == NULL || u->next == NULL);
	assert(u == NULL || u->token < g->token_next || u->token == 0);
	assert(g->state != GRANT_HELD || g->token_next <= g->token_last + 1);
}

static void
lock_check_grant(const struct core *core, const struct grant *g)
{
	const struct extras *extras = g->extras;
	bool changing = extras != NULL && extras->changing != NULL;
	bool downgrading = extras != NULL && extras->downgrade != NULL;
	bool held = g->state == GRANT_HELD;

	assert(g->state != GRANT_NONE);
	assert(!held || g->fail_closed || g->lease->state == LEASE_VALID);
	assert(held || g->uses == NULL);
	assert(held || !changing);
	assert(!downgrading || (held && g->mode == LOCK_MODE_EXCLUSIVE));
	assert(held || g->state == GRANT_RELEASING || g->releasing == NULL);
	assert(g->state != GRANT_ASKING || g->lock->submission != NULL);
	lock_check_tokens(g);
	if (g->uses != NULL)
		core->lock_events->check(core, g->uses);
}

void
lock_check(const struct core *core, const struct lock *l)
{
	const struct grant *g;
	uint32_t n_common = 0;

	LL_FOREACH(l->grants, g)
	{
		lock_check_grant(core, g);
		assert(g->mode == l->grants->mode);
		assert(g->limit == l->grants->limit);
		assert(g->uses == NULL || g->uses->next == NULL ||
		    grant_is_common(g));
		/* One alone is not too many. */
		if (l->grants->next != NULL && grant_is_common(g) &&
		    grant_is_usable(g))
			n_common++;
	}
	assert(n_common <= 1);
	assert((l->view == VIEW_FOREIGN) == (l->sight != NULL));
	assert((l->queue == NULL) == (l->places == NULL));
	assert(l->n_overdue <= (l->places == NULL ? 0 : l->places->n));
}

/*
 * Changes that holders asked for, by a RENEW or with a release, and that are
 * not made yet.
 */
#include "core/lock/room.h"

#include "ddblock.h"

/* The first of the renewals that change something. */
struct waiter *
update_renewal(const struct grant *g)
{
	return g->extras == NULL ? NULL : g->extras->changing;
}

/* The next request of the holder, or of the last one. */
struct waiter *
update_owed_to(const struct grant *g)
{
	if (update_renewal(g) != NULL)
		return update_renewal(g);
	return g->releasing != NULL && g->releasing->change != NULL ?
	    g->releasing : NULL;
}

bool
update_is_owed(const struct grant *g)
{
	return update_owed_to(g) != NULL;
}

int
update_join(struct grant *g, struct waiter *w)
{
	struct extras *extras = grant_extras(g);

	if (extras == NULL)
		return DDBLOCK_E_NOMEM;
	w->grant = g;
	DL_APPEND2(extras->changing, w, previous, next);
	return 0;
}

void
update_leave(struct waiter *w)
{
	DL_DELETE2(w->grant->extras->changing, w, previous, next);
	w->grant = NULL;
}

/* The hold is over, and with it what it was to change. */
void
update_lose(struct core *core, struct grant *g)
{
	struct waiter *w;

	while ((w = update_renewal(g)) != NULL)
		core->lock_events->answered(core, w, DDBLOCK_E_LOCK_LOST, 0,
		    NULL);
}

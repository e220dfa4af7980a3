/*
 * Locks that stay: a host that takes a lock of a fleet again and again keeps it
 * for a while after its last client here has released it, so that the next one
 * has it without a request; and what another host makes of a lock that is kept.
 *
 *  1. It begins when a client here asks for a lock within `idle` of its release
 *     by the one before: so does the acquire, and the record says that its host
 *     may keep it. A lock whose record does not say so is given back at once.
 *  2. It ends `idle` after the last release; if another host says that it
 *     waits, by a hint or a mark, at once, or two milliseconds after that
 *     release: who goes on without a pause has the rest of his run. Without
 *     hints nobody would be told of that before a poll: then it is kept for no
 *     longer. With them the record is looked at every poll, for marks of hosts
 *     that have none.
 *  3. To others it is held. A try elsewhere that finds it so waits until it
 *     may have been given back: a poll at most, before it says that it is busy,
 *     or until the other host says that a client has it.
 */
#include "core/lock/room.h"

#define KEPT_SPARE_MS 20	/* for the release, where no hint tells of it */

/* ---- here ------------------------------------------------------------- */

static struct habit *
kept_habit(struct core *core, const struct lock *l)
{
	return &core->habits[lock_hash(&l->link) % HABITS];
}

/* It is known when the lock was released last. */
static bool
kept_is_known(const struct habit *h, const struct lock *l)
{
	return h->namespace_index == l->ns->index &&
	    h->hash == lock_hash(&l->link) && h->released_ms > 0;
}

/* Did that client ask for it a moment after the one before had released it? */
static bool
kept_is_again(const struct habit *h, const struct lock *l, uint64_t asked_ms)
{
	return kept_is_known(h, l) &&
	    asked_ms <= h->released_ms + lock_idle_ms(l);
}

/* Its last holder here has left. Is that one of many? (While it is kept, this
 * is asked again.) */
bool
kept_is_habit(struct core *core, const struct lock *l)
{
	struct habit *h = kept_habit(core, l);
	bool again = kept_is_again(h, l, l->taken_ms);

	if (!kept_is_known(h, l) || h->released_ms < l->taken_ms)
		*h = (struct habit){ l->ns->index, lock_hash(&l->link),
			core->now_ms };
	return again;
}

/* It is kept. Others may have come to wait for it since it was released. */
void
kept_hurry(struct core *core, struct lock *l)
{
	uint64_t until_ms = kept_habit(core, l)->released_ms + lock_idle_ms(l);

	if (!l->ns->settings.keeps_idle && until_ms < l->due_ms)
		l->due_ms = until_ms;
}

/* An acquire for this client: is it to say that the lock may be kept? */
bool
kept_is_planned(struct core *core, const struct lock *l,
    const struct waiter *w)
{
	return l->ns->has_sessions && w->mode == LOCK_MODE_EXCLUSIVE &&
	    !w->fail_closed &&
	    kept_is_again(kept_habit(core, l), l, w->asked_ms);
}

/* ---- elsewhere -------------------------------------------------------- */

/* A try, or nearly: it stands in no line, and nobody tells it. */
bool
kept_is_brief(const struct core *core, const struct lock *l,
    const struct waiter *w)
{
	return w->overdue ||
	    w->deadline_ms - core->now_ms <= l->ns->settings.poll_ms;
}

/* Until when may it be about to be given back, for this one? */
uint64_t
kept_until_ms(const struct lock *l, const struct waiter *w)
{
	const struct core_namespace *t = &l->ns->settings;
	uint64_t idle_ms = t->idle_ms + t->idle_ms / 4 + KEPT_SPARE_MS;

	return w->asked_ms + (t->hints || idle_ms > t->poll_ms ? t->poll_ms :
	    idle_ms);
}

bool
lock_awaits_kept(const struct core *core, const struct lock *l,
    const struct waiter *w)
{
	return l->sight != NULL && l->sight->kept &&
	    kept_is_brief(core, l, w) && core->now_ms < kept_until_ms(l, w);
}

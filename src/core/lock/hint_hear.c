/*
 * Hints of other hosts: what is made of them.
 *
 *  1. A hint is a reason to ask the store now, and no more. Nothing here says
 *     that a lock is held, free or lost because of one, and no place in line is
 *     another one. (USED ends a wait for what the record says is held.)
 *  2. Waiters go on looking as if there were no hints: one may be lost, late or
 *     repeated, or come from a host that lies.
 *  3. After one that was of no use a lock hears no other for a part of a poll,
 *     so a liar costs some requests a poll for each lock that is waited for.
 */
#include "core/lock/room.h"

#define HINT_DEAF_PART 4	/* of a poll */

static bool
hint_is_heard(const struct core *core, const struct lock *l)
{
	uint32_t left_ms = l->deaf_ms - (uint32_t)core->now_ms;

	return left_ms == 0 ||
	    left_ms > l->ns->settings.poll_ms / HINT_DEAF_PART;
}

static void
hint_be_deaf(const struct core *core, struct lock *l)
{
	l->deaf_ms = (uint32_t)(core->now_ms +
	    l->ns->settings.poll_ms / HINT_DEAF_PART);
}

/* An acquire from the first place is the question, whatever place we had when
 * we looked last: its condition is what a look would show. */
static void
hint_hear_freed(struct core *core, struct lock *l)
{
	if (l->queue == NULL)
		return;
	if (l->line == NULL || l->line->place > 0) {
		l->hint = HINT_HEARD;
	} else {
		l->due_ms = core->now_ms;
		hint_be_deaf(core, l);
	}
	lock_advance(core, l);
}

/* It stays ours no longer than a client here has it, or waits for it. The other
 * one cannot see whether one has it, of a lock that may be kept. */
static void
hint_hear_wanted(struct core *core, struct lock *l, struct ident session)
{
	struct grant *g = l->grants;

	if (g == NULL || g->state != GRANT_HELD)
		return;
	if (g->stays && g->uses != NULL)
		hint_send(core, l->ns, lock_key(l), CORE_HINT_USED, session);
	if (l->wanted)
		return;
	l->wanted = true;
	if (g->uses != NULL || l->queue != NULL)
		return;
	l->ns->counters.hints_useful++;
	lock_advance(core, l);
}

/* What may be kept is not: there is nothing to wait for, as with any lock that
 * another host has. */
static void
hint_hear_used(struct core *core, struct lock *l)
{
	if (l->queue == NULL || !lock_awaits_kept(core, l, l->queue))
		return;
	l->sight->kept = false;
	lock_ref(l);
	core->lock_events->learnt(core, l);
	lock_advance(core, l);
	lock_unref(core, l);
}

/* Of the holds here: look. */
static void
hint_hear_broken(struct core *core, struct lock *l)
{
	if (l->grants == NULL || !lock_may_send(core, l))
		return;
	hint_be_deaf(core, l);
	(void)submission_send(core, l, OPERATION_READ, NULL);
}

void
lock_hinted(struct core *core, const struct core_hinted *hint)
{
	struct namespace *ns = &core->namespaces[hint->namespace_index];
	struct lock *l;

	if (!ns->settings.hints)
		return;
	if (hint->kind == CORE_HINT_WATCHING) {
		follow_heard(core, ns, hint->digest, hint->session);
		return;
	}
	l = hint_find(ns, hint->digest);
	if (l == NULL || !hint_is_heard(core, l))
		return;
	ns->counters.hints_heard++;
	switch (hint->kind) {
	case CORE_HINT_FREED:
		hint_hear_freed(core, l);
		return;
	case CORE_HINT_WANTED:
		hint_hear_wanted(core, l, hint->session);
		return;
	case CORE_HINT_BROKEN:
		hint_hear_broken(core, l);
		return;
	case CORE_HINT_CHANGED:
		if (l->watched != NULL)
			core->lock_events->hinted(core, l);
		if (l->queue != NULL && lock_awaits_kept(core, l, l->queue))
			hint_hear_freed(core, l);
		return;
	case CORE_HINT_USED:
		hint_hear_used(core, l);
		return;
	case CORE_HINT_WATCHING:
		return;
	}
}

void
hint_judge(struct core *core, struct lock *l, bool useful)
{
	if (useful)
		l->ns->counters.hints_useful++;
	else
		hint_be_deaf(core, l);
}

/* What the store said to that. */
void
hint_answered(struct core *core, struct lock *l, enum outcome_kind kind)
{
	l->hint = HINT_NONE;
	hint_judge(core, l, kind == OUTCOME_DONE);
}

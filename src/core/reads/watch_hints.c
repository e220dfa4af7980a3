/*
 * Hints about locks that are watched. The hosts that may write a lock next are
 * told that this one watches it (core/lock/follow.c); what they say of a change
 * is a reason to look at once, before the next poll.
 */
#include "core/reads/room.h"

#define WATCH_FOLLOW_MS 10000	/* a third of what it is remembered for */
#define WATCH_FOLLOW_MAX 4	/* of the hosts that share a lock */

/* ---- what other hosts are told ---------------------------------------- */

/* Whose sessions may write next, as the record shows: its holders, and the
 * first in line. */
static size_t
watch_writers(const struct lock_record *record,
    struct ident ret[WATCH_FOLLOW_MAX + 1])
{
	size_t n = 0;

	while (n < record->n_holders && n < WATCH_FOLLOW_MAX) {
		ret[n] = record->holders[n].session;
		n++;
	}
	if (record->n_line > 0)
		ret[n++] = record->line[0];
	else if (record->n_exclusive_waiters > 0)
		ret[n++] = record->exclusive_waiters[0];
	return n;
}

/* After a look. */
void
watch_follow(struct watched *w, const struct lock_record *record)
{
	struct ident writers[WATCH_FOLLOW_MAX + 1];
	struct namespace *ns = w->lock->ns;
	struct core *core = ns->core;
	uint64_t sum = 0;
	size_t n;

	if (!ns->settings.hints)
		return;
	n = watch_writers(record, writers);
	for (size_t i = 0; i < n; i++)
		sum += writers[i].high ^ writers[i].low;
	if (sum == w->followed &&
	    core->now_ms - w->followed_ms < WATCH_FOLLOW_MS)
		return;
	w->followed = sum;
	w->followed_ms = core->now_ms;
	for (size_t i = 0; i < n; i++)
		hint_send(core, ns, lock_key(w->lock), CORE_HINT_WATCHING,
		    writers[i]);
}

/* ---- what they say ---------------------------------------------------- */

/* If a look is under way, it may not show that: then another one follows, and
 * if that shows no more, the hint was of use all the same. */
void
watch_hinted(struct core *core, struct lock *l)
{
	struct watched *w = l->watched;

	if (w->hinted || watch_poll_is_vain(l))
		return;
	w->hinted = true;
	w->overtaken = w->asked;
	watch_poll_enter_now(core, w);
}

void
watch_hint_sent(struct watched *w)
{
	w->asked = w->hinted && !w->overtaken;
	w->hinted = false;
}

/* The look has an answer: is that news? */
void
watch_hint_answered(struct watched *w)
{
	w->answered |= w->asked;
	w->asked = false;
}

void
watch_hint_judge(struct core *core, struct watched *w, bool news)
{
	if (!w->answered)
		return;
	w->answered = false;
	hint_judge(core, w->lock, news);
}

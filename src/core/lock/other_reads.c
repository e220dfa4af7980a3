/*
 * What is learnt by looking at a lock's record: by a read of its own, by one
 * together with others, by the audit, and by a break.
 */
#include "core/lock/room.h"

#include "ddblock.h"

/* What the record says of one grant. False: it says nothing new of the lock,
 * or that was dealt with. */
static bool
look_at_grant(struct core *core, struct grant *g,
    const struct outcome *o, uint64_t submitted_ms)
{
	bool shown = record_shows(&o->lock, g);
	struct holder me;

	fail_closed_looked(g);
	switch (g->state) {
	case GRANT_UNSURE:
		if (shown) {
			me = submission_me(g);
			outcome_granted(core, g, &me, o, submitted_ms);
			return false;
		}
		grant_enter(core, g, GRANT_NONE, NULL);
		return true;
	case GRANT_RELEASING:
		g->unsettled = false;
		if (!shown)
			outcome_gone(core, g, o, submitted_ms);
		return shown;
	case GRANT_HELD:
		if (!shown)
			grant_lose(core, g, record_loss(&o->lock));
		return shown;
	default:
		return true;
	}
}

/* A request with only_if_exists is refused before anything is written. */
void
look_exists(struct core *core, struct lock *l, const struct submission *s,
    const struct outcome *o)
{
	struct waiter *w;

	while ((w = l->queue) != NULL && w->only_if_exists && !w->exists &&
	    s->submit.operation.with_contents && o->kind == OUTCOME_DONE &&
	    o->lock.n_holders == 0) {
		w->exists = format_has_record(l->ns, &o->lock);
		if (w->exists)
			return;
		core->lock_events->answered(core, w, DDBLOCK_E_NO_SUCH_LOCK, 0,
		    "the lock has no data and no attributes, and "
		    "only_if_exists was given");
	}
}

void
look_taken(struct core *core, struct lock *l, uint64_t submitted_ms,
    const struct outcome *o)
{
	struct grant *g, *next;
	bool fresh = true;

	if (o->kind != OUTCOME_DONE) {
		outcome_failed(core, l, o, submitted_ms);
		if (l->watched != NULL)
			core->lock_events->unseen(core, l, outcome_cause(o),
			    o->text);
		return;
	}
	l->refused = false;
	LL_FOREACH_SAFE(l->grants, g, next)
	{
		if (!look_at_grant(core, g, o, submitted_ms))
			fresh = false;
	}
	if (!fresh)
		return;
	outcome_seen(core, l, o, submitted_ms);
	LL_FOREACH(l->grants, g)
	{
		grant_adopt(core, g, &o->lock);
	}
}

/* As good as an answer to a look of the lock's own. */
void
lock_looked(struct core *core, struct lock *l,
    const struct lock_record *record, uint64_t submitted_ms)
{
	const struct outcome o = { .kind = OUTCOME_DONE, .lock = *record };

	l->references++;
	look_taken(core, l, submitted_ms, &o);
	core->lock_events->learnt(core, l);
	l->references--;
	lock_advance(core, l);
}

void
lock_audited(struct core *core, struct lock *l,
    const struct lock_record *record, uint64_t submitted_ms)
{
	struct grant *g, *next;
	bool changed = false;

	record_token_seen(l, record);
	LL_FOREACH_SAFE(l->grants, g, next)
	{
		/* Its record went back: it is to be raised again. */
		changed = changed || tokens_are_behind(g);
		if (g->state != GRANT_HELD || record_shows(record, g))
			continue;
		grant_lose(core, g, record_loss(record));
		changed = true;
	}
	/* For a lock that is held for long only this read tells; of one that is
	 * shared, also what of ours landed late beside that. */
	if (record_find_orphan(core, l, record))
		changed = true;
	if (changed)
		lock_advance(core, l);
	else if (l->grants != NULL)
		in_doubt_read(core, &l->in_doubt_list, record, submitted_ms);
}

/* What was in the record with this token is out of it: what came in later has a
 * higher one. Or the one that its version names. */
static bool
lock_read_breaks(const struct grant *g, const struct lock_record *record)
{
	return g->lock->ns->has_sessions ?
	    g->token_last <= record->token || tokens_are_behind(g) :
	    ident_equal(g->id, record->broken);
}

void
lock_broken(struct core *core, struct lock *l,
    const struct lock_record *record)
{
	struct grant *g, *next;

	/* If it comes back, it has no holder. */
	in_doubt_disown(core, &l->in_doubt_list);
	LL_FOREACH_SAFE(l->grants, g, next)
	{
		if (g->state == GRANT_HELD && lock_read_breaks(g, record))
			grant_lose(core, g, CORE_LOSS_BROKEN);
	}
	/* Waiters here need not wait for the next poll; nor watchers, and where
	 * only this daemon writes records there is none. */
	if (l->view == VIEW_FOREIGN)
		l->due_ms = core->now_ms;
	if (l->watched != NULL && l->grants == NULL)
		l->read_due = true;
	lock_advance(core, l);
}

void
lock_watch_next(struct core *core, struct lock *l)
{
	if (l->sight != NULL && l->sight->blocked.on == NULL)
		(void)record_block(core, l);
}

void
lock_begin_audit(struct namespace *ns)
{
	ns->audit_round++;
}

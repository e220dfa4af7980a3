/*
 * What is learnt of a lock's record by other operations than its own: of those
 * that were read together with others, by the audit, and by a break.
 */
#include "core/lock/room.h"

/* As good as an answer to a look of the lock's own. */
void
lock_looked(struct core *core, struct lock *l,
    const struct lock_record *record, uint64_t submitted_ms)
{
	const struct outcome o = { .kind = OUTCOME_DONE, .lock = *record };

	l->references++;
	outcome_read(core, l, submitted_ms, &o);
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

	LL_FOREACH_SAFE(l->grants, g, next)
	{
		if (g->state != GRANT_HELD || record_shows(record, g))
			continue;
		grant_lose(core, g, record_loss(record));
		changed = true;
	}
	/* Of a lock that is held for long nothing else would tell; of one that
	 * is shared, also what of ours landed late beside that. */
	if (record_find_orphan(core, l, record))
		changed = true;
	if (changed)
		lock_advance(core, l);
	else if (l->grants != NULL)
		doubt_seen(core, &l->doubts, record, submitted_ms);
}

/* What was in the record with this token is out of it: what came in later has a
 * higher one. Or the one that its version names. */
static bool
look_breaks(const struct grant *g, const struct lock_record *record)
{
	return namespace_has_sessions(g->lock->ns) ?
	    g->token_last <= record->token :
	    ident_equal(g->id, record->broken);
}

void
lock_broken(struct core *core, struct lock *l,
    const struct lock_record *record)
{
	struct grant *g, *next;

	/* Should it come back, it is nobody's. */
	doubt_disown(&l->doubts);
	LL_FOREACH_SAFE(l->grants, g, next)
	{
		if (g->state == GRANT_HELD && look_breaks(g, record))
			grant_lose(core, g, CORE_LOSS_BROKEN);
	}
	/* Who waits for it here need not wait for the next poll. */
	if (l->view == VIEW_FOREIGN)
		l->due_ms = core->now_ms;
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

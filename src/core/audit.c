/*
 * The audit: held locks are re-read from time to time, in batches, so that an
 * item that was deleted or broken by hand is noticed although nothing else
 * reads it. At most LOOKS_PER_SECOND, so the period stretches with the
 * number of locks.
 *
 * A row counts only if the hold is still the same, and no write on that lock
 * was under way since the read was sent.
 */
#include "core/internal.h"

#include <assert.h>

#include "ddblock.h"

/* The next grant of this round, which goes to the end of its list. */
static struct grant *
audit_next_of(struct grant **list, uint16_t round)
{
	struct grant *g = *list;

	if (g == NULL || g->audit_round == round)
		return NULL;
	g->audit_round = round;
	DL_DELETE2(*list, g, session_previous, session_next);
	DL_APPEND2(*list, g, session_previous, session_next);
	return g;
}

/* Only a semaphore's lock can be met again. */
static bool
audit_has(const struct audit *a, const struct lock *l)
{
	return l->grants->next != NULL && batch_has(&a->batch, l);
}

static void
audit_pick(struct audit *a, struct grant **list)
{
	struct grant *g;

	while (!batch_is_full(&a->batch) &&
	    (g = audit_next_of(list, a->round)) != NULL) {
		struct lock *l = g->lock;

		/* A row is about all grants of its lock. */
		if (g->state != GRANT_HELD || l->submission != NULL ||
		    audit_has(a, l))
			continue;
		batch_add(&a->batch, l);
	}
}

void
audit_timer(struct core *core, struct namespace *ns)
{
	struct audit *a = &ns->audit;
	struct session *s;
	uint64_t next_ms;

	assert(!a->batch.busy && a->batch.n_locks == 0);
	/* A lock granted between two rounds belongs to the coming one. */
	if (!a->running)
		a->round++;
	a->running = true;
	DL_FOREACH(ns->sessions, s)
	{
		if (s->state == SESSION_VALID)
			audit_pick(a, &s->grants);
	}
	audit_pick(a, &ns->closed);
	if (a->batch.n_locks > 0) {
		batch_send(core, &a->batch, ns, CORE_ABOUT_AUDIT);
		return;
	}
	/* The round is done. */
	a->running = false;
	next_ms = a->started_ms + ns->settings.audit_ms;
	if (next_ms <= core->now_ms)
		next_ms = core->now_ms + 1;
	a->started_ms = next_ms;
	heap_set(&core->heap, &a->timer, next_ms);
}

static void
audit_row(struct core *core, const struct audit *a, size_t i,
    const struct lock_record *record)
{
	struct lock *l = a->batch.locks[i];
	struct grant *g, *next;
	bool changed = false;

	/* No grant is new without a write. */
	if (!batch_is_unwritten(&a->batch, i))
		return;
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
		doubt_seen(core, l, record,
		    a->batch.submit.operation.submitted_ms);
}

void
audit_stored(struct core *core, struct namespace *ns, const struct outcome *o)
{
	struct audit *a = &ns->audit;

	assert(a->batch.busy);
	a->batch.busy = false;
	namespace_trouble(ns, o);
	for (size_t i = 0; i < a->batch.n_locks; i++) {
		if (o->kind == OUTCOME_DONE && o->processed[i])
			audit_row(core, a, i, &o->locks[i]);
	}
	/* A key that was not read this time is read in the next round. */
	heap_set(&core->heap, &a->timer, batch_end(core, &a->batch));
}

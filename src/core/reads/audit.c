/*
 * The audit: held locks are re-read from time to time, in batches, so that an
 * item that was deleted or broken by hand is noticed although nothing else
 * reads it. At most LOOKS_PER_SECOND, so the period stretches with the
 * number of locks.
 *
 * A row counts only if the hold is still the same, and no write on that lock
 * was under way since the read was sent.
 */
#include "core/reads/room.h"

#include <assert.h>

#include "ddblock.h"

/* Only a semaphore's lock can be met again. */
static bool
audit_has(const struct audit *a, const struct lock *l)
{
	return l->grants->next != NULL && batch_has(&a->batch, l);
}

/* A row is about all grants of its lock. */
static void
audit_add(struct audit *a, const struct grant *g)
{
	struct lock *l = g->lock;

	if (g->state == GRANT_HELD && l->submission == NULL &&
	    !audit_has(a, l))
		batch_add(&a->batch, l);
}

static void
audit_pick(struct audit *a, struct namespace *ns)
{
	struct lease *s;
	struct grant *g;

	DL_FOREACH(ns->sessions, s)
	{
		while (s->state == LEASE_VALID && !batch_is_full(&a->batch) &&
		    (g = grant_next_to_audit(s)) != NULL)
			audit_add(a, g);
	}
	while (!batch_is_full(&a->batch) &&
	    (g = fail_closed_next_to_audit(ns)) != NULL)
		audit_add(a, g);
}

void
audit_timer(struct core *core, struct timer *timer)
{
	struct reads *reads = CONTAINER_OF(timer, struct reads, audit.timer);
	struct namespace *ns = reads->ns;
	struct audit *a = &reads->audit;
	uint64_t next_ms;

	assert(!a->batch.busy && a->batch.n_locks == 0);
	/* A lock granted between two rounds belongs to the coming one. */
	if (!a->running)
		lock_begin_audit(ns);
	a->running = true;
	audit_pick(a, ns);
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

/* The next round begins within the period as it is now. */
void
audit_pace(struct core *core, struct namespace *ns)
{
	struct audit *a = &ns->reads->audit;
	uint64_t next_ms = core->now_ms + ns->settings.audit_ms;

	if (a->running || a->started_ms <= next_ms)
		return;
	a->started_ms = next_ms;
	heap_set(&core->heap, &a->timer, next_ms);
}

static void
audit_row(struct core *core, const struct audit *a, size_t i,
    const struct lock_record *record)
{
	/* No grant is new without a write. */
	if (batch_is_unwritten(&a->batch, i))
		lock_audited(core, a->batch.locks[i], record,
		    a->batch.submit.operation.submitted_ms);
}

void
audit_stored(struct core *core, struct namespace *ns, const struct outcome *o)
{
	struct audit *a = &ns->reads->audit;

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

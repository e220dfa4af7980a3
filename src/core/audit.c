/*
 * The audit: held locks are re-read from time to time, in batches, so that an
 * item that was deleted or broken by hand is noticed although nothing else
 * reads it. At most AUDIT_ITEMS_PER_SECOND, so the period stretches with the
 * number of locks.
 *
 * A row counts only if the hold is still the same, and no write on that lock
 * was under way since the read was sent.
 */
#include "core/state.h"

#include <assert.h>

#include "ddblock.h"

/* The next grant of this round, which goes to the end of its list. */
static struct grant *
audit_next_of(struct session *s, uint16_t round)
{
	struct grant *g = s->grants;

	if (g == NULL || g->audit_round == round)
		return NULL;
	g->audit_round = round;
	DL_DELETE2(s->grants, g, session_previous, session_next);
	DL_APPEND2(s->grants, g, session_previous, session_next);
	return g;
}

static bool
audit_has(const struct audit *a, const struct lock *l)
{
	/* Only a semaphore's lock can be met again. */
	for (size_t i = 0; l->grants->next != NULL && i < a->n_locks; i++) {
		if (a->locks[i] == l)
			return true;
	}
	return false;
}

static void
audit_pick(struct audit *a, struct session *s)
{
	struct grant *g;

	while (a->n_locks < READ_MANY_MAX &&
	    (g = audit_next_of(s, a->round)) != NULL) {
		struct lock *l = g->lock;
		size_t i = a->n_locks;

		/* A row is about all grants of its lock. */
		if (g->state != GRANT_HELD || l->submission != NULL ||
		    audit_has(a, l))
			continue;
		l->references++;
		a->locks[i] = l;
		a->writes[i] = l->writes;
		a->keys[i] = lock_key(l);
		a->n_locks++;
	}
}

static void
audit_submit(struct core *core, struct namespace *ns)
{
	struct audit *a = &ns->audit;

	a->submit.operation = (struct operation){
		.keys = a->keys,
		.n_keys = a->n_locks,
	};
	a->busy = true;
	action_submit(core, &a->submit, ns, OPERATION_READ_MANY,
	    core->now_ms + ns->settings.request_ms, CORE_ABOUT_AUDIT, ns);
}

void
audit_timer(struct core *core, struct namespace *ns)
{
	struct audit *a = &ns->audit;
	struct session *s;
	uint64_t next_ms;

	assert(!a->busy && a->n_locks == 0);
	/* A lock granted between two rounds belongs to the coming one. */
	if (!a->running)
		a->round++;
	a->running = true;
	DL_FOREACH(ns->sessions, s)
	{
		if (s->state == SESSION_VALID)
			audit_pick(a, s);
	}
	if (a->n_locks > 0) {
		audit_submit(core, ns);
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
	struct lock *l = a->locks[i];
	struct grant *g, *next;
	bool lost = false;

	/* No grant is new without a write. */
	if (l->writes != a->writes[i])
		return;
	LL_FOREACH_SAFE(l->grants, g, next)
	{
		if (g->state != GRANT_HELD || record_shows(record, g))
			continue;
		grant_lose(core, g, record_loss(record));
		lost = true;
	}
	/* Of a lock that is held for long nothing else would tell. */
	if (lost)
		lock_advance(core, l);
	else if (l->grants != NULL)
		doubt_seen(core, l, a->submit.operation.submitted_ms);
}

void
audit_stored(struct core *core, struct namespace *ns, const struct outcome *o)
{
	struct audit *a = &ns->audit;
	size_t n_locks = a->n_locks;

	assert(a->busy);
	a->busy = false;
	namespace_trouble(ns, o);
	for (size_t i = 0; i < n_locks; i++) {
		if (o->kind == OUTCOME_DONE && o->processed[i])
			audit_row(core, a, i, &o->locks[i]);
	}
	/* A key that was not read this time is read in the next round. */
	a->n_locks = 0;
	for (size_t i = 0; i < n_locks; i++) {
		a->locks[i]->references--;
		lock_free_if_unused(core, a->locks[i]);
	}
	heap_set(&core->heap, &a->timer,
	    core->now_ms + 1000 * n_locks / AUDIT_ITEMS_PER_SECOND);
}

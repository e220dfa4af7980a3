/*
 * The looks at locks that are watched (watch.c): where nothing else would show
 * what other hosts do, a record is looked at every poll period. All of a
 * namespace stand in line, and go in batches, at most LOOKS_PER_SECOND.
 */
#include "core/internal.h"

#include <assert.h>

#include "ddblock.h"

/* Does this host alone decide who has it? Then no look would show more. */
bool
looks_are_vain(const struct lock *l)
{
	return l->ns->settings.sole_writer || (l->grants != NULL &&
	    l->grants->mode == LOCK_MODE_EXCLUSIVE);
}

void
looks_schedule(struct core *core, struct namespace *ns)
{
	struct looks *looks = &ns->looks;
	uint64_t at_ms;

	if (looks->batch.busy || looks->queue == NULL || core->stopping) {
		heap_unset(&core->heap, &looks->timer);
		return;
	}
	at_ms = looks->queue->due_ms;
	heap_set(&core->heap, &looks->timer,
	    at_ms > looks->next_ms ? at_ms : looks->next_ms);
}

void
looks_leave(struct watched *w)
{
	if (!w->queued)
		return;
	w->queued = false;
	DL_DELETE(w->lock->ns->looks.queue, w);
}

/* All wait for about as long, so the last in line is the last that is due. */
static void
looks_enter(struct core *core, struct watched *w)
{
	struct namespace *ns = w->lock->ns;

	w->queued = true;
	w->due_ms = core->now_ms +
	    random_jitter(&core->random, ns->settings.poll_ms);
	DL_APPEND(ns->looks.queue, w);
}

/* Before the others, unless that was tried a moment ago. */
static void
looks_enter_first(struct core *core, struct watched *w)
{
	struct namespace *ns = w->lock->ns;

	if (w->tried_ms + ns->settings.poll_ms > core->now_ms) {
		if (!w->queued)
			looks_enter(core, w);
		return;
	}
	looks_leave(w);
	w->queued = true;
	w->due_ms = core->now_ms;
	DL_PREPEND(ns->looks.queue, w);
}

/* When is it to be looked at next, if at all? */
void
looks_line_up(struct core *core, struct watched *w, bool known)
{
	struct lock *l = w->lock;

	if (known && looks_are_vain(l))
		looks_leave(w);
	else if (known && !w->queued)
		looks_enter(core, w);
	else if (!known && l->submission == NULL)
		looks_enter_first(core, w);
	looks_schedule(core, l->ns);
}

void
looks_timer(struct core *core, struct namespace *ns)
{
	struct looks *looks = &ns->looks;
	/* A little early, so that more of them go together. */
	uint64_t until_ms = core->now_ms + ns->settings.poll_ms / 4;
	struct watched *w;

	assert(!looks->batch.busy);
	if (core->stopping)
		return;
	while ((w = looks->queue) != NULL && w->due_ms <= until_ms &&
	    !batch_is_full(&looks->batch)) {
		looks_leave(w);
		w->tried_ms = core->now_ms;
		if (w->lock->submission == NULL)
			batch_add(&looks->batch, w->lock);
		else
			looks_enter(core, w); /* its answer tells, too */
	}
	if (looks->batch.n_locks > 0)
		batch_send(core, &looks->batch, ns, CORE_ABOUT_WATCHES);
	looks_schedule(core, ns);
}

void
looks_stored(struct core *core, struct namespace *ns, const struct outcome *o)
{
	struct looks *looks = &ns->looks;
	struct batch *b = &looks->batch;
	int code = o->code != 0 ? o->code : DDBLOCK_E_UNREACHABLE;

	assert(b->busy);
	b->busy = false;
	namespace_trouble(ns, o);
	for (size_t i = 0; i < b->n_locks; i++) {
		struct lock *l = b->locks[i];

		if (l->watched == NULL)
			continue;
		if (o->kind != OUTCOME_DONE || !o->processed[i])
			watch_fail(core, l, code);
		else if (batch_is_news(b, i))
			transfer_looked(core, l, &o->locks[i],
			    b->submit.operation.submitted_ms);
		else
			watch_touch(core, l);
	}
	looks->next_ms = batch_end(core, b);
	looks_schedule(core, ns);
}

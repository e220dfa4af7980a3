/*
 * The looks at locks that are watched (watch.c): where nothing else would show
 * what other hosts do, a record is looked at every poll period. All of a
 * namespace stand in line, and go in batches, at most LOOKS_PER_SECOND.
 */
#include "core/reads/room.h"

#include <assert.h>

#include "ddblock.h"

/* Does this host alone decide about its holder? Then no look would show more.
 * */
bool
watch_poll_is_vain(const struct lock *l)
{
	return l->ns->settings.sole_writer || (l->grants != NULL &&
	    l->grants->mode == LOCK_MODE_EXCLUSIVE);
}

void
watch_poll_schedule(struct core *core, struct namespace *ns)
{
	struct watch_poll *poll = &ns->reads->poll;
	uint64_t at_ms;

	if (poll->batch.busy || poll->queue == NULL || core->stopping) {
		heap_unset(&core->heap, &poll->timer);
		return;
	}
	at_ms = poll->queue->due_ms;
	heap_set(&core->heap, &poll->timer,
	    at_ms > poll->next_ms ? at_ms : poll->next_ms);
}

void
watch_poll_leave(struct watched *w)
{
	if (!w->queued)
		return;
	w->queued = false;
	DL_DELETE(w->lock->ns->reads->poll.queue, w);
}

/* All wait for about as long, so the last in line is the last that is due. */
static void
watch_poll_enter(struct core *core, struct watched *w)
{
	struct namespace *ns = w->lock->ns;

	w->queued = true;
	w->due_ms = core->now_ms +
	    random_jitter(&core->random, ns->settings.poll_ms);
	DL_APPEND(ns->reads->poll.queue, w);
}

/* None waits longer than the period as it is now; their order stays. */
void
watch_poll_pace(struct core *core, struct namespace *ns)
{
	uint64_t last_ms = core->now_ms + ns->settings.poll_ms;
	struct watched *w;

	DL_FOREACH(ns->reads->poll.queue, w)
	{
		if (w->due_ms > last_ms)
			w->due_ms = last_ms;
	}
	watch_poll_schedule(core, ns);
}

/* Now, before the others. */
static void
watch_poll_put_first(struct core *core, struct watched *w)
{
	watch_poll_leave(w);
	w->queued = true;
	w->due_ms = core->now_ms;
	DL_PREPEND(w->lock->ns->reads->poll.queue, w);
}

/* Before the others, unless that was tried a moment ago. */
static void
watch_poll_enter_first(struct core *core, struct watched *w)
{
	if (w->tried_ms + w->lock->ns->settings.poll_ms > core->now_ms) {
		if (!w->queued)
			watch_poll_enter(core, w);
		return;
	}
	watch_poll_put_first(core, w);
}

/* A hint says that there is something to be seen. */
void
watch_poll_enter_now(struct core *core, struct watched *w)
{
	watch_poll_put_first(core, w);
	watch_poll_schedule(core, w->lock->ns);
}

/* When is it to be looked at next, if at all? */
void
watch_poll_line_up(struct core *core, struct watched *w, bool known)
{
	struct lock *l = w->lock;

	if (known && watch_poll_is_vain(l))
		watch_poll_leave(w);
	else if (known && !w->queued)
		watch_poll_enter(core, w);
	else if (!known && l->submission == NULL)
		watch_poll_enter_first(core, w);
	watch_poll_schedule(core, l->ns);
}

void
watch_poll_timer(struct core *core, struct timer *timer)
{
	struct watch_poll *poll =
	    CONTAINER_OF(timer, struct watch_poll, timer);
	struct namespace *ns = CONTAINER_OF(poll, struct reads, poll)->ns;
	/* A little early, so that more of them go together. */
	uint64_t until_ms = core->now_ms + ns->settings.poll_ms / 4;
	struct watched *w;

	assert(!poll->batch.busy);
	if (core->stopping)
		return;
	while ((w = poll->queue) != NULL && w->due_ms <= until_ms &&
	    !batch_is_full(&poll->batch)) {
		watch_poll_leave(w);
		w->tried_ms = core->now_ms;
		if (w->lock->submission == NULL) {
			batch_add(&poll->batch, w->lock);
			watch_hint_sent(w);
		} else
			watch_poll_enter(core, w); /* its answer tells, too */
	}
	if (poll->batch.n_locks > 0)
		batch_send(core, &poll->batch, ns, CORE_ABOUT_WATCHES);
	watch_poll_schedule(core, ns);
}

void
watch_poll_stored(struct core *core, struct namespace *ns,
    const struct outcome *o)
{
	struct watch_poll *poll = &ns->reads->poll;
	struct batch *b = &poll->batch;
	int code = outcome_code(o);

	assert(b->busy);
	b->busy = false;
	namespace_trouble(ns, o);
	for (size_t i = 0; i < b->n_locks; i++) {
		struct lock *l = b->locks[i];

		if (l->watched == NULL)
			continue;
		watch_hint_answered(l->watched);
		if (o->kind != OUTCOME_DONE || !o->processed[i])
			watch_fail(core, l, code);
		else if (batch_is_news(b, i))
			lock_looked(core, l, &o->locks[i],
			    b->submit.operation.submitted_ms);
		else
			watch_touch(core, l);
	}
	poll->next_ms = batch_end(core, b);
	watch_poll_schedule(core, ns);
}

/*
 * Once per period: the first that comes runs, and all others of the fleet are
 * told when, until the period is over.
 *
 * The record says when the last run began that counts. It is asked in the
 * condition of the acquire itself, and said in its write, by the endpoint's
 * clock: so no other client comes between the two, and no host's clock matters.
 *
 *  1. Such a grant is for the one client that it was asked for. It is not kept
 *     without one, nor passed on: the next one asks the record.
 *  2. What counts when it was started is in the record from the acquire on. If
 *     no client was told of the grant after all, its release takes that back.
 *  3. What counts when it succeeded is said by the release, for a client that
 *     released it; its end, its loss and a takeover say nothing.
 *  4. A waiter is told that it is not due by any record that says so, held or
 *     free; but not by a record of a grant of ours that no client was
 *     told of.
 */
#include "core/lock/room.h"

#include <stdio.h>

#include "ddblock.h"

#define EVERY_TOLD_MAX 100	/* waiters, in a step */

struct every *
grant_every(const struct grant *g)
{
	return g->extras->every.period_s == 0 ? NULL : &g->extras->every;
}

bool
grant_is_once(const struct grant *g)
{
	return g->extras != NULL && grant_every(g) != NULL;
}

/* Is it for this waiter, or are both for any? */
bool
every_suits(const struct grant *g, const struct waiter *w)
{
	const struct every *e = grant_every(g);

	return e == NULL ? w->every_s == 0 : !e->begun &&
	    e->period_s == w->every_s && e->at_end == w->counts_at_end;
}

/* What its acquire asks and says. It has extras. */
void
every_ask(struct grant *g, const struct waiter *w, struct operation *o)
{
	g->extras->every = (struct every){
		.period_s = w->every_s, .at_end = w->counts_at_end,
	};
	o->every_s = w->every_s;
	o->marks = !w->counts_at_end;
}

/* A client has it. */
void
every_begin(struct grant *g)
{
	g->extras->every.begun = true;
}

/* And was done with it, of its own will. */
void
every_succeed(struct grant *g)
{
	struct every *e = &g->extras->every;

	if (!e->at_end)
		return;
	e->succeeded = true;
	grant_touch(g);
}

/* What its release says. */
enum run_end
every_end(const struct grant *g)
{
	const struct every *e = grant_every(g);

	if (e == NULL)
		return RUN_AS_IT_IS;
	if (!e->begun)
		return e->at_end ? RUN_AS_IT_IS : RUN_NEVER_WAS;
	return e->succeeded ? RUN_COUNTS : RUN_AS_IT_IS;
}

/* Does the record say so only by a grant of ours that no client was told of?
 * That may be one that is not known any more. */
static bool
every_is_ours(const struct lock *l, const struct lock_record *record)
{
	const struct grant *g = l->grants;

	if (!record->marked || record->n_holders != 1)
		return false;
	if (g != NULL && grant_is_holder(g, &record->holders[0]))
		return !grant_is_once(g) || !g->extras->every.begun;
	return session_find(l->ns, record->holders[0].session) != NULL;
}

static bool
every_is_due(const struct waiter *w, const struct lock_record *record)
{
	return w->every_s == 0 || record->ran_s == 0 ||
	    (record->asked_s >= record->ran_s &&
		record->asked_s - record->ran_s >= w->every_s);
}

/* Was it not acquired for that, and is free for others? */
static bool
every_is_free(const struct submission *s, const struct outcome *o)
{
	return o->kind == OUTCOME_CONFLICT && o->lock.n_holders == 0 &&
	    s->submit.operation.kind == OPERATION_ACQUIRE &&
	    s->submit.operation.every_s > 0;
}

/* Those that wait, and need not. */
void
every_seen(struct core *core, struct lock *l, const struct submission *s,
    const struct outcome *o)
{
	const struct lock_record *record = &o->lock;
	char text[OWNER_LENGTH_MAX + 64] = "";
	struct waiter *w, *next;
	uint32_t n = 0;

	if (every_is_ours(l, record))
		return;
	if (record->owner != NULL && record->acquired_at_s == record->ran_s)
		(void)snprintf(text, sizeof(text),
		    "it has run in this period already, by %s",
		    record->owner);
	for (w = l->queue; w != NULL && n < EVERY_TOLD_MAX; w = next) {
		next = w->next;
		if (every_is_due(w, record))
			continue;
		n++;
		w->ran_s = record->ran_s;
		core->lock_events->answered(core, w, DDBLOCK_E_NOT_DUE, 0,
		    text);
	}
	if (n == 0 || !every_is_free(s, o))
		return;
	l->refused = false;
	l->view = VIEW_FREE;
}

/*
 * From exclusive to shared use, without a moment in which the lock is free:
 * one write puts another element in the place of the one that the hold has.
 *
 *  1. From the moment it is asked for, the client may rely on shared use only,
 *     because others may come in as soon as the write lands.
 *  2. The write is the same however often it is sent: the record shows one
 *     element or the other, and both of them are ours until it is known which.
 *  3. Nothing else is done with the grant before that.
 */
#include "core/lock/room.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

static struct downgrade *
downgrade_new(struct core *core, struct waiter *w, const char *owner,
    uint16_t limit)
{
	struct downgrade *downgrade = calloc(1, sizeof(*downgrade));

	if (downgrade == NULL)
		return NULL;
	if (owner != NULL) {
		downgrade->owner = strdup(owner);
		if (downgrade->owner == NULL) {
			free(downgrade);
			return NULL;
		}
	}
	downgrade->id = random_ident(&core->random);
	downgrade->limit = limit;
	downgrade->waiter = w;
	return downgrade;
}

int
downgrade_begin(struct core *core, struct grant *g, struct waiter *w,
    const char *owner, uint16_t limit)
{
	struct downgrade *downgrade = downgrade_new(core, w, owner, limit);

	if (downgrade == NULL)
		return DDBLOCK_E_NOMEM;
	if (grant_extras(g) == NULL) {
		downgrade_free(downgrade);
		return DDBLOCK_E_NOMEM;
	}
	g->extras->downgrade = downgrade;
	w->grant = g;
	lock_advance(core, g->lock);
	return 0;
}

/* It goes on without the client that asked for it. */
void
downgrade_stop_awaiting(struct waiter *w)
{
	grant_downgrade(w->grant)->waiter = NULL;
	w->grant = NULL;
}

/* Its holder waits no longer: to be given back, it must be known which of the
 * two is in the record, unless the write was never sent. */
static bool
downgrade_is_needed(const struct grant *g)
{
	return g->uses != NULL || grant_downgrade(g)->sent;
}

void
downgrade_advance(struct core *core, struct grant *g)
{
	struct lock *l = g->lock;

	if (l->submission != NULL)
		return;
	if (!downgrade_is_needed(g)) {
		downgrade_end(core, g, DDBLOCK_E_NO_SUCH_LOCK, 0, NULL);
		lock_advance(core, l);
		return;
	}
	if (lock_must_wait(core, l))
		return;
	if (!submission_send(core, l, OPERATION_ACQUIRE, g))
		return;
	grant_downgrade(g)->sent = true;
	saved_touch(core, &g->saved, SAVED_GRANT);
}

static void
downgrade_done(struct core *core, struct grant *g, const struct outcome *o,
    uint64_t submitted_ms)
{
	const struct downgrade *downgrade = grant_downgrade(g);
	struct lock *l = g->lock;
	struct use *u = g->uses;

	g->id = downgrade->id;
	g->mode = LOCK_MODE_SHARED;
	g->limit = downgrade->limit;
	g->token_last = o->lock.token;
	g->token_next = o->lock.token;
	g->audit_round = l->ns->audit_round;
	if (u != NULL)
		u->token = g->token_last & TOKEN_MAX;
	if (u != NULL)
		core->lock_events->downgraded(core, downgrade->waiter, u);
	downgrade_end(core, g, u != NULL ? 0 : DDBLOCK_E_NO_SUCH_LOCK, 0,
	    NULL);
	record_seen(core, l, &o->lock, submitted_ms);
}

/* The answer. @g may have been lost meanwhile, and the downgrade with it. */
void
downgrade_stored(struct core *core, struct lock *l, struct ident id,
    const struct outcome *o, uint64_t submitted_ms)
{
	struct grant *g = grant_find(l, id);

	if (g == NULL)
		return;
	assert(g->state == GRANT_HELD && grant_downgrade(g) != NULL);
	if (o->kind == OUTCOME_DONE) {
		downgrade_done(core, g, o, submitted_ms);
	} else if (o->kind == OUTCOME_CONFLICT) {
		/* An extension without an answer has landed after all; or our
		 * element was removed. */
		if (!record_shows(&o->lock, g)) {
			grant_lose(core, g, record_loss(&o->lock));
			return;
		}
		record_seen(core, l, &o->lock, submitted_ms);
		grant_adopt(core, g, &o->lock);
	} else {
		if (o->kind == OUTCOME_REFUSED && !o->unanswered &&
		    !grant_downgrade(g)->unsure)
			downgrade_end(core, g, o->code, 0, o->text);
		else
			grant_downgrade(g)->unsure = true;
		lock_hold_off(core, l, lock_poll_ms(l));
	}
}

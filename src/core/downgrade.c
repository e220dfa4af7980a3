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
#include "core/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

/* NULL: there is nothing that can be changed, and the request was answered. */
static struct grant *
downgrade_find(struct core *core, struct request *r, uint64_t id)
{
	struct hold *h = client_hold(core, r, id);

	if (h == NULL)
		return NULL;
	if (hold_joint(h) != NULL) {
		request_reply(core, r, DDBLOCK_E_UNSUPPORTED, 0,
		    "a hold of several locks keeps the mode that was asked "
		    "for");
		return NULL;
	}
	if (h->fail_closed) {
		request_reply(core, r, DDBLOCK_E_UNSUPPORTED, 0,
		    "this hold is fail-closed, and stays as it is");
		return NULL;
	}
	if (h->grant->mode != LOCK_MODE_EXCLUSIVE) {
		request_reply(core, r, DDBLOCK_E_BAD_REQUEST, 0,
		    "this hold shares the lock already");
		return NULL;
	}
	if (grant_downgrade(h->grant) != NULL) {
		request_reply(core, r, DDBLOCK_E_BAD_REQUEST, 0,
		    "this hold is being downgraded");
		return NULL;
	}
	return h->grant;
}

void
downgrade_free(struct downgrade *downgrade)
{
	if (downgrade == NULL)
		return;
	free(downgrade->owner);
	free(downgrade);
}

static struct downgrade *
downgrade_new(struct core *core, struct request *r,
    const struct core_request *ask)
{
	struct downgrade *downgrade = calloc(1, sizeof(*downgrade));
	const struct hold *h = hold_find(core, ask->hold);
	const char *owner = h == NULL ? NULL : hold_owner(h);

	if (downgrade == NULL)
		return NULL;
	if (owner == NULL)
		owner = ask->owner;
	if (owner != NULL) {
		downgrade->owner = strdup(owner);
		if (downgrade->owner == NULL) {
			free(downgrade);
			return NULL;
		}
	}
	downgrade->id = random_ident(&core->random);
	downgrade->limit = (uint16_t)ask->terms.limit;
	downgrade->request = r;
	return downgrade;
}

int
downgrade_ask(struct core *core, struct request *r,
    const struct core_request *ask)
{
	struct grant *g;
	struct downgrade *downgrade;

	if (ask->terms.mode != LOCK_MODE_SHARED ||
	    ask->terms.limit > CORE_LIMIT_MAX)
		return DDBLOCK_E_BAD_REQUEST;
	downgrade = downgrade_new(core, r, ask);
	if (downgrade == NULL)
		return DDBLOCK_E_NOMEM;
	g = downgrade_find(core, r, ask->hold);
	if (g == NULL) {
		downgrade_free(downgrade);
		return 0;
	}
	if (grant_extras(g) == NULL) {
		downgrade_free(downgrade);
		return DDBLOCK_E_NOMEM;
	}
	g->extras->downgrade = downgrade;
	r->grant = g;
	r->terms = ask->terms;
	r->deadline_ms = core->now_ms + g->lock->ns->settings.request_ms;
	heap_set(&core->heap, &r->timer, r->deadline_ms);
	lock_advance(core, g->lock);
	return 0;
}

/* It is over: it happened, it did not, or the grant ends. */
void
downgrade_end(struct core *core, struct grant *g, int code, int cause,
    const char *text)
{
	struct downgrade *downgrade = grant_downgrade(g);

	if (downgrade == NULL)
		return;
	if (downgrade->request != NULL)
		request_reply(core, downgrade->request, code, cause, text);
	g->extras->downgrade = NULL;
	downgrade_free(downgrade);
}

/* Its holder waits no longer: to be given back, it must be known which of the
 * two is in the record, unless the write was never sent. */
static bool
downgrade_is_needed(const struct grant *g)
{
	return g->holds != NULL || grant_downgrade(g)->sent;
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
	if (submission_send(core, l, OPERATION_ACQUIRE, g))
		grant_downgrade(g)->sent = true;
}

static void
downgrade_done(struct core *core, struct grant *g, const struct outcome *o,
    uint64_t submitted_ms)
{
	const struct downgrade *downgrade = grant_downgrade(g);
	struct lock *l = g->lock;
	struct request *r = downgrade->request;
	struct hold *h = g->holds;

	g->id = downgrade->id;
	g->mode = LOCK_MODE_SHARED;
	g->limit = downgrade->limit;
	g->token_last = o->lock.token;
	g->token_next = o->lock.token;
	g->audit_round = l->ns->audit.round;
	if (h != NULL)
		h->token = g->token_last;
	if (r != NULL && h != NULL)
		queue_fill_grant(core, r, h);
	downgrade_end(core, g, h != NULL ? 0 : DDBLOCK_E_NO_SUCH_LOCK, 0,
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
		/* Tokens that were asked for in vain have landed after all; or
		 * somebody took our element out. */
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

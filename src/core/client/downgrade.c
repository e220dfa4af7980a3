/*
 * DOWNGRADE: what may be changed from exclusive to shared use. How it is done
 * is the locks' (lock/downgrade.c).
 */
#include "core/client/room.h"

#include "ddblock.h"

/* Why not? NULL: it may be. */
static const char *
downgrade_refuse(const struct hold *h, int *ret_code)
{
	*ret_code = DDBLOCK_E_UNSUPPORTED;
	if (hold_multi(h) != NULL)
		return "a hold of several locks keeps the mode that was asked "
		       "for";
	if (h->use.fail_closed)
		return "this hold is fail-closed, which cannot be downgraded";
	if (grant_is_once(h->use.grant))
		return "this hold is that of a run that counts for a period "
		       "(every), which cannot be downgraded";
	*ret_code = DDBLOCK_E_BAD_REQUEST;
	if (h->use.grant->mode != LOCK_MODE_EXCLUSIVE)
		return "this hold shares the lock already";
	if (grant_is_being_downgraded(h->use.grant))
		return "this hold is being downgraded";
	return NULL;
}

int
downgrade_ask(struct core *core, struct request *r,
    const struct core_request *ask)
{
	struct hold *h;
	const char *owner, *why;
	int code;

	if (ask->terms.mode != LOCK_MODE_SHARED ||
	    ask->terms.limit > CORE_LIMIT_MAX)
		return DDBLOCK_E_BAD_REQUEST;
	h = request_hold(core, r, ask->hold);
	if (h == NULL)
		return 0;
	why = downgrade_refuse(h, &code);
	if (why != NULL) {
		request_reply(core, r, code, 0, why);
		return 0;
	}
	owner = hold_labels(h).owner != NULL ? hold_labels(h).owner :
	    ask->owner;
	r->terms = ask->terms;
	r->waiter.deadline_ms =
	    core->now_ms + h->use.lock->ns->settings.request_ms;
	heap_set(&core->later, &r->waiter.timer, r->waiter.deadline_ms);
	return downgrade_begin(core, h->use.grant, &r->waiter, owner,
	    (uint16_t)ask->terms.limit);
}

void
downgrade_told(struct core *core, struct waiter *w, struct use *u)
{
	hold_touch(core, hold_of(u));
	if (w != NULL)
		wait_fill_grant(core, request_of(w), hold_of(u));
}

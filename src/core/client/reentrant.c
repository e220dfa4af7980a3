/*
 * A lock once more, for the client that has it (terms.c counts how often). No
 * store operation is sent, and no waiter is overtaken: it is the same hold.
 */
#include "core/client/room.h"

#include "ddblock.h"

/* It is held once more. */
static void
reenter(struct core *core, struct hold *h, struct request *r)
{
	h->terms->count++;
	hold_touch(core, h);
	wait_fill_grant(core, r, h);
	request_reply(core, r, 0, 0, NULL);
}

/* What its client asked for meanwhile, to have it again, need not wait. */
void
reentrant_waiting(struct core *core, struct hold *h)
{
	struct request *r, *next;

	if (h->terms == NULL || h->terms->count == 0)
		return;
	DL_FOREACH_SAFE2(h->client->requests, r, next, client_next)
	{
		if (r->waiter.lock == h->use.lock && r->waiter.change == NULL &&
		    terms_may_reenter(h, &r->terms))
			reenter(core, h, r);
	}
}

/* Does its client have the lock so that it gets it again? Then it is
 * answered. */
bool
reentrant_now(struct core *core, struct hold *h, struct request *r)
{
	if (!terms_may_reenter(h, &r->terms))
		return false;
	if (r->waiter.change != NULL)
		request_reply(core, r, DDBLOCK_E_BAD_REQUEST, 0,
		    "this connection has the lock; RENEW changes its data");
	else
		reenter(core, h, r);
	return true;
}

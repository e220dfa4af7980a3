/*
 * Renewals that clients ask for: answered by the next one of their session, or
 * from memory by one that was just made.
 */
#include "core/client/room.h"

#include "ddblock.h"

/* A renewal by request is answered from memory if the last one is so fresh. */
#define RENEWAL_FRESH_MS 500

/* The hold that a client asked to renew may have ended meanwhile. */
static int
renew_code(const struct core *core, const struct request *r)
{
	const struct hold *h = hold_find(core, r->reply.hold);

	if (h == NULL)
		return DDBLOCK_E_NO_SUCH_LOCK;
	return h->lost ? DDBLOCK_E_LOCK_LOST : 0;
}

/* Until when is it good? */
static void
renew_tell_deadline(struct core *core, struct hold *h,
    struct core_reply *reply)
{
	terms_prolong(core, h);
	reply->until_ms = terms_until_ms(h);
	reply->remaining_ms = reply->until_ms > core->now_ms ?
	    reply->until_ms - core->now_ms : 0;
}

/* A fail-closed hold is not lost with the session. */
static bool
renew_is_needless(const struct core *core, const struct request *r)
{
	const struct hold *h = hold_find(core, r->reply.hold);

	return h != NULL && h->use.fail_closed && !h->lost;
}

void
renew_answer(struct core *core, struct lease *s, int code)
{
	struct request *r, *next;

	DL_FOREACH_SAFE2(s->renewals, r, next, renew_next)
	{
		int own = code == 0 ? renew_code(core, r) : code;

		if (own == 0)
			renew_tell_deadline(core,
			    hold_find(core, r->reply.hold), &r->reply);
		else if (renew_is_needless(core, r))
			own = DDBLOCK_E_UNREACHABLE;
		request_reply(core, r, own, 0, code == 0 ? NULL : s->text);
	}
}

/* A client asks for a renewal now; of a fail-closed hold, whether the store
 * answers. */
static void
renew_lease(struct core *core, struct lease *s, struct request *r)
{
	/* What never ends is as good as renewed while the store answers. */
	if (s == NULL && r->ns->never_ends &&
	    r->ns->cause == 0) {
		request_reply(core, r, 0, 0, NULL);
		return;
	}
	if (s == NULL || s->state != LEASE_VALID) {
		request_reply(core, r, DDBLOCK_E_UNREACHABLE, r->ns->cause,
		    r->ns->text);
		return;
	}
	if (core->now_ms - s->sent_ms < RENEWAL_FRESH_MS) {
		int code = renew_code(core, r);

		if (code == 0)
			renew_tell_deadline(core,
			    hold_find(core, r->reply.hold), &r->reply);
		request_reply(core, r, code, 0, NULL);
		return;
	}
	r->lease = s;
	DL_APPEND2(s->renewals, r, renew_previous, renew_next);
	lease_renew(core, s);
}

/* Which lease is it that is renewed for this hold? */
static struct lease *
renew_lease_of(struct core *core, const struct hold *h)
{
	return hold_multi(h) == NULL ? grant_lease(h->use.grant) :
	    multi_renew(core, hold_multi(h));
}

int
renew_ask(struct core *core, struct request *r,
    const struct core_request *ask)
{
	struct hold *h = request_hold(core, r, ask->hold);
	char text[OUTCOME_TEXT_MAX];

	if (h == NULL)
		return 0;
	if (format_refuse_change(h->use.lock->ns, r->waiter.change, text,
	    sizeof(text)) < 0)
		request_reply(core, r, DDBLOCK_E_UNSUPPORTED, 0, text);
	else if (r->waiter.change != NULL && hold_multi(h) != NULL)
		request_reply(core, r, DDBLOCK_E_UNSUPPORTED, 0,
		    CLIENT_MULTI);
	else if (!hold_may_change(h, r->waiter.change))
		request_reply(core, r, DDBLOCK_E_BAD_REQUEST, 0,
		    CLIENT_SHARES);
	else {
		r->waiter.deadline_ms =
		    core->now_ms + h->use.lock->ns->settings.request_ms;
		heap_set(&core->later, &r->waiter.timer,
		    r->waiter.deadline_ms);
		r->ns = h->use.lock->ns;
		r->reply.hold = ask->hold;
		if (r->waiter.change == NULL) {
			renew_lease(core, renew_lease_of(core, h), r);
			return 0;
		}
		if (update_join(h->use.grant, &r->waiter) < 0)
			return DDBLOCK_E_NOMEM;
		lock_advance(core, h->use.lock);
	}
	return 0;
}

/* What it was to change is changed: now the renewal, if it was one and no
 * release of what stays held (at_least.c). */
void
renew_updated(struct core *core, struct grant *g, struct waiter *w)
{
	struct request *r = request_of(w);

	if (r->reply.verb == CORE_RELEASE)
		request_reply(core, r, r->waiter.released_code, 0, NULL);
	else
		renew_lease(core, grant_lease(g), r);
}

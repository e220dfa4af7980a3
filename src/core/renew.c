/*
 * Renewals that clients ask for: answered by the next one of their session, or
 * from memory by one that was just made.
 */
#include "core/internal.h"

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

	return h != NULL && h->fail_closed && !h->lost;
}

void
renew_answer(struct core *core, struct session *s, int code)
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
void
renew_ask(struct core *core, struct session *s, struct request *r)
{
	/* What never ends is as good as renewed while the store answers. */
	if (s == NULL && r->ns->settings.life == LOCK_LIFE_NEVER &&
	    r->ns->cause == 0) {
		request_reply(core, r, 0, 0, NULL);
		return;
	}
	if (s == NULL || s->state != SESSION_VALID) {
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
	r->session = s;
	DL_APPEND2(s->renewals, r, renew_previous, renew_next);
	/* A lock's own may be in the middle of something: its timer does it. */
	if (s->lock != NULL)
		s->beat_at_ms = core->now_ms;
	else if (!s->busy)
		session_beat(core, s);
	session_schedule(core, s);
}

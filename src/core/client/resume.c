/*
 * What outlives its connection (linger.c): a client resumes it, or its time
 * ends.
 */
#include "core/client/room.h"

#include <assert.h>

#include "ddblock.h"

/* What no answer tells apart: that there is none, that it is another user's,
 * that its time is over. */
#define LINGER_NOTHING "nothing can be resumed with this secret by this user"

/* Its time is over; that of several as one is the same. */
void
linger_timer(struct core *core, struct timer *timer)
{
	struct hold *h =
	    CONTAINER_OF(timer, struct terms, linger_timer)->hold;

	assert(linger_keeps(h));
	hold_desert_all(core, h);
}

/* Not 0: it is another one. As many steps whatever it is. */
static uint64_t
linger_differs(const struct core_secret *a, const struct core_secret *b)
{
	uint64_t differs = 0;

	for (size_t i = 0; i < sizeof(a->digest); i++)
		differs |= (uint64_t)(a->digest[i] ^ b->digest[i]);
	return differs;
}

/* Nor does it matter how much of it is right. */
static struct linger *
linger_find(const struct core *core, const struct core_request *ask)
{
	struct linger *l, *found = NULL;

	DL_FOREACH(core->lingers, l)
	{
		uint64_t differs = linger_differs(&l->secret, ask->secret) |
		    (l->user ^ ask->user);

		found = differs == 0 ? l : found;
	}
	return found;
}

/* What is left when the end of its connection has begun is known only when that
 * is over: perhaps nothing. */
static struct linger *
linger_find_settled(struct core *core, const struct core_request *ask)
{
	struct linger *l = linger_find(core, ask);

	if (l == NULL || !l->client->leaving)
		return l;
	client_cut_off_now(core, l->client->id);
	return linger_find(core, ask);
}

static bool
linger_has_any(const struct linger *l)
{
	const struct hold *h;

	DL_FOREACH2(l->client->holds, h, client_next)
	{
		if (linger_keeps(h))
			return true;
	}
	return false;
}

/* Would it not meet anything of its own in what it resumes? */
static bool
linger_may_come(const struct client *c)
{
	const struct request *r;

	DL_FOREACH2(c->requests, r, client_next)
	{
		if (r->reply.verb == CORE_ACQUIRE)
			return false;
	}
	return c->holds == NULL;
}

/* Its connection may be there yet: then it ends now, and what it had beside
 * that is lost to it. */
static void
linger_part(struct core *core, struct request *r, struct client *old)
{
	if (old->gone)
		return;
	r->closing.client = old->id;
	client_cut_off_now(core, old->id);
	action_add(core, &r->closing.action, CORE_CLOSE);
}

/* It is another client's now, as it is. */
static void
linger_move_hold(struct core *core, struct hold *h, struct client *to)
{
	struct client *from = h->client;

	notice_withdraw(core, h);
	linger_count(h, false);
	DL_DELETE2(from->holds, h, client_previous, client_next);
	DL_APPEND2(to->holds, h, client_previous, client_next);
	from->n_holds--;
	to->n_holds++;
	hold_share(core, h, from, to);
	if (!h->lost)
		hold_count_valid(h, -1);
	h->client = to;
	if (!h->lost)
		hold_count_valid(h, 1);
	h->notice.client = to->id;
	hold_touch(core, h);
	lock_touch(core, h->use.lock);
}

static void
linger_move(struct core *core, struct linger *l, struct client *to,
    bool resumes)
{
	struct client *old = l->client;
	struct hold *h, *next;

	linger_free(core, to->linger);
	DL_FOREACH_SAFE2(old->holds, h, next, client_next)
	{
		if (!linger_keeps(h))
			continue;
		linger_move_hold(core, h, to);
		terms_resume(core, h, resumes);
	}
	old->linger = NULL;
	to->linger = l;
	l->client = to;
	l->least_ms = 0;
	client_touch(core, to);
	client_free_if_unused(core, old);
}

int
linger_resume(struct core *core, struct request *r,
    const struct core_request *ask)
{
	struct client *c = r->client;
	struct linger *l;

	if (!linger_may_come(c)) {
		request_reply(core, r, DDBLOCK_E_BAD_REQUEST, 0,
		    "a connection resumes holds before it asks for a lock of "
		    "its own");
		return 0;
	}
	l = linger_find_settled(core, ask);
	if (l == NULL || !linger_has_any(l)) {
		request_reply(core, r, DDBLOCK_E_NO_SUCH_LOCK, 0,
		    LINGER_NOTHING);
		return 0;
	}
	linger_part(core, r, l->client);
	l->secret = *ask->secret;
	linger_move(core, l, c, ask->terms.resumes);
	request_reply(core, r, 0, 0, NULL);
	return 0;
}

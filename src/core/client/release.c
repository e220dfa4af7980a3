/*
 * Giving back: a hold of one lock, or of several as one.
 */
#include "core/client/room.h"

#include "ddblock.h"

/* Forget a hold. If the grant is to end with it, @r (if any) waits for that,
 * and the lock is returned. */
static struct lock *
release_let_go(struct core *core, struct request *r, struct hold *h)
{
	struct grant *g = h->use.grant;

	if (g != NULL && g->extras != NULL)
		every_succeed(g);
	if (at_least_keeps(core, h)) {
		at_least_let_go(core, h);
		return NULL;
	}
	hold_tell_end(core, h, CORE_END_RELEASED);
	if (g != NULL)
		grant_drop_use(&h->use);
	hold_end(core, h);
	/* Where other clients here share it, or one that lost it did, nothing
	 * is written now. */
	if (g == NULL || grant_is_taken(core, g))
		return NULL;
	grant_await_release(core, g, r == NULL ? NULL : &r->waiter);
	return g->lock;
}

/* All of it, if it is one of several locks: how many of them are to be
 * released, and in @ret which. */
static size_t
release_let_go_of_all(struct core *core, struct request *r, struct hold *h,
    struct lock *ret[MULTI_MAX])
{
	struct multi *j = hold_multi(h);
	uint32_t n = j == NULL ? 1 : j->n;
	size_t n_locks = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct lock *l = release_let_go(core, r,
		    j == NULL ? h : j->parts[i].hold);

		if (l != NULL)
			ret[n_locks++] = l;
	}
	return n_locks;
}

/* Of several locks each is released by itself, all at the same time
 * (doc/records.md). */
static void
release_begin(struct core *core, struct lock *const *locks, size_t n)
{
	for (size_t i = 0; i < n; i++)
		lock_release(core, locks[i]);
}

/* What is under way for a lock comes first; the client does not wait for that
 * and for the release. */
static void
release_await(struct core *core, struct request *r)
{
	r->waiter.deadline_ms = core->now_ms + r->ns->settings.request_ms;
	heap_set(&core->later, &r->waiter.timer, r->waiter.deadline_ms);
}

/* Is there a reason why not? Then it is answered. */
static bool
release_is_refused(struct core *core, struct request *r, const struct hold *h)
{
	int code = 0;
	const char *why = NULL;
	char text[OUTCOME_TEXT_MAX];

	if (r->waiter.change == NULL)
		return false;
	code = format_refuse_change(h->use.lock->ns, r->waiter.change, text,
	    sizeof(text));
	if (code < 0) {
		why = text;
	} else if (hold_multi(h) != NULL) {
		code = DDBLOCK_E_UNSUPPORTED;
		why = CLIENT_MULTI;
	} else if (hold_count(h) > 1) {
		code = DDBLOCK_E_BAD_REQUEST;
		why = "this connection has the lock more than once; RENEW or "
		      "the last RELEASE changes its data";
	} else if (!hold_may_change(h, r->waiter.change)) {
		code = DDBLOCK_E_BAD_REQUEST;
		why = CLIENT_SHARES;
	}
	if (code < 0)
		request_reply(core, r, code, 0, why);
	return code < 0;
}

/* May a client that does not have it release it? (process.c, 6) */
static bool
release_may_take(const struct request *r, const struct hold *h)
{
	return r->of_process && (process_has(h) ||
	    (h->terms != NULL && h->terms->closed_process));
}

/* Another client does. The client that has it is told, unless it has left. A
 * loss is not taken from it, for it is yet to tell its process: false. */
static bool
release_take(struct core *core, struct request *r, struct hold *h)
{
	if (h->client->gone)
		return true;
	if (h->lost) {
		request_reply(core, r, DDBLOCK_E_LOCK_LOST, 0,
		    hold_why_lost(h));
		return false;
	}
	h->notice.loss = CORE_LOSS_RELEASED;
	notice_send(core, h, CORE_LOST);
	return true;
}

/* What it is to change is changed first, as by a renewal, where the lock stays
 * held. */
static int
release_change(struct core *core, struct request *r, struct hold *h)
{
	struct lock *l = h->use.lock;

	if (update_join(h->use.grant, &r->waiter) < 0)
		return DDBLOCK_E_NOMEM;
	r->ns = l->ns;
	at_least_let_go(core, h);
	release_await(core, r);
	lock_advance(core, l);
	return 0;
}

/* Once, or @all of the times that it is held. */
int
release_ask(struct core *core, struct request *r,
    const struct core_request *ask)
{
	struct hold *h = hold_known_as(core, ask->hold);
	struct lock *locks[MULTI_MAX];
	const char *why;
	size_t n;
	bool lost;

	if (h == NULL) {
		request_reply(core, r, DDBLOCK_E_NO_SUCH_LOCK, 0, NULL);
		return 0;
	}
	if (h->client != r->client && !release_may_take(r, h)) {
		request_reply(core, r, DDBLOCK_E_LOCK_NOT_OWNED, 0, NULL);
		return 0;
	}
	lost = h->lost;
	if (!lost && release_is_refused(core, r, h))
		return 0;
	if (h->client != r->client && !release_take(core, r, h))
		return 0;
	why = hold_why_lost(h);
	r->reply.count = terms_leave(h, ask->all);
	if (r->reply.count > 0) {
		request_reply(core, r, lost ? DDBLOCK_E_LOCK_LOST :
		    r->waiter.released_code, 0, lost ? why : NULL);
		return 0;
	}
	if (r->waiter.change != NULL && at_least_keeps(core, h))
		return release_change(core, r, h);
	r->ns = h->use.lock->ns;
	r->waiter.keeps_contents = r->waiter.change != NULL;
	n = release_let_go_of_all(core, r, h, locks);
	if (lost)
		request_reply(core, r, DDBLOCK_E_LOCK_LOST, 0, why);
	else if (n == 0)
		request_reply(core, r, r->waiter.released_code, 0, NULL);
	else
		release_await(core, r);
	release_begin(core, locks, n);
	return 0;
}

/* There is no memory for the request: what it gives back is given back all the
 * same, for the client uses it no more. */
void
release_unheard(struct core *core, const struct client *c,
    const struct core_request *ask)
{
	struct hold *h = hold_known_as(core, ask->hold);
	struct lock *locks[MULTI_MAX];

	if (h == NULL || h->client != c || terms_leave(h, ask->all) > 0)
		return;
	release_begin(core, locks,
	    release_let_go_of_all(core, NULL, h, locks));
}

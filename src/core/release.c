/*
 * Giving back: a hold of one lock, or of several as one.
 */
#include "core/internal.h"


#include "ddblock.h"

/* Forget a hold. If the grant is to end with it, @r waits for that. */
static void
client_let_go(struct core *core, struct request *r, struct hold *h)
{
	struct grant *g = h->grant;

	if (g != NULL)
		grant_drop_hold(h);
	hold_end(core, h);
	/* Where others here share it, or one that lost it did, nothing is to
	 * be written now. */
	if (g == NULL || grant_is_taken(core, g))
		return;
	/* Who released it before, and waits, did so: it was had since. */
	grant_released(core, g, 0, 0, NULL);
	g->releasing = r;
	LL_APPEND2(r->grants, g, releasing_next);
}

static void
client_let_go_of_all(struct core *core, struct request *r, struct hold *h)
{
	struct joint *j = hold_joint(h);

	if (j == NULL)
		client_let_go(core, r, h);
	for (uint32_t i = 0; j != NULL && i < j->n; i++)
		client_let_go(core, r, j->parts[i].hold);
}

/* Of several locks each is released by itself, all at the same time
 * (doc/records.md). */
static void
client_await_release(struct core *core, struct request *r)
{
	struct lock *locks[TOGETHER_MAX];
	struct grant *g;
	size_t n = 0;

	LL_FOREACH2(r->grants, g, releasing_next)
	{
		locks[n++] = g->lock;
	}
	/* What is under way for a lock comes first; the client does not wait
	 * for that and for the release. */
	r->deadline_ms = core->now_ms + locks[0]->ns->settings.request_ms;
	heap_set(&core->heap, &r->timer, r->deadline_ms);
	for (size_t i = 0; i < n; i++)
		lock_release(core, locks[i]);
}

/* Is there a reason why not? Then it is answered. */
static bool
client_refuses(struct core *core, struct request *r, const struct hold *h)
{
	int code = 0;
	const char *why = NULL;

	if (r->change == NULL)
		return false;
	if (hold_joint(h) != NULL) {
		code = DDBLOCK_E_UNSUPPORTED;
		why = CLIENT_SEVERAL;
	} else if (terms_count(h) > 1) {
		code = DDBLOCK_E_BAD_REQUEST;
		why = "this connection has the lock more than once; RENEW or "
		      "the last RELEASE changes what is kept in it";
	} else if (!client_may_change(r, h)) {
		code = DDBLOCK_E_BAD_REQUEST;
		why = CLIENT_SHARES;
	}
	if (code < 0)
		request_reply(core, r, code, 0, why);
	return code < 0;
}

/* Once, or @all of the times that it is held. */
int
client_release(struct core *core, struct request *r, uint64_t id, bool all)
{
	struct hold *h = client_find_hold(core, id);
	const char *why;
	bool lost;

	if (h == NULL) {
		request_reply(core, r, DDBLOCK_E_NO_SUCH_LOCK, 0, NULL);
		return 0;
	}
	if (h->client != r->client) {
		request_reply(core, r, DDBLOCK_E_LOCK_NOT_OWNED, 0, NULL);
		return 0;
	}
	lost = h->lost;
	if (!lost && client_refuses(core, r, h))
		return 0;
	why = client_why_lost(h);
	r->reply.count = terms_leave(h, all);
	if (r->reply.count > 0) {
		request_reply(core, r, lost ? DDBLOCK_E_LOCK_LOST : 0, 0,
		    lost ? why : NULL);
		return 0;
	}
	r->ns = h->lock->ns;
	client_let_go_of_all(core, r, h);
	if (lost)
		request_reply(core, r, DDBLOCK_E_LOCK_LOST, 0, why);
	else if (r->grants == NULL)
		request_reply(core, r, 0, 0, NULL);
	else
		client_await_release(core, r);
	return 0;
}

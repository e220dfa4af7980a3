/*
 * Giving back: a hold of one lock, or of several as one.
 */
#include "core/internal.h"

#include "ddblock.h"

/* Forget a hold. If the grant is to end with it, @r (if any) waits for that,
 * and the lock is returned. */
static struct lock *
client_let_go(struct core *core, struct request *r, struct hold *h)
{
	struct grant *g = h->grant;

	if (g != NULL)
		grant_drop_hold(h);
	hold_end(core, h);
	/* Where others here share it, or one that lost it did, nothing is to
	 * be written now. */
	if (g == NULL || grant_is_taken(core, g))
		return NULL;
	/* Who released it before, and waits, did so: it was had since. */
	grant_released(core, g, 0, 0, NULL);
	if (r != NULL) {
		g->releasing = r;
		LL_APPEND2(r->grants, g, releasing_next);
	}
	return g->lock;
}

/* All of it, if it is one of several locks: how many of them are to be
 * released, and in @ret which. */
static size_t
client_let_go_of_all(struct core *core, struct request *r, struct hold *h,
    struct lock *ret[TOGETHER_MAX])
{
	struct joint *j = hold_joint(h);
	uint32_t n = j == NULL ? 1 : j->n;
	size_t n_locks = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct lock *l = client_let_go(core, r,
		    j == NULL ? h : j->parts[i].hold);

		if (l != NULL)
			ret[n_locks++] = l;
	}
	return n_locks;
}

/* Of several locks each is released by itself, all at the same time
 * (doc/records.md). */
static void
client_begin_release(struct core *core, struct lock *const *locks, size_t n)
{
	for (size_t i = 0; i < n; i++)
		lock_release(core, locks[i]);
}

/* What is under way for a lock comes first; the client does not wait for that
 * and for the release. */
static void
client_await_release(struct core *core, struct request *r)
{
	r->deadline_ms = core->now_ms + r->ns->settings.request_ms;
	heap_set(&core->heap, &r->timer, r->deadline_ms);
}

/* Is there a reason why not? Then it is answered. */
static bool
client_refuses(struct core *core, struct request *r, const struct hold *h)
{
	int code = 0;
	const char *why = NULL;
	char text[OUTCOME_TEXT_MAX];

	if (r->change == NULL)
		return false;
	code = format_refuse_change(h->lock->ns, r->change, text,
	    sizeof(text));
	if (code < 0) {
		why = text;
	} else if (hold_joint(h) != NULL) {
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
	struct lock *locks[TOGETHER_MAX];
	const char *why;
	size_t n;
	bool lost;

	if (h == NULL) {
		request_reply(core, r, DDBLOCK_E_NO_SUCH_LOCK, 0, NULL);
		return 0;
	}
	if (h->client != r->client && !(r->of_process && h->client->gone &&
	    process_has(h))) {
		request_reply(core, r, DDBLOCK_E_LOCK_NOT_OWNED, 0, NULL);
		return 0;
	}
	lost = h->lost;
	if (!lost && client_refuses(core, r, h))
		return 0;
	why = client_why_lost(h);
	r->reply.count = terms_leave(h, all);
	if (r->reply.count > 0) {
		request_reply(core, r, lost ? DDBLOCK_E_LOCK_LOST :
		    r->released_code, 0, lost ? why : NULL);
		return 0;
	}
	r->ns = h->lock->ns;
	r->keeps = r->change != NULL;
	n = client_let_go_of_all(core, r, h, locks);
	if (lost)
		request_reply(core, r, DDBLOCK_E_LOCK_LOST, 0, why);
	else if (n == 0)
		request_reply(core, r, r->released_code, 0, NULL);
	else
		client_await_release(core, r);
	client_begin_release(core, locks, n);
	return 0;
}

/* There is no memory for the request: what it gives back is given back all the
 * same, for the client uses it no more. */
void
client_release_unheard(struct core *core, const struct client *c, uint64_t id,
    bool all)
{
	struct hold *h = client_find_hold(core, id);
	struct lock *locks[TOGETHER_MAX];

	if (h == NULL || h->client != c || terms_leave(h, all) > 0)
		return;
	client_begin_release(core, locks,
	    client_let_go_of_all(core, NULL, h, locks));
}

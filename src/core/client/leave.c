/*
 * The end of a connection, which leaves nothing behind but what is to outlive
 * it. A client may have many requests, watches and holds, and the others are
 * not to wait for the end of them all: a step ends some, and CORE_LEAVES
 * comes until none is left. Until then the core has the client, and grants it
 * nothing.
 */
#include "core/client/room.h"

#include "ddblock.h"

/* Does it not end with its connection, or has it ended before? */
static bool
leave_may_stay(const struct hold *h)
{
	return h->lost || h->use.fail_closed || linger_keeps(h) ||
	    process_has(h) || (h->terms != NULL && h->terms->stays);
}

static bool
leave_outlives(const struct hold *h, bool cut)
{
	return linger_outlives(h, cut) || process_has(h) ||
	    (h->terms != NULL && h->terms->stays);
}

static void
leave_begin(struct client *c, bool cut)
{
	struct request *r;

	/* None of them is granted anything on its way out. */
	DL_FOREACH2(c->requests, r, client_next)
	{
		r->waiter.leaving = true;
	}
	c->leaving = true;
	c->cut = cut;
	c->n_to_leave = c->n_holds;
}

/* If we cut it off it may be at work with it: so it is lost, and it is told
 * while it can be. */
static void
leave_hold(struct core *core, struct client *c, struct hold *h)
{
	if (c->cut && !leave_may_stay(h)) {
		hold_cut_off(core, h);
	} else if (!leave_outlives(h, c->cut)) {
		hold_desert(core, h);
	} else {
		/* Those to be looked at stand in front. */
		DL_DELETE2(c->holds, h, client_previous, client_next);
		DL_APPEND2(c->holds, h, client_previous, client_next);
	}
}

/* What is left has rules of its own for the time without a client. */
static void
leave_end(struct core *core, struct client *c)
{
	struct hold *h, *next;

	c->pinned = true;
	c->gone = true;
	c->leaving = false;
	client_touch(core, c);
	DL_FOREACH_SAFE2(c->holds, h, next, client_next)
	{
		if (!linger_outlives(h, c->cut) && !terms_stay(core, h) &&
		    !process_keeps(core, h))
			hold_desert(core, h);
	}
	linger_begin(core, c, c->cut);
	c->pinned = false;
	client_free_if_unused(core, c);
}

/* At most so many of what it has. True: there is more. */
static bool
leave_some(struct core *core, struct client *c, uint32_t n_max)
{
	const struct multi *j = NULL;
	uint32_t n = 0;

	for (; c->requests != NULL; n++) {
		if (n == n_max)
			return true;
		request_drop(core, c->requests);
	}
	for (; c->watches != NULL; n++) {
		if (n == n_max)
			return true;
		core->client_events->unwatch(core, c);
	}
	for (; c->n_to_leave > 0 && c->holds != NULL; n++) {
		/* Several as one end in one step. */
		if (n >= n_max && (j == NULL || hold_multi(c->holds) != j))
			return true;
		j = hold_multi(c->holds);
		c->n_to_leave--;
		leave_hold(core, c, c->holds);
	}
	leave_end(core, c);
	return false;
}

static bool
leave(struct core *core, uint64_t id, bool cut, uint32_t n_max)
{
	struct client *c = client_find(core, id);

	if (c == NULL)
		return false;
	if (!c->leaving)
		leave_begin(c, cut);
	return leave_some(core, c, n_max);
}

int
client_gone(struct core *core, uint64_t id)
{
	return leave(core, id, false, core->limits.per_step_max);
}

int
client_cut_off(struct core *core, uint64_t id)
{
	return leave(core, id, true, core->limits.per_step_max);
}

int
client_leaves(struct core *core, uint64_t id)
{
	struct client *c = client_find(core, id);

	return c == NULL || !c->leaving ? 0 :
	    leave_some(core, c, core->limits.per_step_max);
}

void
client_cut_off_now(struct core *core, uint64_t id)
{
	(void)leave(core, id, true, UINT32_MAX);
}

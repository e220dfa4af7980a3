/*
 * The end of a connection, which leaves nothing behind but what is to outlive
 * it. A client may have many requests, watches and holds, and the others are
 * not to wait for the end of them all: a step ends some, and CORE_LEAVES
 * comes until none is left. Until then the core has the client, and grants it
 * nothing.
 *
 * All that it holds is looked at twice: what does not outlive the connection
 * ends; and when the client is gone, so does what was lost on the way, unless
 * somebody may yet ask for it.
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

void
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
	c->to_leave = c->holds;
}

/* If we cut it off it may be at work with it: so it is lost, and it is told
 * while it can be. What is left has rules of its own for the time without a
 * client. */
static void
leave_hold(struct core *core, struct client *c, struct hold *h)
{
	if (h->let_go)
		return;
	if (c->cut && !leave_may_stay(h)) {
		if (at_least_keeps(core, h))
			at_least_cut_off(core, h);
		else
			hold_cut_off(core, h);
		return;
	}
	if (!leave_outlives(h, c->cut)) {
		hold_desert(core, h);
		return;
	}
	if (linger_outlives(h, c->cut))
		linger_begin(core, h, c->cut);
	else
		(void)terms_stay(core, h);
}

/* Its client is gone. */
static void
leave_left(struct core *core, struct client *c, struct hold *h)
{
	if (h->let_go && !h->lost)
		return;
	if (linger_outlives(h, c->cut))
		linger_tell_loss(core, h);
	else if ((h->lost || !terms_are_left(h)) && !process_keeps(core, h))
		hold_desert(core, h);
}

/* @n is what this step did before. True: there is more. */
static bool
leave_holds(struct core *core, struct client *c, uint32_t *n, uint32_t n_max)
{
	const struct multi *j = NULL;

	for (; c->to_leave != NULL; (*n)++) {
		struct hold *h = c->to_leave;

		/* Several as one end in one step. */
		if (*n >= n_max && (j == NULL || hold_multi(h) != j))
			return true;
		j = hold_multi(h);
		c->to_leave = h->client_next;
		if (c->gone)
			leave_left(core, c, h);
		else
			leave_hold(core, c, h);
	}
	return false;
}

bool
leave_some(struct core *core, struct client *c, uint32_t n_max)
{
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
	/* What it has taken over in part it has; then it all ends as one. */
	for (; c->resume != NULL; n++) {
		if (n == n_max)
			return true;
		resume_part(core, c->resume);
	}
	if (leave_holds(core, c, &n, n_max))
		return true;
	if (!c->gone) {
		c->gone = true;
		client_touch(core, c);
		c->to_leave = c->holds;
	}
	if (leave_holds(core, c, &n, n_max))
		return true;
	c->leaving = false;
	client_free_if_unused(core, c);
	return false;
}

static bool
leave(struct core *core, uint64_t id, bool cut, uint32_t n_max)
{
	struct client *c = client_find(core, id);

	if (c == NULL || (c->gone && !c->leaving))
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

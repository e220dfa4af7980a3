/*
 * Holds for a process: their life is that process's, and no more their
 * client's. The caller knows the process by a number and watches it.
 *
 *  1. When the client leaves, such a hold stays as it is, for as long as the
 *     process lives.
 *  2. The end of the process is the end of the hold, whether the client is
 *     there or not: it is released at once, without a margin, for nobody works
 *     under it any more. Who waits for it in line waits no more.
 *  3. What is lost is to be told to the process. The client does that, and
 *     releases what was lost as a sign that it did. If it leaves without one,
 *     or gives none for half a margin, or has left before, the caller is told
 *     to tell the process itself (CORE_UNTOLD, or CORE_LOST to nobody).
 *  4. What was lost stays, as such, until its end, too.
 *  5. What is fail-closed has none: its client's end does not release it
 *     anyway, nor does that of any process.
 */
#include "core/internal.h"

#include <assert.h>

#include "ddblock.h"

bool
process_has(const struct hold *h)
{
	return h->terms != NULL && h->terms->process != 0;
}

/* One of several speaks for all. */
static bool
process_speaks(struct hold *h)
{
	return process_has(h) && joint_speaker(h) == h;
}

/* ---- what was lost ---------------------------------------------------- */

/* The client has given no sign that it told the process. */
void
process_tell(struct core *core, struct hold *h)
{
	struct terms *t = h->terms;

	heap_unset(&core->heap, &t->timer);
	if (!process_speaks(h) || t->process_told)
		return;
	t->process_told = true;
	/* If it was lost in this very step, that is being said. */
	if (!h->told)
		action_notice(core, h, CORE_UNTOLD);
}

/* It is lost: half of the margin is the client's. */
void
process_lose(struct core *core, struct hold *h)
{
	if (!process_speaks(h))
		return;
	h->terms->process_told = h->client->gone;
	if (!h->client->gone)
		heap_set(&core->heap, &h->terms->timer, core->now_ms +
		    h->lock->ns->settings.margin_ms / 2);
}

/* Its client has left. True: it stays. */
bool
process_keeps(struct core *core, struct hold *h)
{
	if (!process_has(h))
		return false;
	if (h->lost)
		process_tell(core, h);
	return true;
}

/* ---- the end ---------------------------------------------------------- */

/* The caller's number is used no more. */
void
process_part(struct core *core, struct hold *h)
{
	struct core_parted *p;

	if (!process_speaks(h))
		return;
	p = &h->terms->parted;
	p->process = h->terms->process;
	action_add(core, &p->action, CORE_PARTED);
}

void
process_part_request(struct core *core, struct request *r)
{
	if (r->reply.verb != CORE_ACQUIRE || r->terms.process == 0)
		return;
	r->parted.process = r->terms.process;
	action_add(core, &r->parted.action, CORE_PARTED);
}

/* Whoever waits in line for it. */
static void
process_end_requests(struct core *core, struct client *c, uint64_t process)
{
	struct request *r, *next;

	DL_FOREACH_SAFE2(c->requests, r, next, client_next)
	{
		struct lock *l = r->lock;

		if (r->reply.verb != CORE_ACQUIRE ||
		    r->terms.process != process)
			continue;
		request_reply(core, r, DDBLOCK_E_CANCELLED, 0,
		    "the process that it is for has ended");
		/* One for several keys may be between two locks. */
		if (l != NULL)
			lock_advance(core, l);
		return;	/* its number is asked for once */
	}
}

/* The process that this client, which may have left, asked for has ended. */
void
process_ended(struct core *core, uint64_t client, uint64_t process)
{
	struct client *c = client_find(core, client);
	struct hold *h, *next;

	if (c == NULL || process == 0)
		return;
	c->pinned = true;
	process_end_requests(core, c, process);
	DL_FOREACH_SAFE2(c->holds, h, next, client_next)
	{
		if (process_has(h) && h->terms->process == process)
			hold_desert(core, h);
	}
	c->pinned = false;
	client_free_if_unused(core, c);
}

void
process_check_hold(const struct hold *h)
{
	/* It ends with the process, and nothing else says when. */
	assert(!process_has(h) || (!h->fail_closed && !h->terms->manual &&
	    !h->terms->stays && h->terms->linger_ms == 0));
}

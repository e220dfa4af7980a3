/*
 * Holds for a process: their life is that process's, and no more their
 * client's. The caller knows the process by a number and watches it.
 *
 *  1. When the client disconnects, such a hold does not change, for as long as
 *  the process lives.
 *  2. The end of the process is the end of the hold, whether the client is
 *     there or not: it is released at once, without a margin, because nothing
 *     works under it any more. Its waiting request ends.
 *  3. What is lost is to be told to the process. The client does that, and
 *     releases what was lost as a sign that it did. If it leaves without one,
 *     or gives none for half a margin, or has left before, the caller is told
 *     to tell the process itself (CORE_UNTOLD, or CORE_LOST to nobody).
 *  4. A lost hold is kept, as lost, until its end, too.
 *  5. What is fail-closed has none: its client's end does not release it
 *     anyway, nor does that of any process.
 *  6. The user of the process may have it released by another client
 *     (of_process): then its own is told, and the process is not.
 */
#include "core/client/room.h"

#include "ddblock.h"

/* One of several speaks for all. */
static bool
process_speaks(struct hold *h)
{
	return process_has(h) && multi_speaker(h) == h;
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
	hold_touch(core, h);
	/* If it was lost in this very step, that is being said. */
	if (!action_is_due(&h->notice.action))
		notice_send(core, h, CORE_UNTOLD);
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
		    h->use.lock->ns->settings.margin_ms / 2);
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
	r->parted.process = r->terms.process;
	action_add(core, &r->parted.action, CORE_PARTED);
}

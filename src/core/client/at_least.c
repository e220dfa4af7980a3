/*
 * Holds that stay for so long after their grant, however early their client is
 * done with them: a quick command keeps the lock from those that come a moment
 * later, because their timers or clocks are late.
 *
 *  1. The client's release, its end and the end of its process let such a hold
 *     go, and no more: it is of no client until its time is over, and then it
 *     ends. Its client is answered at once, hears nothing of it any more, and
 *     cannot have it again: for all who ask, that client too, it is taken.
 *  2. It is renewed meanwhile, and counts for its user as any hold does. A
 *     break, the loss of its lease and its daemon's last stop end it earlier.
 *  3. What lingers may be resumed in that time, and is let go after it.
 *  4. A client that is cut off may be at work yet: so it stays for a margin at
 *     the least, as after any loss.
 */
#include "core/client/room.h"

/* Its client is done with it: it is of no client until its time is over. */
void
at_least_let_go(struct core *core, struct hold *h)
{
	struct terms *t = h->terms;

	process_part(core, h);
	process_forget(core, t);
	t->process = 0;
	terms_end(core, h);
	t->end_ms = CORE_FOREVER;
	t->danger = false;
	t->danger_ms = 0;
	t->count = 0;
	h->client->n_lingers -= linger_keeps(h);
	linger_count(h, false);
	t->linger_ms = t->linger_end_ms = t->working_ms = 0;
	t->resumes = false;
	hold_count_valid(h, -1);
	h->let_go = true;
	heap_set(&core->later, &t->linger_timer, t->least_ms);
	hold_touch(core, h);
}

/* Its client is cut off, and told that it has lost it. */
void
at_least_cut_off(struct core *core, struct hold *h)
{
	const uint64_t gap_ms = core->now_ms +
	    h->use.lock->ns->settings.margin_ms;

	h->notice.loss = CORE_LOSS_CUT_OFF;
	if (multi_speaker(h) == h)
		notice_send(core, h, CORE_LOST);
	if (h->terms->least_ms < gap_ms)
		h->terms->least_ms = gap_ms;
	at_least_let_go(core, h);
}

/* In the next process. */
void
at_least_go_on(struct core *core, struct hold *h)
{
	if (h->let_go && !h->lost)
		heap_set(&core->later, &h->terms->linger_timer,
		    h->terms->least_ms);
}

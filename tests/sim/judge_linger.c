/*
 * Holds that a client left, to resume them: for a while no client has the hold,
 * and no other client gets the lock; then a client that may resumes it,
 * unchanged, or it ends. So it is with one that stays so long after its grant,
 * which its client let go; but no client has that again.
 */
#include "judge_state.h"

#include <inttypes.h>

#include "ddblock.h"

/* T12: a client that comes back is told that it may, where that has a sense,
 * and no other is. It may not only for want of room. */
void
judge_linger_granted(struct judge *j, struct judge_hold *h, bool resumes)
{
	bool may = h->terms.resumes && !h->fail_closed && !h->terms.manual &&
	    !h->terms.stays && h->terms.process == 0;

	if (resumes ? !may : may && j->rules.all_may_resume)
		judge_find(j, "T12", "c%" PRIu64 " is told that it %s resume %s"
		    " when it is cut off", h->client->id,
		    resumes ? "may" : "may not", judge_lock_name(h->lock));
	h->terms.resumes = resumes;
}

/* The old client works until the deadline that it was told last, and then there
 * is the gap. Its daemon may know a later deadline. */
static void
judge_linger_cut_off(struct judge *j, struct judge_hold *h)
{
	unsigned host = h->client->host;
	uint64_t least_ms = h->until_ms - JUDGE_ROUNDING_MS +
	    judge_least_ms(j, host, judge_margin_ms(j, h->lock));
	uint64_t most_ms = j->now_ms + judge_most_ms(j, host,
	    judge_longest_lease_ms(j)) + j->rules.lateness_ms + 2;

	/*
	 * A hold that is lost already is told of as long as the rest lingers.
	 */
	if (h->linger_most_ms < most_ms)
		h->linger_most_ms = most_ms;
	if (h->state != HOLD_VALID)
		return;
	h->cut_off = true;
	if (h->linger_ms < least_ms)
		h->linger_ms = least_ms;
	if (h->grant == NULL || h->exempt)
		return;
	h->grant->lost_ms = h->until_ms - JUDGE_ROUNDING_MS;
	h->grant->gap = true;
	h->grant->gap_since_ms = j->now_ms;
}

/* Its time is that from its grant, if that ends later. */
static void
judge_linger_extend(struct judge *j, struct judge_hold *h)
{
	unsigned host = h->client->host;
	uint64_t ms = h->terms.at_least_ms, least_ms, most_ms;

	h->resumed_ms = h->let_go ? 0 : h->linger_ms;
	if (ms == 0 || h->linger_ms == JUDGE_NEVER)
		return;
	least_ms = h->first_ms + judge_least_ms(j, host, ms);
	most_ms = h->first_ms + judge_most_ms(j, host, ms) +
	    j->rules.lateness_ms + 2;
	if (h->linger_ms < least_ms)
		h->linger_ms = least_ms;
	if (h->linger_most_ms < most_ms)
		h->linger_most_ms = most_ms;
}

/* A daemon that sleeps has not noticed yet. */
static void
judge_linger_begin(struct judge *j, struct judge_hold *h, bool cut_off)
{
	unsigned host = h->client->host;
	uint64_t ms = h->let_go ? 0 : h->terms.linger_ms;

	/* A client's resume may be read before that release. */
	if (h->state == HOLD_RELEASED) {
		judge_hold_restore(j, h);
		h->exempt = true;
	}
	if (ms == 0 && !cut_off && !h->let_go)
		h->exempt = true;	/* see judge_linger_is_late() */
	h->linger_ms = h->linger_most_ms = JUDGE_NEVER;
	if (!j->hosts[host].paused) {
		h->linger_ms = j->now_ms + judge_least_ms(j, host, ms);
		h->linger_most_ms = j->now_ms + judge_most_ms(j, host, ms) +
		    j->rules.lateness_ms + 2;
	}
	if (cut_off && !h->let_go)
		judge_linger_cut_off(j, h);
	judge_linger_extend(j, h);
	judge_notice_schedule(j, h);
}

/* Does it stay beyond now, though its client is done with it? */
static bool
judge_linger_has_time(const struct judge *j, const struct judge_hold *h)
{
	return h->terms.at_least_ms > 0 && !h->let_go && h->state !=
	    HOLD_LOST && h->state != HOLD_OVER && j->now_ms < h->first_ms +
	    judge_most_ms(j, h->client->host, h->terms.at_least_ms);
}

/* Its client is done with it. False: it ends with that. */
bool
judge_linger_let_go(struct judge *j, struct judge_hold *h)
{
	if (!judge_linger_has_time(j, h))
		return false;
	if (h->state == HOLD_RELEASED)
		judge_hold_restore(j, h);
	if (h->state != HOLD_VALID)
		return false;
	h->let_go = true;
	/* Its daemon may know that its time is over. */
	h->client->n_holds -= h->counted;
	h->counted = false;
	judge_linger_begin(j, h, false);
	return true;
}

/* T13: what it let go it has no more. */
void
judge_linger_check_held(struct judge *j, const struct judge_request *r)
{
	const struct judge_hold *h;
	bool let_go = false;

	DL_FOREACH2(r->client->holds, h, client_next)
	{
		if (h->lock == r->lock && !h->let_go)
			return;
		let_go = let_go || h->lock == r->lock;
	}
	if (let_go && r->multi == 0)
		judge_find(j, "T13", "c%" PRIu64 " is told that it has %s, "
		    "which it released", r->client->id,
		    judge_lock_name(r->lock));
}

/* Its host stood still meanwhile, or its daemon at least. */
void
judge_linger_woke(struct judge *j, struct judge_hold *h, uint64_t stood_ms)
{
	uint64_t soon_ms = j->now_ms + j->rules.lateness_ms + 2;

	if (h->linger_ms == 0)
		return;
	if (h->linger_ms == JUDGE_NEVER) {
		judge_linger_begin(j, h, h->cut_off);
		return;
	}
	h->linger_ms += stood_ms;
	h->resumed_ms += h->let_go ? 0 : stood_ms;
	h->linger_most_ms += stood_ms;
	if (h->linger_most_ms < soon_ms)
		h->linger_most_ms = soon_ms;
}

/* From the moment before on it may be over. */
static bool
judge_linger_may_be_over(const struct judge *j, const struct judge_hold *h)
{
	return j->now_ms + 1 >= h->linger_ms;
}

uint64_t
judge_linger_due_ms(const struct judge *j, const struct judge_hold *h)
{
	if (judge_linger_may_be_over(j, h) && h->exempt)
		return j->hosts[h->client->host].paused ? JUDGE_NEVER :
		    h->linger_most_ms - 1;
	if (h->state == HOLD_VALID && !h->exempt &&
	    h->until_ms < h->linger_ms - 1)
		return h->until_ms;
	return h->linger_ms - 1;
}

/* This end has the gap of any loss: from the deadline that its client was told,
 * if that has passed, because it was told of no later one. If it was broken,
 * its daemon may know since then that it is lost. */
static void
judge_linger_lose(struct judge *j, struct judge_hold *h)
{
	struct judge_grant *g = h->grant;

	judge_hold_end(j, h, HOLD_LOST, END_LOST);
	if (g != NULL) {
		g->lost_ms = h->until_ms < j->now_ms ? h->until_ms :
		    j->now_ms;
		g->gap = true;
		if (!g->broken)
			g->gap_since_ms = j->now_ms;
	}
	judge_notice_schedule(j, h);
}

/* Its daemon may know that it is over, and has no client to tell. */
bool
judge_linger_may_be_lost(const struct judge_hold *h)
{
	const struct judge_session *s =
	    h->grant == NULL ? NULL : h->grant->session;

	return h->linger_ms > 0 && (judge_notice_is_multi_loss(h) ||
	    (s != NULL && (h->grant->hand_gone || s->ever_dead ||
	    s->ever_absent)));
}

/* It may know of a renewal, and has no client to tell. */
static bool
judge_linger_may_last(const struct judge *j, const struct judge_hold *h)
{
	const struct judge_rules *r = &j->rules;
	uint64_t sent_ms = h->record_sent_ms;

	if (!r->sees_table || h->until_ms >= h->end_ms)
		return !r->sees_table && h->grant == NULL;
	if (h->grant != NULL)
		sent_ms = h->grant->session->sent_ms;
	return sent_ms + judge_most_ms(j, h->client->host,
		r->lease_ms - r->margin_ms) > j->now_ms;
}

/* No client has it any more, perhaps since longer. */
static void
judge_linger_end(struct judge *j, struct judge_hold *h)
{
	struct judge_grant *g = h->grant;

	judge_hold_end(j, h, HOLD_OVER, END_DESERTED);
	if (g != NULL && g->idle_ms == j->now_ms)
		g->idle_ms = h->linger_ms;
}

/* Its daemon releases it, because it was lost with another lock: no client is
 * told when, because its client had left. */
void
judge_linger_given_back(struct judge *j, struct judge_hold *h)
{
	struct judge_grant *g = h->grant;
	uint64_t left_ms = h->linger_ms - h->terms.linger_ms;

	judge_hold_end(j, h, HOLD_LOST, END_LOST);
	if (g != NULL && g->idle_ms == j->now_ms && left_ms < j->now_ms)
		g->idle_ms = left_ms;
}

/* Its time is over; or its lease, of which no client is told. */
void
judge_linger_missed(struct judge *j, struct judge_hold *h)
{
	if (j->now_ms + 1 >= h->linger_most_ms) {
		if (h->state == HOLD_VALID)
			judge_linger_end(j, h);
		judge_hold_forget(j, h);
		return;
	}
	if (!judge_linger_may_be_over(j, h) &&
	    (h->state != HOLD_VALID || j->now_ms < h->until_ms))
		return;
	/* Its state is not known; or its host's clock stood still. */
	if (judge_linger_may_be_over(j, h) || h->exempt ||
	    judge_linger_may_last(j, h)) {
		h->exempt = true;
		judge_notice_schedule(j, h);
		return;
	}
	judge_linger_lose(j, h);
	if (h->grant != NULL)
		h->grant->forfeited = h->until_ms < h->end_ms;
}

void
judge_linger_released(struct judge *j, unsigned host)
{
	struct judge_hold *h;

	DL_FOREACH2(j->hosts[host].holds, h, host_next)
	{
		if (h->linger_ms == 0 || h->state != HOLD_VALID)
			continue;
		/* It is not known whether a client is at work. */
		if (h->cut_off)
			h->exempt = true;
		else
			judge_linger_lose(j, h);
	}
}

/* ---- resuming --------------------------------------------------- */

static const struct judge_request *
judge_linger_request(const struct judge_client *c)
{
	const struct judge_request *r;

	DL_FOREACH(c->requests, r)
	{
		if (r->verb == CORE_RESUME)
			return r;
	}
	return NULL;
}

/* Is it being resumed just now? Then what it waits for is over in this step. */
bool
judge_linger_is_resumed(const struct judge *j, const struct judge_client *c)
{
	const struct judge_client *other, *whose, *next;

	HASH_ITER(hh, j->clients, other, next)
	{
		const struct judge_request *r = judge_linger_request(other);

		if (r == NULL || other->host != c->host)
			continue;
		HASH_FIND(hh, j->clients, &r->target, sizeof(r->target),
		    whose);
		if (whose != NULL && whose->secret != 0 &&
		    whose->secret == c->secret)
			return true;
	}
	return false;
}

/* It may be resumed though its client left, for the resume was sent first: a
 * daemon that sleeps has read neither. */
static bool
judge_linger_is_late(const struct judge *j, const struct judge_hold *h)
{
	return h->client->gone_unread &&
	    (h->state == HOLD_VALID || h->state == HOLD_LOST) &&
	    judge_linger_is_resumed(j, h->client);
}

/* What is only for a client that was @cut_off ends with any other one. */
static bool
judge_linger_keeps(const struct judge *j, const struct judge_hold *h,
    bool cut_off)
{
	if (h->terms.linger_ms == 0 && (!h->terms.resumes ||
	    (!cut_off && !judge_linger_is_late(j, h))))
		return false;
	return h->state == HOLD_VALID || h->state == HOLD_LOST ||
	    (h->state == HOLD_RELEASED && !h->read);
}

/* Its client was cut off, and has lost it; but its element stays. */
static void
judge_linger_cut_short(struct judge *j, struct judge_hold *h)
{
	if (h->terms.at_least_ms > 0)
		h->lock->stays_ms = h->first_ms + judge_most_ms(j,
		    h->client->host, h->terms.at_least_ms);
}

/* Its client has left, or was @cut_off: does it go on without? */
bool
judge_linger_left(struct judge *j, struct judge_hold *h, bool cut_off)
{
	if (h->let_go)
		return true;
	if (judge_linger_keeps(j, h, cut_off)) {
		judge_linger_begin(j, h, cut_off);
		return true;
	}
	if (h->terms.process != 0)
		return false;
	if (!cut_off)
		return judge_linger_let_go(j, h);
	judge_linger_cut_short(j, h);
	return false;
}

/* Does it have the old client's secret? A journal does not say whose it is. */
static bool
judge_linger_is_whose(const struct judge *j, const struct judge_request *r,
    const struct judge_hold *h)
{
	const struct judge_client *whose;

	HASH_FIND(hh, j->clients, &r->target, sizeof(r->target), whose);
	return r->target == 0 ||
	    (whose != NULL && whose->secret == h->client->secret);
}

/* T11: only with the secret, and by the same user; or it is told once more what
 * it has. */
static bool
judge_linger_may_take(struct judge *j, const struct judge_client *c,
    const struct judge_hold *h)
{
	const struct judge_request *r = judge_linger_request(c);

	if (r == NULL || h == NULL || h->let_go ||
	    (h->linger_ms == 0 && h->client != c)) {
		judge_find(j, "T11", "c%" PRIu64 " resumes what does not "
		    "linger, or did not ask to", c->id);
		return false;
	}
	if (r->user != h->user || !judge_linger_is_whose(j, r, h))
		judge_find(j, "T11", "c%" PRIu64 " resumes %s of c%" PRIu64
		    ", whose secret it has not or who is another user", c->id,
		    judge_lock_name(h->lock), h->client->id);
	return true;
}

static void
judge_linger_change_client(struct judge_hold *h, struct judge_client *to)
{
	h->terms.resumes = judge_linger_request(to)->terms.resumes;
	DL_DELETE2(h->client->holds, h, client_prev, client_next);
	DL_APPEND2(to->holds, h, client_prev, client_next);
	if (h->counted) {
		h->client->n_holds--;
		to->n_holds++;
	}
	h->client = to;
}

/* And those that are held with it: they share one fate. */
static void
judge_linger_move(struct judge *j, struct judge_hold *h,
    struct judge_client *to)
{
	struct judge_client *from = h->client;
	struct judge_hold *o, *next;

	to->secret = from->secret;
	if (from != to) {
		DL_FOREACH_SAFE2(from->holds, o, next, client_next)
		{
			if (o == h || (h->multi != 0 && o->multi == h->multi))
				judge_linger_change_client(o, to);
		}
	}
	h->linger_ms = 0;
	if (h->cut_off && h->grant != NULL)
		h->grant->gap = false;
	h->cut_off = false;
	h->warned = false;
	h->reassured = true;
	judge_notice_schedule(j, h);
}

/* T11: it has the lingering hold, with the same end as before; or it is told
 * why not. */
void
judge_linger_taken(struct judge *j, struct judge_client *c,
    const struct fact *f)
{
	struct judge_hold *h = judge_hold_get(j, f->host, f->hold);

	if (!judge_linger_may_take(j, c, h))
		return;
	if (f->loss == CORE_LOSS_KEEPALIVE && h->state == HOLD_VALID)
		judge_find(j, "T11", "c%" PRIu64 " is told that the silence of "
		    "nobody ended %s", c->id, judge_lock_name(h->lock));
	/* The time of the loss is not known. */
	h->lock->turns[h->turn].exempt |= judge_hold_is_exempt(h);
	judge_linger_move(j, h, c);
	if (f->loss != 0 && h->state == HOLD_VALID) {
		judge_notice_lost(j, h, f->loss);
		/* Its daemon has known for longer, and no client had it. */
		if (h->grant != NULL)
			h->grant->gap = false;
	} else if (f->loss != 0) {
		h->told_lost = true;
	} else if (h->state != HOLD_VALID) {
		judge_find(j, "T11", "c%" PRIu64 " resumes %s, which was lost "
		    "meanwhile", c->id, judge_lock_name(h->lock));
	} else {
		judge_notice_renew(j, h, f->until_ms);
		/* The answer says so. */
		h->warned = judge_notice_is_danger(j, h);
		judge_notice_schedule(j, h);
	}
}

/* T11: of all that lingers, and if any does. */
void
judge_linger_answered(struct judge *j, const struct judge_request *r,
    int code)
{
	const struct judge_hold *h;

	if (r->target == 0 || (code != 0 && code != DDBLOCK_E_NO_SUCH_LOCK))
		return;
	DL_FOREACH2(j->hosts[r->client->host].holds, h, host_next)
	{
		if (h->resumed_ms > j->now_ms + 1 && !h->exempt &&
		    h->linger_ms > 0 && h->user == r->user &&
		    judge_linger_is_whose(j, r, h))
			judge_find(j, "T11", "c%" PRIu64 " is not told of %s, "
			    "which lingers for it", r->client->id,
			    judge_lock_name(h->lock));
	}
}

/*
 * What lingers: nobody has it for a while, and nobody else comes to it; then
 * somebody has it who may, as it is, or it is over.
 */
#include "judge_state.h"

#include <inttypes.h>

#include "ddblock.h"

bool
judge_linger_keeps(const struct judge_hold *h)
{
	return h->terms.linger_ms > 0 &&
	    (h->state == HOLD_VALID || h->state == HOLD_LOST);
}

/* A daemon that sleeps has not noticed yet. */
void
judge_linger_begin(struct judge *j, struct judge_hold *h)
{
	unsigned host = h->client->host;

	h->linger_ms = j->hosts[host].paused ? JUDGE_NEVER : j->now_ms +
	    judge_least_ms(j, host, h->terms.linger_ms);
	judge_notice_schedule(j, h);
}

/* What it ends so has the gap of any loss. */
static void
judge_linger_lose(struct judge *j, struct judge_hold *h)
{
	judge_hold_end(j, h, HOLD_LOST, END_LOST);
	if (h->grant != NULL) {
		h->grant->lost_ms = j->now_ms;
		h->grant->gap = true;
	}
	judge_notice_schedule(j, h);
}

/* Its time is over when the next moment comes; or its lease, of which nobody is
 * told. */
void
judge_linger_missed(struct judge *j, struct judge_hold *h)
{
	if (j->now_ms + 1 >= h->linger_ms) {
		if (h->state == HOLD_VALID)
			judge_hold_end(j, h, HOLD_OVER, END_DESERTED);
		judge_hold_forget(j, h);
		return;
	}
	if (h->state != HOLD_VALID || j->now_ms < h->until_ms)
		return;
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
		if (h->linger_ms > 0 && h->state == HOLD_VALID)
			judge_linger_lose(j, h);
	}
}

/* ---- who comes back --------------------------------------------------- */

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

/* Does it say the secret of who had it? In a journal nobody says whose. */
static bool
judge_linger_is_whose(const struct judge *j, const struct judge_request *r,
    const struct judge_hold *h)
{
	const struct judge_client *whose;

	HASH_FIND(hh, j->clients, &r->target, sizeof(r->target), whose);
	return r->target == 0 ||
	    (whose != NULL && whose->secret == h->client->secret);
}

/* T11: only who has the secret, and is the same user. */
static bool
judge_linger_may_take(struct judge *j, const struct judge_client *c,
    const struct judge_hold *h)
{
	const struct judge_request *r = judge_linger_request(c);

	if (r == NULL || h == NULL || h->linger_ms == 0) {
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
judge_linger_move(struct judge *j, struct judge_hold *h,
    struct judge_client *to)
{
	DL_DELETE2(h->client->holds, h, client_prev, client_next);
	DL_APPEND2(to->holds, h, client_prev, client_next);
	if (h->counted)
		h->client->n_holds--;
	to->secret = h->client->secret;
	h->client = to;
	if (h->counted)
		to->n_holds++;
	h->linger_ms = 0;
	/* What it is told of it says so. */
	h->warned = judge_notice_is_danger(j, h);
	h->reassured = true;
}

/* T11: it has what lingered, until a time that is no other than before; or it
 * is told why not. */
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
	judge_linger_move(j, h, c);
	if (f->loss != 0 && h->state == HOLD_VALID) {
		judge_notice_lost(j, h, f->loss);
	} else if (f->loss != 0) {
		h->told_lost = true;
	} else if (h->state != HOLD_VALID) {
		judge_find(j, "T11", "c%" PRIu64 " resumes %s, which was lost "
		    "meanwhile", c->id, judge_lock_name(h->lock));
	} else {
		judge_notice_renew(j, h, f->until_ms);
		h->warned = judge_notice_is_danger(j, h);
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
		if (h->linger_ms > j->now_ms + 1 && h->user == r->user &&
		    judge_linger_is_whose(j, r, h))
			judge_find(j, "T11", "c%" PRIu64 " is not told of %s, "
			    "which lingers for it", r->client->id,
			    judge_lock_name(h->lock));
	}
}

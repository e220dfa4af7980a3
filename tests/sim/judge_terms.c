/*
 * Terms of a hold's own: it ends at their time, neither before nor later, and
 * no other client has the lock in the gap.
 */
#include "judge_state.h"

#include <inttypes.h>

#define JUDGE_FRESH_MS 500	/* a renewal so old counts as new */

/* When after a renewal its warning comes; 0: that is not judged, NEVER: it
 * does not. */
uint64_t
judge_terms_danger_ms(const struct judge *j, const struct judge_hold *h)
{
	return h->terms.danger_ms > 0 ? h->terms.danger_ms :
	    judge_danger_ms(j, h->lock);
}

/* T9: the end that a grant names is the requested one. */
void
judge_terms_check_end(struct judge *j, const struct judge_hold *h)
{
	unsigned host = h->client->host;
	uint64_t max_ms = h->terms.max_hold_ms;

	if (h->exempt || max_ms == 0)
		return;
	if (h->end_ms < h->first_ms + judge_least_ms(j, host, max_ms) ||
	    h->end_ms > h->first_ms + judge_most_ms(j, host, max_ms))
		judge_find(j, "T9", "c%" PRIu64 " may have %s for %" PRIu64
		    " ms, and is told that it ends at %" PRIu64,
		    h->client->id, judge_lock_name(h->lock), max_ms,
		    h->end_ms);
}

/* By when it must be told that its silence was its death. */
uint64_t
judge_terms_silent_ms(const struct judge *j, const struct judge_hold *h)
{
	unsigned host = h->client->host;
	uint64_t from_ms = h->first_ms;

	if (h->terms.keepalive_ms == 0)
		return JUDGE_NEVER;
	if (h->client->spoke_ms > from_ms)
		from_ms = h->client->spoke_ms;
	if (j->hosts[host].mute_until > from_ms)
		from_ms = j->hosts[host].mute_until;
	/* Its clock rounds at both moments. */
	return from_ms + 1 + j->rules.lateness_ms +
	    judge_most_ms(j, host, h->terms.keepalive_ms);
}

/* When it was heard last. A line that is read too late does not count. */
static uint64_t
judge_terms_heard_ms(const struct judge *j, const struct judge_hold *h)
{
	const struct judge_client *c = h->client;
	uint64_t heard_ms = c->heard_ms < j->now_ms ? c->heard_ms :
	    c->heard_before_ms;

	return heard_ms > h->first_ms ? heard_ms : h->first_ms;
}

/* Has its client broken its promise to say something? */
bool
judge_terms_is_silent(const struct judge *j, const struct judge_hold *h)
{
	return h->terms.keepalive_ms > 0 &&
	    j->now_ms >= judge_terms_heard_ms(j, h) +
	    judge_least_ms(j, h->client->host, h->terms.keepalive_ms);
}

/* T9: the silence was so long, as far as the daemon could hear. */
static void
judge_terms_check_silence(struct judge *j, const struct judge_hold *h)
{
	uint64_t heard_ms = judge_terms_heard_ms(j, h);

	if (!judge_terms_is_silent(j, h))
		judge_find(j, "T9", "c%" PRIu64 " loses %s for its silence, "
		    "and was heard at %" PRIu64, h->client->id,
		    judge_lock_name(h->lock), heard_ms);
}

void
judge_terms_check_loss(struct judge *j, const struct judge_hold *h,
    enum core_loss loss)
{
	if (h->exempt)
		return;
	if (loss == CORE_LOSS_MAX_HOLD && j->now_ms < h->end_ms)
		judge_find(j, "T9", "c%" PRIu64 " is told that it had %s long "
		    "enough, %" PRIu64 " ms too early", h->client->id,
		    judge_lock_name(h->lock), h->end_ms - j->now_ms);
	if (loss == CORE_LOSS_KEEPALIVE)
		judge_terms_check_silence(j, h);
}

/* The earliest time from which its session's last renewal counts: of two
 * attempts, the first may be the one that was answered. */
static uint64_t
judge_terms_renewed_ms(const struct judge *j, const struct judge_session *s)
{
	return s->sent_ms - s->before_ms < j->rules.request_ms ?
	    s->before_ms : s->sent_ms;
}

/* T9: a hold that only its client renews is renewed by its request: beyond the
 * deadline known at the request, and as far as the last renewal in the table
 * allows; or that was a moment ago. */
void
judge_terms_check_renewal(struct judge *j, const struct judge_hold *h,
    const struct judge_request *r, uint64_t until_ms)
{
	unsigned host = h->client->host;
	uint64_t good_ms = judge_least_ms(j, host,
	    j->rules.lease_ms - j->rules.margin_ms);
	uint64_t fresh_ms = judge_most_ms(j, host, JUDGE_FRESH_MS) +
	    j->rules.lateness_ms;
	uint64_t least_ms = h->grant == NULL ? 0 :
	    judge_terms_renewed_ms(j, h->grant->session) + good_ms -
	    JUDGE_ROUNDING_MS;

	if (!h->terms.manual || h->exempt || until_ms >= h->end_ms ||
	    until_ms + fresh_ms >= r->asked_ms + good_ms ||
	    (until_ms > r->until_ms && until_ms >= least_ms))
		return;
	judge_find(j, "T9", "c%" PRIu64 " renewed %s at %" PRIu64
	    ", and has it until %" PRIu64, h->client->id,
	    judge_lock_name(h->lock), r->asked_ms, until_ms);
}

/* T9: the gap belongs to the holder that lost it. */
void
judge_terms_check_gap(struct judge *j, const struct judge_hold *h)
{
	const struct judge_grant *g = h->grant;

	if (!g->gap || (g->shared && g->limit == 0) || h->exempt ||
	    j->now_ms >= g->lost_ms + judge_least_ms(j, h->client->host,
	    j->rules.margin_ms))
		return;
	judge_find(j, "T9", "c%" PRIu64 " is granted %s, and who lost it was "
	    "told at %" PRIu64, h->client->id, judge_lock_name(h->lock),
	    g->lost_ms);
}

/* A daemon that sleeps reads no line. */
void
judge_terms_spoke(struct judge *j, struct judge_client *c)
{
	struct judge_hold *h;

	c->spoke_ms = j->now_ms;
	if (c->heard_ms < j->now_ms)
		c->heard_before_ms = c->heard_ms;
	if (!j->hosts[c->host].paused)
		c->heard_ms = j->now_ms;
	DL_FOREACH2(c->holds, h, client_next)
	{
		if (h->terms.keepalive_ms > 0)
			judge_notice_schedule(j, h);
	}
}

/* It was granted again before its daemon, which slept, read the last release:
 * now that release is not the last, and perhaps the next is. */
static void
judge_terms_outlast(struct judge *j, struct judge_hold *h)
{
	struct judge_request *r, *first = NULL;
	bool last = false;

	DL_FOREACH(h->client->requests, r)
	{
		if (r->verb != CORE_RELEASE || r->hold != h->id.hold ||
		    r->leaves)
			continue;
		last = first != NULL;
		if (first == NULL)
			first = r;
	}
	if (first != NULL)
		first->leaves = true;
	if (first != NULL && !last)
		judge_hold_restore(j, h);
}

/* 4: it holds it on these terms, and was granted it so. */
bool
judge_terms_again(struct judge *j, const struct judge_client *c,
    const struct judge_request *r, const struct fact *f)
{
	struct judge_hold *h = judge_hold_get(j, c->host, f->hold);

	if (h != NULL && judge_downgrade_done(h))
		h->token = f->token;
	if (h == NULL || h->client != c || h->lock != r->lock ||
	    !r->terms.reentrant || !h->terms.reentrant ||
	    r->shared != h->shared || r->limit != h->limit ||
	    r->fail_closed != h->fail_closed ||
	    (h->downgrading && !judge_downgrade_done(h)) ||
	    (h->state != HOLD_VALID && h->state != HOLD_RELEASED) ||
	    (h->state == HOLD_RELEASED && h->read))
		return false;
	if (f->token != h->token)
		judge_find(j, "4", "c%" PRIu64 " has %s once more, with "
		    "another token", c->id, judge_lock_name(h->lock));
	if (h->state == HOLD_RELEASED)
		judge_terms_outlast(j, h);
	else
		h->n_again++;
	return true;
}

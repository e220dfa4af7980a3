/*
 * Events of holds: warnings and losses come when they are due, and for a cause.
 */
#include "judge_state.h"

#include <inttypes.h>
#include <stdlib.h>

#include "ddblock.h"

/* ---- when an event is due -------------------------------------- */

/* How long before the deadline it is warned; of two leases, that which is
 * later. */
static uint64_t
judge_notice_before_ms(const struct judge *j, const struct judge_hold *h)
{
	uint64_t danger_ms = judge_terms_danger_ms(j, h);
	uint64_t before_ms = judge_lease_ms(j, h->lock) -
	    judge_margin_ms(j, h->lock) - danger_ms;
	uint64_t least_ms = j->rules.lease_ms - j->rules.margin_ms -
	    j->rules.danger_ms;
	uint64_t old_ms = j->rules.old.lease_ms - j->rules.old.margin_ms -
	    j->rules.old.danger_ms;

	if (!judge_bridge_is_uneven(j, h))
		return before_ms;
	return least_ms < old_ms ? least_ms : old_ms;
}

/*
 * The earliest time of a warning, by the host's clock; rounding may delay it by
 * a millisecond (@ret_latest_ms).
 */
static uint64_t
judge_notice_danger_ms(const struct judge *j, const struct judge_hold *h,
    uint64_t *ret_latest_ms)
{
	unsigned host = h->client->host;
	uint64_t before_ms = judge_notice_before_ms(j, h);

	*ret_latest_ms = h->until_ms -
	    before_ms * JUDGE_PPM / judge_rate(j, host);
	return h->until_ms - judge_most_ms(j, host, before_ms);
}

/* Is there a time for it that can be told from the deadline? Not while that is
 * the hold's own end. */
static bool
judge_notice_is_judged(const struct judge *j, const struct judge_hold *h)
{
	uint64_t danger_ms = judge_terms_danger_ms(j, h);

	return danger_ms > 0 && danger_ms <= judge_lease_ms(j, h->lock) -
	    judge_margin_ms(j, h->lock) && h->until_ms < h->end_ms;
}

static bool
judge_notice_is_warned(const struct judge *j, const struct judge_hold *h)
{
	return h->warned || !judge_notice_is_judged(j, h) ||
	    judge_terms_danger_ms(j, h) == judge_lease_ms(j, h->lock) -
	    judge_margin_ms(j, h->lock);
}

void
judge_notice_schedule(struct judge *j, struct judge_hold *h)
{
	const struct judge_host *host = &j->hosts[h->client->host];
	uint64_t at_ms = h->until_ms;

	judge_due_unset(j, &h->due);
	if (h->linger_ms > 0 && !h->deserted) {
		at_ms = judge_linger_due_ms(j, h);
		if (at_ms != JUDGE_NEVER)
			judge_due_set(j, &h->due, at_ms);
		return;
	}
	if (h->state != HOLD_VALID || (host->paused && !h->deserted) ||
	    h->fail_closed)
		return;
	if (h->deserted) {
		judge_due_set(j, &h->due, at_ms);
		return;
	}
	if (h->exempt)
		return;
	if (!judge_notice_is_warned(j, h))
		(void)judge_notice_danger_ms(j, h, &at_ms);
	if (judge_terms_silent_ms(j, h) < at_ms)
		at_ms = judge_terms_silent_ms(j, h);
	if (!h->reassured || at_ms < j->now_ms)
		at_ms = j->now_ms;
	judge_due_set(j, &h->due, at_ms + j->rules.lateness_ms);
}

/* An event did not come in time. */
void
judge_notice_missed(struct judge *j, void *owner)
{
	struct judge_hold *h = owner;
	unsigned host = h->client->host;

	if (h->deserted) {
		judge_hold_end(j, h, HOLD_OVER, END_DESERTED);
		judge_hold_forget(j, h);
		return;
	}
	if (h->linger_ms > 0) {
		judge_linger_missed(j, h);
		return;
	}
	if (!judge_is_awake(j, host) || h->exempt)
		return;
	if (!h->reassured)
		judge_find(j, "T2", "c%" PRIu64 " is not told that %s is out "
		    "of danger", h->client->id, judge_lock_name(h->lock));
	else if (!judge_notice_is_warned(j, h) &&
	    j->now_ms < judge_terms_silent_ms(j, h))
		judge_find(j, "T2", "c%" PRIu64 " is not warned of the danger "
		    "to %s, which it has until %" PRIu64, h->client->id,
		    judge_lock_name(h->lock), h->until_ms);
	else if (j->now_ms >= judge_terms_silent_ms(j, h))
		judge_find(j, "T9", "c%" PRIu64 " is silent since %" PRIu64
		    ", and still has %s", h->client->id, h->client->spoke_ms,
		    judge_lock_name(h->lock));
	else
		judge_find(j, "T3", "c%" PRIu64 " is left with %s beyond its "
		    "deadline", h->client->id, judge_lock_name(h->lock));
}

bool
judge_notice_is_danger(const struct judge *j, const struct judge_hold *h)
{
	uint64_t latest_ms;

	return judge_notice_is_judged(j, h) &&
	    j->now_ms >= judge_notice_danger_ms(j, h, &latest_ms);
}

/* ---- events ----------------------------------------------------- */

void
judge_notice_renew(struct judge *j, struct judge_hold *h, uint64_t until_ms)
{
	uint64_t latest_ms;

	/* After a refused request it is held as before. */
	if (h->state == HOLD_RELEASED && h->downgrading &&
	    until_ms > h->until_ms)
		h->until_ms = until_ms;
	if (h->state != HOLD_VALID || h->fail_closed)
		return;
	if (until_ms < h->until_ms && !h->exempt)
		judge_find(j, "T5", "c%" PRIu64 ": the deadline of %s goes "
		    "back from %" PRIu64 " to %" PRIu64, h->client->id,
		    judge_lock_name(h->lock), h->until_ms, until_ms);
	h->until_ms = until_ms;
	judge_hold_check_deadline(j, h);
	if (h->warned && judge_notice_is_judged(j, h) &&
	    !judge_bridge_is_uneven(j, h))
		h->reassured =
		    j->now_ms >= judge_notice_danger_ms(j, h, &latest_ms);
	judge_notice_schedule(j, h);
}

void
judge_notice_renewed_all(struct judge *j, const struct fact *f)
{
	struct judge_hold *h;

	DL_FOREACH2(j->hosts[f->host].holds, h, host_next)
	{
		if (h->lock->namespace_index == f->namespace_index &&
		    !h->terms.manual && !judge_linger_may_be_lost(h))
			judge_notice_renew(j, h, f->until_ms < h->end_ms ?
			    f->until_ms : h->end_ms);
	}
}

/* T6 */
static void
judge_notice_check_calm(struct judge *j, const struct judge_hold *h,
    const char *what)
{
	const struct judge_session *s =
	    h->grant == NULL ? NULL : h->grant->session;

	if (!judge_quiet_is_calm(j) || judge_hold_is_exempt(h) ||
	    h->terms.manual ||
	    (s != NULL && s->ever_absent))
		return;
	judge_find(j, "T6", "c%" PRIu64 ": %s is %s, though nothing disturbs",
	    h->client->id, judge_lock_name(h->lock), what);
}

static void
judge_notice_warned(struct judge *j, struct judge_hold *h, uint64_t until_ms)
{
	uint64_t latest_ms;

	/* A release that was not read yet may still be refused. */
	if (h->state == HOLD_RELEASED)
		h->warned = h->reassured = true;
	if (h->state != HOLD_VALID)
		return;
	judge_notice_renew(j, h, until_ms);
	/*
	 * A client that wants such early warnings is also warned of slow
	 * answers.
	 */
	if (judge_terms_danger_ms(j, h) >= judge_danger_ms(j, h->lock))
		judge_notice_check_calm(j, h, "in danger");
	if (h->terms.danger_ms == JUDGE_NEVER)
		judge_find(j, "T2", "c%" PRIu64 " is warned of the danger to "
		    "%s, and asked not to be", h->client->id,
		    judge_lock_name(h->lock));
	else if (judge_notice_is_judged(j, h) && !h->exempt &&
	    !h->fail_closed && !judge_bridge_is_uneven(j, h) &&
	    j->now_ms < judge_notice_danger_ms(j, h, &latest_ms))
		judge_find(j, "T2", "c%" PRIu64 " is warned of the danger to "
		    "%s, which it has until %" PRIu64, h->client->id,
		    judge_lock_name(h->lock), h->until_ms);
	h->warned = true;
	h->reassured = true;
	judge_notice_schedule(j, h);
}

static void
judge_notice_safe(struct judge *j, struct judge_hold *h, uint64_t until_ms)
{
	judge_notice_renew(j, h, until_ms);
	h->warned = false;
	h->reassured = true;
	judge_notice_schedule(j, h);
}

/* Was another key removed that is held with this one? */
bool
judge_notice_is_multi_loss(const struct judge_hold *h)
{
	const struct judge_hold *o;

	DL_FOREACH2(h->client->holds, o, client_next)
	{
		if (o != h && h->multi != 0 && o->multi == h->multi &&
		    (o->taken || (o->grant != NULL && o->grant->left)))
			return true;
	}
	return false;
}

static bool
judge_notice_session_went(const struct judge_hold *h)
{
	const struct judge_session *s = h->grant == NULL ? NULL :
	    h->grant->session;

	return s != NULL && (s->ever_dead || s->ever_absent);
}

/* Did somebody end its session, or that of another key that is held with it? */
static bool
judge_notice_is_session_loss(const struct judge_hold *h)
{
	const struct judge_hold *o;

	DL_FOREACH2(h->client->holds, o, client_next)
	{
		if (h->multi != 0 && o->multi == h->multi &&
		    judge_notice_session_went(o))
			return true;
	}
	return judge_notice_session_went(h);
}

/* T4 */
static void
judge_notice_check_loss(struct judge *j, const struct judge_hold *h,
    enum core_loss loss)
{
	const struct judge_grant *g = h->grant;
	bool taken = loss == CORE_LOSS_STOLEN || loss == CORE_LOSS_BROKEN;

	judge_terms_check_loss(j, h, loss);
	if (judge_is_foreign(j, h->lock))
		judge_record_check_loss(j, h, loss);
	if (g == NULL || h->exempt || (taken && judge_notice_is_multi_loss(h)))
		return;
	if (h->fail_closed && !taken)
		judge_find(j, "T10", "c%" PRIu64 " is told that %s is lost, "
		    "which is fail-closed", h->client->id,
		    judge_lock_name(h->lock));
	if (taken && !g->left)
		judge_find(j, "T4", "c%" PRIu64 " is told that %s was stolen, "
		    "but the table shows its grant", h->client->id,
		    judge_lock_name(h->lock));
	if (loss == CORE_LOSS_EXPIRED && j->now_ms < h->until_ms &&
	    !judge_notice_is_session_loss(h))
		judge_find(j, "T4", "c%" PRIu64 " is told that %s is lost, %"
		    PRIu64 " ms before its deadline", h->client->id,
		    judge_lock_name(h->lock), h->until_ms - j->now_ms);
}

/* T4, of a release: its reply says so, too. (One that is repeated on the way
 * cannot know who was first; no network may do that.) */
void
judge_notice_check_stolen(struct judge *j, const struct judge_hold *h,
    const struct judge_request *release, int code)
{
	const struct judge_host *host = &j->hosts[h->client->host];
	const struct judge_grant *g = h->grant;

	if (host->repeated && host->repeated_ms >= release->asked_ms)
		return;
	if (code == DDBLOCK_E_LOCK_STOLEN && judge_is_foreign(j, h->lock))
		judge_record_check_loss(j, h, CORE_LOSS_STOLEN);
	if (code != DDBLOCK_E_LOCK_STOLEN || g == NULL || h->exempt ||
	    h->multi != 0 ||
	    g->hand_gone || g->taken)
		return;
	judge_find(j, "T4", "c%" PRIu64 " is told that %s was stolen, which "
	    "nobody took", h->client->id, judge_lock_name(h->lock));
}

/* It was gone, and has landed again while its daemon may have waited for the
 * answer of a look: that answer may say that it is gone. Then any client may
 * take the lock, and R5 requires no margin. */
static bool
judge_notice_may_be_missed(const struct judge *j, const struct judge_hold *h)
{
	const struct judge_grant *g = h->grant;

	return g->standing && (g->hand_gone || g->taken) &&
	    (h->exempt || g->appeared_ms + judge_most_ms(j, h->client->host,
	    j->rules.request_ms) >= j->now_ms);
}

void
judge_notice_lost(struct judge *j, struct judge_hold *h, enum core_loss loss)
{
	struct judge_grant *g = h->grant;
	bool taken = loss == CORE_LOSS_STOLEN || loss == CORE_LOSS_BROKEN;
	bool own = loss == CORE_LOSS_MAX_HOLD || loss == CORE_LOSS_KEEPALIVE ||
	    loss == CORE_LOSS_CUT_OFF || h->terms.manual;
	/* A hold that is lost with another, and is still in the table as far as
	 * its daemon knows: the daemon tells of the first missing one. */
	bool spared = taken && g != NULL && judge_notice_is_multi_loss(h) &&
	    (g->standing || g->hand_gone);

	if (judge_bridge_is_good(j, h, loss))
		spared = true;
	h->told_lost = true;
	if (h->state == HOLD_RELEASED)
		return;		/* it has not read of the release yet */
	if (loss == CORE_LOSS_RELEASED) {
		judge_hold_end(j, h, HOLD_RELEASED, END_RELEASED);
		return;
	}
	j->counts.losses++;
	judge_notice_check_loss(j, h, loss);
	if (loss == CORE_LOSS_EXPIRED)
		judge_notice_check_calm(j, h, "lost");
	judge_hold_end(j, h, HOLD_LOST, END_LOST);
	if (judge_is_foreign(j, h->lock))
		judge_bridge_lost(j, h);
	if (g == NULL)
		return;
	g->lost_ms = j->now_ms;
	g->gap = !taken || (spared && !judge_notice_may_be_missed(j, h));
	g->gap_since_ms = j->now_ms;
	g->forfeited = !own && !spared;
	g->stopped = loss == CORE_LOSS_SHUTDOWN;
	if (!taken && !own && !spared)
		g->session->lost = true;
}

void
judge_notice_fact(struct judge *j, const struct fact *f)
{
	struct judge_hold *h = judge_hold_get(j, f->host, f->hold);

	/* A successor does not know what was heard, and says it again. */
	if (h != NULL && h->client->id == f->client && h->lost_again &&
	    f->kind == FACT_LOST) {
		h->lost_again = false;
		if (h->state == HOLD_LOST)
			return;
	}
	if (h == NULL || h->client->id != f->client ||
	    h->state == HOLD_LOST) {
		judge_find(j, "4", "%c tells c%" PRIu64 " about hold %" PRIu64
		    ", which it has not", judge_host_name(f->host), f->client,
		    f->hold);
		return;
	}
	if (f->kind == FACT_LOST)
		judge_notice_lost(j, h, f->loss);
	else if (f->kind == FACT_SAFE)
		judge_notice_safe(j, h, f->until_ms);
	else if (f->kind == FACT_IN_DANGER)
		judge_notice_warned(j, h, f->until_ms);
}

/* T7 */
void
judge_notice_check_release(struct judge *j, const struct judge_hold *h,
    int code)
{
	if (code == 0 && h->told_lost)
		judge_find(j, "T7", "c%" PRIu64 " is told that it released %s,"
		    " which it had lost", h->client->id,
		    judge_lock_name(h->lock));
}

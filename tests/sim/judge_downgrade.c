/*
 * From exclusive to shared use. The client gives up exclusive use when it asks,
 * as with a release, and the answer is a grant; between the two it need not
 * have lost the hold.
 */
#include "judge_state.h"

#include <inttypes.h>
#include <string.h>

#include <utlist.h>

#include "ddblock.h"

void
judge_downgrade_asked(struct judge *j, struct judge_hold *h,
    const struct judge_request *r)
{
	if (h->state != HOLD_VALID || h->shared)
		return;
	h->downgrading = true;
	h->downgrade = r->id;
	h->limit_asked = r->limit;
	judge_hold_end(j, h, HOLD_RELEASED, END_RELEASED);
}

static void
judge_downgrade_share(struct judge *j, struct judge_hold *h,
    struct judge_grant *by)
{
	h->grant->n_valid--;
	h->grant = by;
	h->shared = true;
	h->limit = h->limit_asked;
	by->n_valid++;
	by->idle_ms = JUDGE_NEVER;
	judge_hold_turn_over(j, h);
}

/*
 * A write without an answer may still land; until then the hold is exclusive.
 */
static void
judge_downgrade_failed(struct judge *j, struct judge_hold *h, int code)
{
	if (code != DDBLOCK_E_UNREACHABLE && code != DDBLOCK_E_CANCELLED)
		h->downgrading = false;
	if (h->told_lost) {
		h->state = HOLD_LOST;
		return;
	}
	judge_hold_restore(j, h);
	if (h->state == HOLD_VALID && h->grant != NULL &&
	    h->grant->became != NULL)
		judge_downgrade_share(j, h, h->grant->became);
}

/* Its client has left. Does a process hold it now, unchanged? The client's
 * request may still land. */
bool
judge_downgrade_left_to_process(struct judge *j, struct judge_hold *h)
{
	if (h->terms.process == 0)
		return false;
	if (h->state == HOLD_RELEASED && h->downgrading)
		judge_downgrade_failed(j, h, DDBLOCK_E_CANCELLED);
	return h->state == HOLD_VALID || h->state == HOLD_LOST;
}

void
judge_downgrade_answered(struct judge *j, struct judge_hold *h,
    const struct judge_request *r, const struct fact *f)
{
	struct judge_request as = *r;
	bool warned, reassured;
	uint32_t n_again;

	if (h == NULL || h->client != r->client) {
		if (f->code == 0)
			judge_find(j, "4", "c%" PRIu64 ": hold %" PRIu64 " is "
			    "downgraded, which it has not", r->client->id,
			    r->hold);
		return;
	}
	if (f->code == 0 && (h->shared || h->told_lost))
		judge_find(j, "4", "c%" PRIu64 ": its hold of %s is "
		    "downgraded, which is %s", h->client->id,
		    judge_lock_name(h->lock),
		    h->told_lost ? "lost" : "not exclusive");
	if (h->state != HOLD_RELEASED || !h->downgrading ||
	    h->downgrade != r->id)
		return;		/* it was released, or is asked for already */
	if (f->code != 0) {
		judge_downgrade_failed(j, h, f->code);
		return;
	}
	as.lock = h->lock;
	as.shared = true;
	as.limit = h->limit_asked;
	as.terms = h->terms;
	as.first_ms = h->first_ms;
	warned = h->warned;
	reassured = h->reassured;
	n_again = h->n_again;
	judge_hold_answered(j, h);
	judge_hold_forget(j, h);
	judge_hold_grant(j, r->client, &as, f);
	h = judge_hold_get(j, f->host, f->hold);
	if (h == NULL)
		return;
	/* News of its session that it was told need not be repeated. */
	h->warned = warned;
	h->reassured = reassured;
	h->n_again = n_again;
	judge_notice_schedule(j, h);
}

/* The request seemed to have failed, and has landed since. */
bool
judge_downgrade_done(const struct judge_hold *h)
{
	return h->downgrading && h->state == HOLD_VALID && h->shared;
}

/* Did this write put a shared element in the place of an exclusive one of the
 * same session? */
bool
judge_downgrade_landed(const struct judge_lock *l, const struct fact *f)
{
	const struct judge_grant *g = l->standing;
	const struct fact_lock *now = &f->lock;

	return g != NULL && g->standing_next == NULL && !g->shared &&
	    now->shared && now->n_elements == 1 &&
	    strcmp(now->elements[0].session, g->session->name) == 0 &&
	    judge_session_is_own(g->session, f->host, f->sent_ms);
}

/* The client whose request seemed to have failed shares it from now on. */
void
judge_downgrade_follow(struct judge *j, struct judge_grant *from,
    struct judge_grant *to)
{
	struct judge_hold *h;

	DL_FOREACH(from->lock->holds, h)
	{
		if (h->grant == from && h->downgrading)
			judge_downgrade_share(j, h, to);
	}
	/* Lost meanwhile: it stays for the gap, if not alone, as was asked. */
	to->gap = from->gap;
	to->gap_since_ms = from->gap_since_ms;
	to->lost_ms = from->lost_ms;
	from->gap = false;
	from->became = to;
	to->token_since = from->token_since;
	judge_quiet_review(j, from->lock);
}

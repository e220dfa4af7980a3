/*
 * Holds, as clients see them: no two are valid at once that must not be, tokens
 * rise, and no deadline is later than the table allows.
 */
#include "judge_contents.h"
#include "judge_drain.h"
#include "judge_every.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>

struct judge_hold *
judge_hold_get(const struct judge *j, unsigned host, uint64_t hold)
{
	const struct judge_hold_id id = { hold, host };
	struct judge_hold *h;

	HASH_FIND(hh, j->holds, &id, sizeof(id), h);
	return h;
}

/* Removed or broken by hand, or its host's boot clock stood still; or lost with
 * another of its keys while it lingers, of which no client is told. */
bool
judge_hold_is_exempt(const struct judge_hold *h)
{
	const struct judge_grant *g = h->grant;

	return h->exempt ||
	    (h->linger_ms > 0 && judge_notice_is_multi_loss(h)) ||
	    (g != NULL && (g->hand_gone || g->session->hand_dead));
}

/* ---- the end of a hold ------------------------------------------------ */

static void
judge_hold_leave(struct judge *j, struct judge_hold *h)
{
	struct judge_lock *l = h->lock;
	struct judge_grant *g = h->grant;

	judge_due_unset(j, &h->due);
	DL_DELETE(l->holds, h);
	l->used_ms = j->now_ms;
	if (g != NULL && --g->n_valid == 0)
		g->idle_ms = j->now_ms;
	if (g != NULL)
		g->given_up = h->state != HOLD_LOST;
	/* There is room for one more sharer, or for any client. */
	if (!h->deserted)
		l->gone_ms = j->now_ms;
}

static void
judge_hold_uncount(struct judge_hold *h)
{
	if (h->counted)
		h->client->n_holds--;
	h->counted = false;
}

void
judge_hold_end(struct judge *j, struct judge_hold *h,
    enum judge_hold_state state, enum judge_end_kind end)
{
	struct judge_turn *t = &h->lock->turns[h->turn];

	if (state == HOLD_RELEASED || state == HOLD_OVER)
		judge_hold_uncount(h);
	if (h->state != HOLD_VALID)
		return;
	h->state = state;
	judge_hold_leave(j, h);
	t->end = end;
	t->end_ms = j->now_ms;
	t->exempt = t->exempt || judge_hold_is_exempt(h);
	/* A client stops at its deadline, without being told. */
	if (t->end_ms > h->until_ms)
		t->end_ms = h->until_ms;
	t->ended_ms = end == END_RELEASED ? JUDGE_NEVER : t->end_ms;
	judge_quiet_review(j, h->lock);
	judge_watch_review(j, h->lock);
}

/* The release has its reply. */
void
judge_hold_answered(struct judge *j, struct judge_hold *h)
{
	struct judge_turn *t = &h->lock->turns[h->turn];

	if (t->end == END_RELEASED)
		t->ended_ms = j->now_ms;
}

void
judge_hold_restore(struct judge *j, struct judge_hold *h)
{
	/* Its time may have passed before the release was read. */
	if (h->until_ms <= j->now_ms) {
		h->state = HOLD_LOST;
		return;
	}
	h->state = HOLD_VALID;
	h->counted = true;
	h->client->n_holds++;
	DL_APPEND(h->lock->holds, h);
	h->lock->turns[h->turn].end = END_OPEN;
	if (h->grant != NULL) {
		h->grant->n_valid++;
		h->grant->idle_ms = JUDGE_NEVER;
		h->grant->given_up = false;
	}
	judge_notice_schedule(j, h);
	judge_quiet_review(j, h->lock);
	judge_watch_review(j, h->lock);
}

/* Its daemon is dead: from now on it knows only its clock. */
void
judge_hold_desert(struct judge *j, struct judge_hold *h)
{
	if (h->state != HOLD_VALID) {
		judge_hold_forget(j, h);
		return;
	}
	HASH_DEL(j->holds, h);
	DL_DELETE2(j->hosts[h->id.host].holds, h, host_prev, host_next);
	h->deserted = true;
	h->lock->gone_ms = j->now_ms;
	judge_hold_uncount(h);
	judge_notice_schedule(j, h);
	if (h->until_ms <= j->now_ms) {
		judge_hold_end(j, h, HOLD_OVER, END_DESERTED);
		judge_hold_forget(j, h);
		return;
	}
	judge_quiet_review(j, h->lock);
	judge_watch_review(j, h->lock);
}

void
judge_hold_free(struct judge *j, struct judge_hold *h)
{
	judge_hold_uncount(h);
	if (h->state == HOLD_VALID)
		DL_DELETE(h->lock->holds, h);
	if (!h->deserted) {
		HASH_DEL(j->holds, h);
		DL_DELETE2(j->hosts[h->id.host].holds, h, host_prev,
		    host_next);
	}
	DL_DELETE2(h->client->holds, h, client_prev, client_next);
	judge_due_done(j, &h->due);
	free(h);
}

/* Its number is not valid any more. */
void
judge_hold_forget(struct judge *j, struct judge_hold *h)
{
	judge_hold_free(j, h);
}

/* ---- the grant -------------------------------------------------------- */

static bool
judge_hold_is_alone(const struct judge *j, const struct judge_hold *h)
{
	return h->deserted || judge_is_mute(j, h->client->host);
}

bool
judge_is_compatible(bool shared, uint64_t limit, bool other_shared,
    uint64_t other_limit)
{
	return shared && other_shared && limit == other_limit;
}

/* 1, 3, of a semaphore: its holders are not more than its limit. */
static void
judge_hold_check_limit(struct judge *j, const struct judge_hold *h)
{
	const struct judge_hold *o;
	uint64_t n_valid = 0, n_left = 0;

	DL_FOREACH(h->lock->holds, o)
	{
		if (!judge_is_compatible(h->shared, h->limit, o->shared,
		    o->limit) || judge_hold_is_exempt(o))
			continue;
		if (j->now_ms < o->until_ms || o == h)
			n_valid++;
		else if (!judge_hold_is_alone(j, o))
			n_left++;
	}
	if (h->limit == 0 || judge_hold_is_exempt(h) ||
	    n_valid + n_left <= h->limit)
		return;
	judge_find(j, n_valid > h->limit ? "1" : "3", "c%" PRIu64
	    " is granted %s, the %" PRIu64 ". of %" PRIu64 " at most; %" PRIu64
	    " of them were not told that they lost it", h->client->id,
	    judge_lock_name(h->lock), n_valid + n_left, h->limit, n_left);
}

/* 1, 3: the holds that cannot be beside it are over, and their clients know. */
static void
judge_hold_check_others(struct judge *j, const struct judge_hold *h)
{
	const struct judge_hold *o;

	DL_FOREACH(h->lock->holds, o)
	{
		if (o == h || judge_hold_is_exempt(o) ||
		    judge_hold_is_exempt(h) ||
		    judge_is_compatible(h->shared, h->limit, o->shared,
		    o->limit))
			continue;
		if (j->now_ms < o->until_ms)
			judge_find(j, "1", "c%" PRIu64 " is granted %s, which "
			    "c%" PRIu64 " has until %" PRIu64, h->client->id,
			    judge_lock_name(h->lock), o->client->id,
			    o->until_ms);
		else if (!judge_hold_is_alone(j, o))
			judge_find(j, "3", "c%" PRIu64 " is granted %s, and c%"
			    PRIu64 " was not told that it lost it",
			    h->client->id, judge_lock_name(h->lock),
			    o->client->id);
	}
	judge_hold_check_limit(j, h);
}

/* F1: first come, first served, on one host. A client that asked for several
 * keys may not have come to this key yet. */
static void
judge_hold_check_turn(struct judge *j, const struct judge_request *r)
{
	const struct judge_request *o;

	if (r->verb != CORE_ACQUIRE)
		return;		/* it holds it already */
	DL_FOREACH2(r->lock->waiters, o, wait_next)
	{
		if (o == r)
			return;
		if (o->client->host == r->client->host && o->multi == 0)
			break;
	}
	if (o != NULL && !judge_linger_is_resumed(j, o->client))
		judge_find(j, "F1", "c%" PRIu64 " is granted %s, and c%" PRIu64
		    " asked before", r->client->id, judge_lock_name(r->lock),
		    o->client->id);
}

/* T1: other hosts judge by the table, so the deadline must follow it, too. */
void
judge_hold_check_deadline(struct judge *j, const struct judge_hold *h)
{
	const struct judge_rules *r = &j->rules;
	const struct judge_session *s;
	unsigned host = h->client->host;
	uint64_t most_ms;

	if (h->until_ms > h->end_ms && !h->exempt)
		judge_find(j, "T9", "c%" PRIu64 " may have %s until %" PRIu64
		    ", and is told %" PRIu64, h->client->id,
		    judge_lock_name(h->lock), h->end_ms, h->until_ms);
	if (judge_is_foreign(j, h->lock))
		judge_record_check_deadline(j, h);
	if (h->grant == NULL || h->exempt || h->fail_closed)
		return;
	s = h->grant->session;
	if (judge_session_is_frozen(j, s))
		return;
	most_ms = s->sent_ms +
	    judge_most_ms(j, host, r->lease_ms - r->margin_ms);
	if (h->until_ms > most_ms)
		judge_find(j, "T1", "c%" PRIu64 " may have %s until %" PRIu64
		    ", but the table allows %" PRIu64, h->client->id,
		    judge_lock_name(h->lock), h->until_ms, most_ms);
	else if (s->dead && !s->hand_dead && h->until_ms > j->now_ms)
		judge_find(j, "R16", "c%" PRIu64 " may have %s until %" PRIu64
		    " under a session that is dead", h->client->id,
		    judge_lock_name(h->lock), h->until_ms);
}

/* Could this hold be of this element, which is of its host? */
static bool
judge_hold_suits(const struct judge *j, const struct judge_hold *h,
    const struct judge_grant *g)
{
	return g->shared == h->shared && g->limit == h->limit &&
	    g->fail_closed == h->fail_closed &&
	    judge_session_is_own(g->session, h->client->host, j->now_ms);
}

/* Is it in the table, or can its daemon not know better yet? */
static bool
judge_hold_may_be_of(const struct judge *j, const struct judge_hold *h,
    const struct judge_grant *g)
{
	/* At a stop, one client's loss takes the place of its warning, and is
	 * told before another client's grant that preceded it. And a daemon
	 * that dies at its stop is followed by one that need not stop. */
	bool forfeited = g->forfeited && !(g->stopped &&
	    (g->lost_ms == j->now_ms || !j->hosts[h->client->host].releases));

	return judge_hold_suits(j, h, g) && !forfeited &&
	    (g->standing || g->hand_gone || g->session->hand_dead);
}

/* The element that the daemon means. */
static struct judge_grant *
judge_hold_find_named(const struct judge *j, const struct judge_hold *h,
    const char *id)
{
	struct judge_grant *g;

	HASH_FIND_STR(j->grants, id, g);
	return g != NULL && g->lock == h->lock &&
	    judge_hold_may_be_of(j, h, g) ? g : NULL;
}

/*
 * The element of this host that the grant means: the one in the table. If it
 * was removed by hand, the daemon does not know yet, and hands it on even if
 * meanwhile another element of its own has landed.
 */
static struct judge_grant *
judge_hold_find_exclusive(const struct judge *j, const struct judge_hold *h)
{
	const struct judge_lock *l = h->lock;
	struct judge_grant *g;

	for (g = l->grants; g != NULL; g = g->next)
		if (g->hand_gone && !g->forfeited && g->n_told > 0 &&
		    g->idle_ms == j->now_ms && judge_hold_suits(j, h, g))
			return g;
	DL_FOREACH2(l->standing, g, standing_next)
	{
		if (judge_hold_suits(j, h, g))
			return g;
	}
	for (g = l->grants; g != NULL; g = g->next)
		if (g->hand_gone && !g->forfeited &&
		    judge_hold_suits(j, h, g))
			return g;
	/* Or its session was broken by hand, and others took it at once. */
	for (g = l->grants; g != NULL; g = g->next)
		if (g->session->hand_dead && !g->forfeited &&
		    judge_hold_suits(j, h, g))
			return g;
	return NULL;
}

/* May several clients of a host share it? */
static bool
judge_grant_is_common(const struct judge_grant *g)
{
	return g->shared && g->limit == 0 && !g->fail_closed;
}

/* Of two elements that were not told yet: is it more likely this one? An
 * element kept for a multi-lock request is told late: then its token
 * decides. */
static bool
judge_hold_is_likelier(const struct judge_hold *h,
    const struct judge_grant *g, const struct judge_grant *best)
{
	if (g->token_before >= h->token)
		return false;
	if (best == NULL)
		return true;
	return h->multi != 0 ? g->token_before > best->token_before :
	    g->first_sent_ms > best->first_sent_ms;
}

/*
 * The same, of a host that may have several elements. A client that joins an
 * element that was told has its token. Otherwise it is an element that was not
 * told yet, the last one sent: a request that was given up may still land.
 */
static struct judge_grant *
judge_hold_find_shared(const struct judge *j, const struct judge_hold *h)
{
	struct judge_grant *g, *best = NULL;

	for (g = h->lock->grants; g != NULL; g = g->next) {
		bool room = g->n_valid == 0 || judge_grant_is_common(g);

		if (!judge_hold_may_be_of(j, h, g) || !room)
			continue;
		if (g->n_told > 0 && g->token_told == h->token)
			return g;
		if (g->n_told == 0 && judge_hold_is_likelier(h, g, best))
			best = g;
	}
	return best;
}

/* R3: the clients of a host that share without a limit have one element. One
 * that had gone and was put back, by a write that landed again, is not theirs.
 */
static void
judge_hold_check_common(struct judge *j, const struct judge_grant *g)
{
	const struct judge_grant *o;

	DL_FOREACH2(g->lock->standing, o, standing_next)
	{
		if (judge_grant_is_common(g) && judge_grant_is_common(o) &&
		    o != g && o->session == g->session && o->n_valid > 0 &&
		    !o->broken && !o->left)
			judge_find(j, "R3", "%s: %c has two elements for those"
			    " who share it", judge_lock_name(g->lock),
			    judge_host_name(g->session->host));
	}
}

/* R16, R17: the table shows it, with that token. */
static void
judge_hold_check_grant(struct judge *j, struct judge_hold *h, const char *id)
{
	struct judge_lock *l = h->lock;
	struct judge_grant *g = id != NULL ? judge_hold_find_named(j, h, id) :
	    h->shared ? judge_hold_find_shared(j, h) :
	    judge_hold_find_exclusive(j, h);

	if (g == NULL) {
		/* A clock that stood still lets a grant come any time late. */
		h->exempt = j->hosts[h->client->host].frozen_until > 0;
		if (!h->exempt)
			judge_find(j, "R16", "c%" PRIu64 " is granted %s, which"
			    " the table does not show", h->client->id,
			    judge_lock_name(l));
		return;
	}
	h->grant = g;
	g->n_valid++;
	g->idle_ms = JUDGE_NEVER;
	g->token_told = h->token;
	if (++g->n_told == 1)
		g->told_ms = j->now_ms;
	if (g->n_told > 1)
		j->counts.handovers++;
	else if (g->takeover)
		j->counts.takeovers++;
	h->exempt = judge_session_is_frozen(j, g->session);
	if (judge_hold_is_exempt(h))
		return;
	judge_hold_check_common(j, g);
	judge_terms_check_gap(j, h);
	/* A restored record may have fewer than were written for it. */
	if (h->token <= g->token_before ||
	    (h->token > l->token && h->token > g->token_top))
		judge_find(j, "R17", "%s: token %" PRIu64 " is told, but what "
		    "was written for it is above %" PRIu64 ", up to %" PRIu64,
		    judge_lock_name(l), h->token, g->token_before, l->token);
}

static void
judge_hold_add_turn(struct judge_hold *h, uint64_t asked_ms)
{
	struct judge_lock *l = h->lock;

	if (l->n_turns == l->turns_size) {
		l->turns_size = l->turns_size == 0 ? 16 : 2 * l->turns_size;
		l->turns = realloc(l->turns,
		    l->turns_size * sizeof(*l->turns));
		if (l->turns == NULL)
			abort();
	}
	h->turn = l->n_turns++;
	l->turns[h->turn] = (struct judge_turn){
		.asked_ms = asked_ms,
		.granted_ms = h->since_ms,
		.age = l->age,
		.token = h->token,
		.shared = h->shared,
		.limit = h->limit,
		.ended_ms = JUDGE_NEVER,
		.exempt = judge_hold_is_exempt(h),
	};
}

/* It is held in another way since its request, or from now on, with no token
 * that was told. */
void
judge_hold_turn_over(struct judge *j, struct judge_hold *h)
{
	struct judge_turn *t = &h->lock->turns[h->turn];

	t->end = END_RELEASED;
	t->ended_ms = j->now_ms;
	judge_hold_add_turn(h, j->now_ms);
	h->lock->turns[h->turn].exempt = true;
}

static struct judge_hold *
judge_hold_new(struct judge *j, struct judge_client *c,
    const struct judge_request *r, const struct fact *f)
{
	struct judge_hold *h = judge_alloc(sizeof(*h));

	h->id = (struct judge_hold_id){ f->hold, c->host };
	h->client = c;
	h->lock = r->lock;
	h->state = HOLD_VALID;
	h->counted = true;
	h->reassured = true;
	h->shared = r->shared;
	h->limit = r->limit;
	h->multi = r->multi;
	h->fail_closed = r->fail_closed;
	h->token = f->token;
	h->since_ms = f->at_ms;
	h->first_ms = r->first_ms > 0 ? r->first_ms : f->at_ms;
	h->until_ms = f->until_ms;
	h->terms = r->terms;
	h->user = r->user;
	h->end_ms = f->end_ms == 0 ? JUDGE_NEVER : f->end_ms;
	if (h->fail_closed != (f->until_ms == FACT_NEVER))
		judge_find(j, "T10", "c%" PRIu64 " is granted %s until %"
		    PRIu64, c->id, judge_lock_name(h->lock), f->until_ms);
	judge_due_init(j, &h->due, judge_notice_missed, h);
	HASH_ADD(hh, j->holds, id, sizeof(h->id), h);
	DL_APPEND(h->lock->holds, h);
	DL_APPEND2(c->holds, h, client_prev, client_next);
	DL_APPEND2(j->hosts[c->host].holds, h, host_prev, host_next);
	c->n_holds++;
	return h;
}

void
judge_hold_grant(struct judge *j, struct judge_client *c,
    const struct judge_request *r, const struct fact *f)
{
	struct judge_hold *h;

	if (judge_hold_get(j, c->host, f->hold) != NULL) {
		judge_find(j, "4", "c%" PRIu64 " is granted %s as hold %"
		    PRIu64 ", which is another", c->id,
		    judge_lock_name(r->lock), f->hold);
		return;
	}
	h = judge_hold_new(j, c, r, f);
	j->counts.grants++;
	judge_drain_granted(j, c, r);
	if (judge_is_foreign(j, h->lock))
		judge_record_granted(j, h, f->grant);
	else if (j->rules.sees_table)
		judge_hold_check_grant(j, h, f->grant);
	judge_contents_told(j, h, r, f);
	judge_hold_check_turn(j, r);
	judge_hold_check_others(j, h);
	judge_bridge_granted(j, h);
	judge_token_told(j, h);
	judge_hold_check_deadline(j, h);
	judge_terms_check_end(j, h);
	judge_linger_granted(j, h, f->resumes);
	judge_every_granted(j, h);
	judge_turns_granted(j, h);
	judge_hold_add_turn(h, r->asked_ms);
	judge_notice_schedule(j, h);
	judge_quiet_review(j, h->lock);
	judge_watch_review(j, h->lock);
}

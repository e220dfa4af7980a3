/*
 * Items of locks: which elements come and go, and how the token moves.
 */
#include "judge_contents.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JUDGE_TOKEN_MAX ((UINT64_C(1) << 53) - 1)

/* A request is written when its operation begins, by the host's view of the
 * endpoint's clock, and sent a while later. */
#define JUDGE_TTL_SLACK_S 60

/* The first token of an item tells whole seconds of two hosts' views of the
 * endpoint's clock: an item made so long ago has a lower token for certain. */
#define JUDGE_NEW_ITEM_MS 5000

/* A raise by more than all grants of a second: over a bridge, to a token that
 * is ahead of its time. */
#define JUDGE_RAISE_MIN (UINT64_C(1) << 20)

struct judge_lock *
judge_lock_get(struct judge *j, uint32_t namespace_index, const char *key)
{
	struct judge_lock *l;
	size_t length = strlen(key) + 1;
	char name[FACT_KEY_MAX + 2];

	(void)snprintf(name, sizeof(name), "%c%s",
	    (char)('0' + namespace_index), key);
	HASH_FIND_STR(j->locks, name, l);
	if (l != NULL)
		return l;
	l = judge_alloc(sizeof(*l) + length + 1);
	l->namespace_index = namespace_index;
	(void)snprintf(l->key, length + 1, "%s", name);
	l->readable = true;
	judge_due_init(j, &l->wait_due, judge_quiet_waited, l);
	judge_due_init(j, &l->idle_due, judge_quiet_idle, l);
	HASH_ADD_STR(j->locks, key, l);
	return l;
}

const char *
judge_lock_name(const struct judge_lock *l)
{
	return l->key + 1;
}

static struct judge_grant *
judge_grant_get(struct judge *j, struct judge_lock *l,
    const struct fact_lock *now, const struct fact_element *e)
{
	struct judge_grant *g;

	HASH_FIND_STR(j->grants, e->grant, g);
	if (g != NULL)
		return g;
	g = judge_alloc(sizeof(*g));
	(void)snprintf(g->id, sizeof(g->id), "%s", e->grant);
	g->lock = l;
	g->session = judge_session_get(j, e->session);
	g->fail_closed = e->fail_closed;
	g->shared = now->shared;
	g->limit = now->limit;
	g->first_sent_ms = JUDGE_NEVER;
	g->released_ms = JUDGE_NEVER;
	g->idle_ms = JUDGE_NEVER;
	HASH_ADD_STR(j->grants, id, g);
	LL_PREPEND(l->grants, g);
	return g;
}

/* ---- elements --------------------------------------------------------- */

/* R5: a client holds it, or just lost it. */
static void
judge_lock_given_back(struct judge *j, const struct judge_lock *l,
    const struct judge_grant *g, const struct fact *f)
{
	struct judge_hold *h, *next;

	DL_FOREACH_SAFE(l->holds, h, next)
	{
		if (h->grant != g)
			continue;
		if (judge_linger_may_be_lost(h))
			judge_linger_given_back(j, h);
		else if (!judge_hold_is_exempt(h))
			judge_find(j, "R5", "%c takes %s from c%" PRIu64
			    ", who has it", judge_host_name(f->host),
			    judge_lock_name(l), h->client->id);
	}
	/* A break ends the gap, too: an element that came again since that loss
	 * has landed late. */
	if (g->broken && g->appeared_ms >= g->gap_since_ms)
		return;
	if (g->lost_ms > 0 && g->gap && f->sent_ms < g->lost_ms +
	    judge_least_ms(j, f->host, j->rules.margin_ms))
		judge_find(j, "R5", "%c gives %s back at %" PRIu64 ", but its "
		    "holder was told at %" PRIu64, judge_host_name(f->host),
		    judge_lock_name(l), f->sent_ms, g->lost_ms);
}

static void
judge_lock_element_left(struct judge *j, struct judge_lock *l,
    struct judge_grant *g, const struct fact *f, bool replaced, bool changed)
{
	bool own = judge_session_is_own(g->session, f->host, f->sent_ms);
	bool left_held;

	DL_DELETE2(l->standing, g, standing_prev, standing_next);
	l->n_standing--;
	g->standing = false;
	g->left = true;
	left_held = g->left_held;
	g->left_held = false;
	g->was_left_held = g->was_left_held || left_held;
	g->left_ms = f->at_ms;
	if (f->host == FACT_BY_HAND || f->expired) {
		g->hand_gone = true;
		return;
	}
	if (f->lock.says_broken && !l->says_broken) {
		judge_break_left(j, l, g, f);
		return;
	}
	if (changed) {
		if (f->sent_ms < g->released_ms)
			g->released_ms = f->sent_ms;
		return;
	}
	/*
	 * Its own daemon may remove a dead session's element, as any daemon
	 * may.
	 */
	if (own && !replaced && (g->fail_closed ||
	    !(g->shared && g->session->ever_dead))) {
		if (left_held)
			judge_find(j, "R20", "%c takes out of %s what a "
			    "client left held", judge_host_name(f->host),
			    judge_lock_name(l));
		l->cleared_ms = f->at_ms;
		judge_lock_given_back(j, l, g, f);
		judge_turns_left(j, l, g);
		if (f->sent_ms < g->released_ms)
			g->released_ms = f->sent_ms;
		return;
	}
	g->taken = true;
	if (g->fail_closed)
		judge_find(j, "R4", "%c takes %s from a fail-closed holder",
		    judge_host_name(f->host), judge_lock_name(l));
	else if (!g->session->ever_dead)
		judge_find(j, "R4", "%c takes %s from %c, whose session is not"
		    " dead", judge_host_name(f->host), judge_lock_name(l),
		    judge_host_name(g->session->host));
}

/* An item made again so soon that its first token need not be above the old
 * ones: they are of the same second, or were raised to the next. */
static bool
judge_lock_is_renewed(const struct judge_lock *l, const struct fact *f)
{
	return !l->exists && (l->raised || f->sent_ms <= l->removed_ms ||
	    f->at_ms < l->created_ms + JUDGE_NEW_ITEM_MS);
}

/* R6: may it come in? */
static void
judge_lock_check_new(struct judge *j, const struct judge_lock *l,
    const struct judge_grant *g, const struct fact_element *e,
    const struct fact *f)
{
	const struct judge_session *s = g->session;

	if (f->lock.token <= l->token && !judge_lock_is_renewed(l, f))
		judge_find(j, "R6", "%s: a grant, but the token stays %" PRIu64,
		    judge_lock_name(l), f->lock.token);
	else if (g->lock != l || strcmp(s->name, e->session) != 0)
		judge_find(j, "R6", "%s: a grant that was another's",
		    judge_lock_name(l));
	else if (!judge_session_is_own(s, f->host, f->sent_ms))
		judge_find(j, "R6", "%s: %c writes an element of %c's session",
		    judge_lock_name(l), judge_host_name(f->host),
		    judge_host_name(s->host));
	else if (s->opened_ms > f->sent_ms)
		judge_find(j, "R6", "%s: an element of a session that was not "
		    "open at %" PRIu64, judge_lock_name(l), f->sent_ms);
	else if (e->lease_ms != s->lease_ms)
		judge_find(j, "R6", "%s: an element with a lease of %" PRIu64
		    " ms", judge_lock_name(l), e->lease_ms);
}

/* R7: it was there before. */
static void
judge_lock_check_again(struct judge *j, const struct judge_lock *l,
    const struct judge_grant *g, const struct fact *f)
{
	uint64_t span_ms = judge_most_ms(j, f->host, j->rules.request_ms);
	bool stood = j->hosts[f->host].frozen_until > 0;

	if (!g->left)
		return;
	/* While a clock stands still, a request never expires. */
	if (!stood && (f->sent_ms > g->first_sent_ms + span_ms ||
	    g->first_sent_ms > f->sent_ms + span_ms))
		judge_find(j, "R7", "%s: a grant of %" PRIu64 " comes back by "
		    "a request of %" PRIu64, judge_lock_name(l),
		    g->first_sent_ms, f->sent_ms);
	else if (f->sent_ms > g->released_ms)
		judge_find(j, "R7", "%s: a grant comes back by a request of %"
		    PRIu64 ", and was released at %" PRIu64,
		    judge_lock_name(l), f->sent_ms, g->released_ms);
}

/* R9: a holder has no waiter mark for its own lock. */
static void
judge_lock_check_waiter_mark(struct judge *j, const struct judge_lock *l,
    const struct judge_grant *g, const struct fact *f)
{
	for (size_t i = 0; i < f->lock.n_waiter_marks &&
	    i < FACT_WAITER_MARKS_MAX; i++) {
		const struct fact_waiter_mark *w = &f->lock.waiter_marks[i];

		if ((g->shared || !w->shared) &&
		    strcmp(w->session, g->session->name) == 0)
			judge_find(j, "R9", "%s: %c has it and still wishes",
			    judge_lock_name(l), judge_host_name(f->host));
	}
}

static void
judge_lock_element_came(struct judge *j, struct judge_lock *l,
    struct judge_grant *g, const struct fact_element *e,
    const struct fact *f, bool takeover)
{
	bool by_hand = f->host == FACT_BY_HAND || f->expired;

	if (!by_hand) {
		judge_lock_check_new(j, l, g, e, f);
		judge_lock_check_again(j, l, g, f);
		judge_lock_check_waiter_mark(j, l, g, f);
		if (!takeover && l->readable)
			judge_turns_check_marks(j, l, g, f);
		judge_turns_came(j, l, g, f);
	}
	judge_session_shown(j, g->session);
	if (f->sent_ms < g->first_sent_ms)
		g->first_sent_ms = f->sent_ms;
	g->token_before = l->exists ? l->token : 0;
	if (!g->left || g->token_before < g->token_since)
		g->token_since = g->token_before;
	g->appeared_ms = f->at_ms;
	if (g->n_valid == 0)
		g->idle_ms = f->at_ms;
	g->restored = by_hand && g->left;
	g->standing = true;
	g->takeover = takeover;
	l->joined_ms = f->at_ms;
	if (l->n_standing++ == 0)
		l->occupied_ms = f->at_ms;
	DL_APPEND2(l->standing, g, standing_prev, standing_next);
}

/* ---- the record ------------------------------------------------------- */

/* R1: also across a deletion. */
static void
judge_lock_check_token(struct judge *j, const struct judge_lock *l,
    const struct fact *f)
{
	if (f->lock.token > JUDGE_TOKEN_MAX)
		judge_find(j, "R1", "%s: the token is %" PRIu64,
		    judge_lock_name(l), f->lock.token);
	if (f->lock.token < l->token && !judge_lock_is_renewed(l, f))
		judge_find(j, "R1", "%s: the token goes down from %" PRIu64
		    " to %" PRIu64, judge_lock_name(l), l->token,
		    f->lock.token);
}

static bool
judge_lock_shows(const struct fact_lock *now, const struct judge_grant *g)
{
	for (size_t i = 0; now->exists && now->readable &&
	    i < now->n_elements; i++)
		if (strcmp(now->elements[i].grant, g->id) == 0)
			return true;
	return false;
}

/* The effect of one write on the elements. */
struct judge_change {
	size_t n_came;
	size_t n_stayed;
	const struct judge_grant *stayed;	/* one of them */
};

static void
judge_lock_compare(struct judge_lock *l, const struct fact_lock *now,
    struct judge_change *ret)
{
	const struct judge_grant *g;

	*ret = (struct judge_change){ .n_stayed = 0 };
	DL_FOREACH2(l->standing, g, standing_next)
	{
		if (!judge_lock_shows(now, g))
			continue;
		ret->n_stayed++;
		ret->stayed = g;
	}
	if (now->exists && now->readable)
		ret->n_came = now->n_elements - ret->n_stayed;
}

/* R3: a record is in one use at a time. */
static void
judge_lock_check_use(struct judge *j, const struct judge_lock *l,
    const struct judge_change *c, const struct fact *f)
{
	const struct fact_lock *now = &f->lock;

	if (c->n_came > 1)
		judge_find(j, "R3", "%c writes %zu elements into %s at once",
		    judge_host_name(f->host), c->n_came, judge_lock_name(l));
	else if (c->stayed != NULL && (now->shared != c->stayed->shared ||
	    now->limit != c->stayed->limit))
		judge_find(j, "R3", "%c changes the use of %s, which is held",
		    judge_host_name(f->host), judge_lock_name(l));
}

/* R8, R9: changes that are allowed while the elements stay. */
static void
judge_lock_check_rest(struct judge *j, const struct judge_lock *l,
    const struct judge_change *c, const struct fact *f)
{
	bool raised = l->exists && f->lock.token > l->token;

	if (raised && c->n_came == 0 && judge_raise_is_meant(l, f))
		judge_raise_check(j, l, f);
	else if (raised && c->n_came == 0 && (c->stayed == NULL ||
	    f->lock.n_elements > 1 ||
	    !judge_session_is_own(c->stayed->session, f->host, f->sent_ms)))
		judge_find(j, "R8", "%s: %c raises the token to %" PRIu64
		    " and does not hold it alone", judge_lock_name(l),
		    judge_host_name(f->host), f->lock.token);
	if (f->lock.n_waiter_marks > l->n_waiter_marks &&
	    l->n_standing == 0 && f->lock.n_line < 2)
		judge_find(j, "R9", "%s: %c adds a wish, but nobody holds it",
		    judge_lock_name(l), judge_host_name(f->host));
}

/* R2, R3: the record after a daemon's write. */
static void
judge_lock_check_form(struct judge *j, const struct judge_lock *l,
    const struct fact *f)
{
	const struct fact_lock *now = &f->lock;
	char host = judge_host_name(f->host);
	uint64_t most = !now->shared ? 1 : now->limit > 0 ? now->limit :
	    UINT64_MAX;

	if (!now->exists)
		judge_find(j, "R3", "%c deletes %s", host, judge_lock_name(l));
	else if (now->n_elements > most)
		judge_find(j, "R3", "%c writes %s with %zu elements", host,
		    judge_lock_name(l), now->n_elements);
	else if (!l->exists && now->n_elements == 0)
		judge_find(j, "R3", "%c makes %s without a holder", host,
		    judge_lock_name(l));
	else if (now->n_elements > 0 && now->says_broken)
		judge_find(j, "R19", "%c leaves on %s that it was broken, "
		    "which is held", host, judge_lock_name(l));
	else if (now->n_elements > 0 && now->has_ttl)
		judge_find(j, "R2", "%c leaves a ttl on %s, which is held",
		    host, judge_lock_name(l));
	else if (now->n_elements == 0 && l->n_standing > 0 && !now->has_ttl)
		judge_find(j, "R2", "%c leaves %s free and without a ttl",
		    host, judge_lock_name(l));
	else if (now->n_elements == 0 && l->n_standing > 0 &&
	    j->hosts[f->host].frozen_until == 0 &&
	    now->ttl_ahead_s + JUDGE_TTL_SLACK_S <
	    (int64_t)j->rules.retention_s)
		judge_find(j, "R2", "%c leaves %s free, for %" PRId64 " s only",
		    host, judge_lock_name(l), now->ttl_ahead_s);
}

static void
judge_lock_wrote(struct judge *j, struct judge_lock *l, const struct fact *f)
{
	/* The rules do not apply to a record broken by hand. */
	if (!l->readable || (f->lock.exists && !f->lock.readable))
		return;
	judge_lock_check_form(j, l, f);
	judge_lock_check_token(j, l, f);
}

/* By its own host, for a client that asked to share its hold. */
static void
judge_lock_changed(struct judge *j, const struct judge_lock *l,
    struct judge_grant *from, struct judge_grant *to, const struct fact *f)
{
	judge_downgrade_follow(j, from, to);
	judge_lock_given_back(j, l, from, f);
	to->takeover = false;
}

/* The present elements, and the earlier ones. */
static void
judge_lock_elements(struct judge *j, struct judge_lock *l,
    const struct fact *f)
{
	const struct fact_lock *now = &f->lock;
	struct judge_grant *g, *next, *from = NULL;
	struct judge_change c;
	bool takeover;

	judge_lock_compare(l, now, &c);
	takeover = c.n_came > 0 && l->n_standing > c.n_stayed;
	if (takeover && judge_downgrade_landed(l, f))
		from = l->standing;
	if (f->host != FACT_BY_HAND && !f->expired && l->readable &&
	    now->readable) {
		judge_lock_check_use(j, l, &c, f);
		judge_lock_check_rest(j, l, &c, f);
	}
	DL_FOREACH_SAFE2(l->standing, g, next, standing_next)
	{
		if (!judge_lock_shows(now, g))
			judge_lock_element_left(j, l, g, f, takeover,
			    from != NULL);
	}
	if (c.n_came == 0)
		return;
	for (size_t i = 0; i < now->n_elements; i++) {
		g = judge_grant_get(j, l, now, &now->elements[i]);
		if (!g->standing)
			judge_lock_element_came(j, l, g, &now->elements[i], f,
			    takeover);
		if (from != NULL)
			judge_lock_changed(j, l, from, g, f);
	}
}

static void
judge_lock_raise(const struct judge *j, struct judge_lock *l,
    const struct fact_lock *now)
{
	if (now->exists && !l->exists)
		l->raised = false;
	else if (j->rules.bridge && now->exists &&
	    now->token > l->token + JUDGE_RAISE_MIN)
		l->raised = true;
}

/* These tokens were written while the elements stood. */
static void
judge_lock_top(struct judge_lock *l)
{
	struct judge_grant *g;

	DL_FOREACH2(l->standing, g, standing_next)
	{
		if (l->token > g->token_top)
			g->token_top = l->token;
	}
}

void
judge_lock_fact(struct judge *j, const struct fact *f)
{
	struct judge_lock *l = judge_lock_get(j, f->namespace_index, f->key);
	const struct fact_lock *now = &f->lock;

	if (f->host != FACT_BY_HAND && !f->expired)
		judge_lock_wrote(j, l, f);
	judge_line_fact(j, l, f);
	judge_lock_elements(j, l, f);
	judge_contents_wrote(j, l, f);
	judge_turns_marks(j, l, f);
	if (now->exists && (!l->exists || (f->host != FACT_BY_HAND &&
	    !f->expired && judge_raise_is_meant(l, f))))
		l->created_ms = f->at_ms;
	if (l->exists && !f->lock.exists)
		l->removed_ms = f->at_ms;
	if ((now->token < l->token || (!l->exists && l->token > 0 &&
		(now->token == l->token || judge_lock_is_renewed(l, f)))) &&
	    now->exists && now->readable) {
		l->token_told = l->token_exclusive = 0;	/* R1 let it pass */
		l->age++;
	}
	judge_lock_raise(j, l, now);
	if (f->host == FACT_BY_HAND || f->expired)
		l->hand_ms = f->at_ms;
	if (f->host == FACT_BY_HAND)
		l->ran_ms = 0;
	if (f->host == FACT_BY_HAND && now->exists &&
	    now->token > l->token_top)
		l->spent = true;
	if (now->exists && now->token > l->token_top)
		l->token_top = now->token;
	if (l->spent && !now->exists) {
		/* A repair of a broken record starts again. */
		l->spent = false;
		l->token = l->token_told = l->token_exclusive = 0;
		l->token_top = 0;
		memset(l->told, 0, sizeof(l->told));
		l->age++;
	}
	l->known = true;
	l->exists = now->exists;
	l->readable = !now->exists || now->readable;
	l->has_ttl = now->has_ttl;
	l->says_broken = now->says_broken;
	l->n_waiter_marks = now->n_waiter_marks;
	if (now->exists && now->readable) {
		l->token = now->token;
		l->shared = now->shared;
		l->limit = now->limit;
		judge_lock_top(l);
	}
	judge_quiet_review(j, l);
	judge_watch_review(j, l);
}

void
judge_lock_free_all(struct judge *j)
{
	struct judge_lock *l, *next;

	HASH_CLEAR(hh, j->grants);
	HASH_ITER(hh, j->locks, l, next)
	{
		struct judge_grant *g, *after;

		LL_FOREACH_SAFE(l->grants, g, after)
		{
			free(g);
		}
		HASH_DEL(j->locks, l);
		judge_watch_free_all(j, l);
		judge_due_done(j, &l->wait_due);
		judge_due_done(j, &l->idle_due);
		judge_break_free(l);
		judge_turns_free(l);
		judge_record_free_all(l);
		free(l->turns);
		free(l);
	}
}

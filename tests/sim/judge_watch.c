/*
 * Watchers of a lock: their events are true, and the last event is the final
 * state, after the last fault.
 *
 * The truth is the table. The daemon that holds the lock knows more: of an
 * element that none of its clients has, it says that the lock is free.
 */
#include "judge_state.h"

#include <inttypes.h>
#include <stdlib.h>

static struct judge_watch *
judge_watch_find(const struct judge_lock *l, const struct judge_client *c)
{
	struct judge_watch *w;

	DL_SEARCH_SCALAR(l->watches, w, client, c);
	return w;
}

static void
judge_watch_free(struct judge *j, struct judge_watch *w)
{
	DL_DELETE(w->lock->watches, w);
	judge_due_done(j, &w->due);
	free(w);
}

/* ---- the truth -------------------------------------------------------- */

struct judge_truth {
	uint64_t least;		/* holders */
	uint64_t most;
	bool dead;		/* all of them are known to be */
	bool dying;		/* or their daemons are no more */
};

/* Of a daemon that lives, and that has not told its clients of its end. */
static bool
judge_watch_is_good(const struct judge_session *s)
{
	return s->exists && !s->dead && s->ended_ms == JUDGE_NEVER &&
	    !s->lost;
}

static void
judge_watch_truth(const struct judge_watch *w, struct judge_truth *ret)
{
	const struct judge_grant *g;

	*ret = (struct judge_truth){ .dead = true, .dying = true };
	DL_FOREACH2(w->lock->standing, g, standing_next)
	{
		const struct judge_session *s = g->session;
		bool own = s->host == w->client->host &&
		    judge_watch_is_good(s);

		ret->least += own ? g->n_valid : 1;
		ret->most += own && g->n_valid > 0 ? g->n_valid : 1;
		if (!s->dead || g->fail_closed)
			ret->dead = false;
		if (judge_watch_is_good(s) || g->fail_closed)
			ret->dying = false;
	}
}

/* The token that a client here was granted, or the record's. The token of an
 * element kept for a multi-lock request was not told yet, nor that of a shared
 * one whose client was told that it is not known. */
static bool
judge_watch_is_token(const struct judge_watch *w)
{
	const struct judge_request *r;
	const struct judge_hold *h;

	if (w->token == w->lock->token)
		return true;
	DL_FOREACH2(w->lock->waiters, r, wait_next)
	{
		if (r->multi != 0 && r->client->host == w->client->host)
			return true;
	}
	DL_FOREACH(w->lock->holds, h)
	{
		if (h->client->host == w->client->host &&
		    (h->token == w->token || h->downgrading))
			return true;
	}
	return false;
}

static bool
judge_watch_agrees(const struct judge_watch *w, const struct judge_truth *t)
{
	const struct judge_lock *l = w->lock;

	if (!l->known || (l->exists && !l->readable))
		return true;
	if (w->outdated)
		return false;
	if (w->state == FACT_FREE || t->most == 0)
		return w->state == FACT_FREE && t->least == 0;
	if (w->state != (t->dead || t->dying ? FACT_DEAD : FACT_HELD))
		return false;
	return w->n_holders >= t->least && w->n_holders <= t->most &&
	    judge_watch_is_token(w);
}

/* Was an element of a client of the same daemon removed by hand? Only the audit
 * sees that. */
static bool
judge_watch_needs_audit(const struct judge_watch *w)
{
	const struct judge_hold *h;

	DL_FOREACH(w->lock->holds, h)
	{
		if (h->client->host == w->client->host && h->grant != NULL &&
		    !h->grant->standing)
			return true;
	}
	return false;
}

/* The holder that it was told of: the last before that token. */
static const struct judge_grant *
judge_watch_holder(const struct judge_watch *w)
{
	const struct judge_grant *g, *last = NULL;

	LL_FOREACH(w->lock->grants, g)
	{
		if (g->token_before < w->token &&
		    (last == NULL || g->token_before >= last->token_before))
			last = g;
	}
	return last;
}

/* Only the audit sees it, too, if no client has it and its daemon keeps it for
 * a multi-lock request. But shared elements are looked at. */
static bool
judge_watch_is_kept(const struct judge_watch *w)
{
	const struct judge_grant *g = judge_watch_holder(w);

	return w->state == FACT_HELD && g != NULL && !g->shared &&
	    g->hand_gone && !g->standing &&
	    g->session->host == w->client->host &&
	    judge_watch_is_good(g->session) && judge_quiet_is_kept(g);
}

/* W4: when it must have been told otherwise. */
static uint64_t
judge_watch_due_ms(const struct judge *j, const struct judge_watch *w,
    const struct judge_truth *t)
{
	const struct judge_rules *r = &j->rules;
	uint64_t wait_ms = 3 * r->poll_ms + 3 * r->request_ms + r->margin_ms +
	    r->idle_ms;

	if (judge_watch_needs_audit(w) || judge_watch_is_kept(w))
		wait_ms += 2 * r->audit_ms;
	if (t->most > 0 && t->dying)
		wait_ms += judge_stretch_ms(j, r->lease_ms) + r->lease_ms;
	return judge_quiet_from_ms(j, j->now_ms) +
	    judge_stretch_ms(j, wait_ms) + r->slack_ms + r->lateness_ms;
}

static void
judge_watch_is_late(struct judge *j, void *owner)
{
	const struct judge_watch *w = owner;
	static const char *const words[] = { "unknown", "free", "held",
		"dead" };

	if (!judge_is_awake(j, w->client->host))
		return;
	judge_find(j, "W4", "c%" PRIu64 " watches %s and was told last that it "
	    "is %s", w->client->id, judge_lock_name(w->lock),
	    words[w->state]);
}

static void
judge_watch_schedule(struct judge *j, struct judge_watch *w, bool again)
{
	struct judge_truth t;

	if (j->quiet_ms == JUDGE_NEVER)
		return;
	judge_watch_truth(w, &t);
	if (judge_watch_agrees(w, &t))
		judge_due_unset(j, &w->due);
	else if (again || w->due.timer.position == 0)
		judge_due_set(j, &w->due, judge_watch_due_ms(j, w, &t));
}

/* The truth may have changed now. */
void
judge_watch_review(struct judge *j, struct judge_lock *l)
{
	struct judge_watch *w;

	DL_FOREACH(l->watches, w)
	{
		judge_watch_schedule(j, w, true);
	}
}

/* Its contents have changed. */
void
judge_watch_outdate(struct judge_lock *l)
{
	struct judge_watch *w;

	DL_FOREACH(l->watches, w)
	{
		w->outdated = true;
	}
}

/* ---- events ----------------------------------------------------- */

/* W2: a token was in the record, and none comes back, except that of a sharer
 * among several. */
static void
judge_watch_check_token(struct judge *j, const struct judge_watch *w,
    const struct fact *f)
{
	const struct judge_lock *l = w->lock;
	uint64_t least = f->shared ? w->token_exclusive : w->token;

	if (f->state < FACT_HELD || !l->known || l->spent ||
	    l->age != w->age || judge_watch_needs_audit(w))
		return;
	/* The earlier state of a record repaired by hand does not count; and a
	 * daemon may not know yet that a table was restored. */
	if (f->token > l->token_top && l->token > 0)
		judge_find(j, "W2", "c%" PRIu64 " is told of a holder of %s "
		    "that never was", w->client->id, judge_lock_name(l));
	if (f->token < least)
		judge_find(j, "W2", "c%" PRIu64 " is told of a holder of %s "
		    "before the one that it was told of", w->client->id,
		    judge_lock_name(l));
}

/* W3: a session told to be dead was marked dead. (An element that a backup
 * brought back its own daemon takes out.) */
static void
judge_watch_check_dead(struct judge *j, const struct judge_watch *w,
    const struct fact *f)
{
	const struct judge_lock *l = w->lock;
	const struct judge_grant *g;

	if (f->state != FACT_DEAD || !l->known || f->token != l->token)
		return;
	DL_FOREACH2(l->standing, g, standing_next)
	{
		if (!g->session->ever_dead && !g->restored)
			judge_find(j, "W3", "c%" PRIu64 " is told that %s is "
			    "dead, and a holder's session is not",
			    w->client->id, judge_lock_name(l));
	}
}

static void
judge_watch_told(struct judge *j, struct judge_watch *w, const struct fact *f)
{
	/* A token above the record's comes from a repair by hand. */
	bool held = f->state >= FACT_HELD && f->token <= w->lock->token;

	judge_watch_check_token(j, w, f);
	judge_watch_check_dead(j, w, f);
	w->outdated = false;
	w->state = f->state;
	w->n_holders = f->n_holders;
	if (w->age != w->lock->age)
		w->token = w->token_exclusive = 0;
	w->age = w->lock->age;
	if (held)
		w->token = f->token;
	if (held && !f->shared)
		w->token_exclusive = f->token;
	judge_watch_schedule(j, w, false);
}

/* A watch begins or ends with its answer. */
void
judge_watch_answered(struct judge *j, const struct judge_request *r,
    const struct fact *f)
{
	struct judge_lock *l = r->watched;
	struct judge_watch *w = judge_watch_find(l, r->client);

	if (f->verb == CORE_UNWATCH) {
		/* Perhaps it gave up a watch that had no answer yet. */
		if (w != NULL)
			judge_watch_free(j, w);
		return;
	}
	if (w != NULL) {
		judge_find(j, "W1", "c%" PRIu64 " watches %s twice",
		    r->client->id, judge_lock_name(l));
		return;
	}
	w = judge_alloc(sizeof(*w));
	w->client = r->client;
	w->lock = l;
	w->age = l->age;
	judge_due_init(j, &w->due, judge_watch_is_late, w);
	DL_APPEND(l->watches, w);
	judge_watch_told(j, w, f);
}

void
judge_watch_changed(struct judge *j, struct judge_client *c,
    const struct fact *f)
{
	struct judge_lock *l = judge_lock_get(j, f->namespace_index, f->key);
	struct judge_watch *w = judge_watch_find(l, c);

	j->counts.changes++;
	if (w == NULL)
		judge_find(j, "W1", "c%" PRIu64 " is told of %s, which it does "
		    "not watch", c->id, judge_lock_name(l));
	else
		judge_watch_told(j, w, f);
}

void
judge_watch_left(struct judge *j, const struct judge_client *c)
{
	struct judge_lock *l;

	for (l = j->locks; l != NULL; l = l->hh.next) {
		struct judge_watch *w = judge_watch_find(l, c);

		if (w != NULL)
			judge_watch_free(j, w);
	}
}

void
judge_watch_free_all(struct judge *j, struct judge_lock *l)
{
	while (l->watches != NULL)
		judge_watch_free(j, l->watches);
}

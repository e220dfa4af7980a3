/*
 * Turns: a host that passes a lock on among its own clients yields to another
 * host's waiter mark, and then waits.
 */
#include "judge_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A write that landed late is looked for after pauses of up to this, and then
 * with each audit. */
#define JUDGE_TURNS_IN_DOUBT_MS 30000

/*
 * ---- waiter marks -----------------------------------------------------------
 */

static size_t
judge_turns_marked(const struct judge_lock *l, bool shared)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n_named; i++)
		if (l->waiter_marks[i].shared == shared)
			n++;
	return n;
}

/* A mark was removed by an earlier request of its own host that landed late:
 * the host sees that when it looks again. */
static void
judge_turns_unmarked(struct judge_lock *l, const struct judge_waiter_mark *w,
    const struct fact *f)
{
	for (size_t i = 0; i < l->n_named; i++)
		if (l->waiter_marks[i].session == w->session)
			return;
	if (w->session->host == f->host && f->host < FACT_HOSTS_MAX &&
	    f->sent_ms < w->since_ms)
		l->unmarked_ms[f->host] = f->at_ms;
}

static bool
judge_turns_was_marked(const struct judge_lock *l, const char *session,
    bool shared)
{
	const struct judge_mark_left *m;

	LL_FOREACH(l->marks_left, m)
	{
		if (m->shared == shared &&
		    strcmp(m->session->name, session) == 0)
			return true;
	}
	return false;
}

static void
judge_turns_note(struct judge_lock *l, const struct judge_waiter_mark *w)
{
	struct judge_mark_left *m;

	if (judge_turns_was_marked(l, w->session->name, w->shared))
		return;
	m = judge_alloc(sizeof(*m));
	m->session = w->session;
	m->shared = w->shared;
	LL_PREPEND(l->marks_left, m);
}

void
judge_turns_free(struct judge_lock *l)
{
	struct judge_mark_left *m, *next;

	LL_FOREACH_SAFE(l->marks_left, m, next)
	{
		free(m);
	}
}

/* Marks that stay keep their time. */
void
judge_turns_marks(struct judge *j, struct judge_lock *l,
    const struct fact *f)
{
	const struct fact_lock *now = &f->lock;
	struct judge_waiter_mark before[FACT_WAITER_MARKS_MAX];
	size_t n_before = l->n_named;
	size_t n_shared = judge_turns_marked(l, true);

	memcpy(before, l->waiter_marks, sizeof(before));
	l->n_named = 0;
	for (size_t i = 0; i < now->n_waiter_marks &&
	    i < FACT_WAITER_MARKS_MAX; i++) {
		struct judge_waiter_mark *w = &l->waiter_marks[l->n_named];
		const struct fact_waiter_mark *waiter_mark =
		    &now->waiter_marks[i];

		if (waiter_mark->session[0] == '\0')
			continue;
		l->n_named++;
		*w = (struct judge_waiter_mark){
			.session = judge_session_get(j, waiter_mark->session),
			.shared = waiter_mark->shared,
			.since_ms = f->at_ms,
			.restored = f->host == FACT_BY_HAND &&
			    judge_turns_was_marked(l, waiter_mark->session,
			    waiter_mark->shared),
		};
		for (size_t k = 0; k < n_before; k++)
			if (before[k].session == w->session &&
			    before[k].shared == w->shared)
				*w = before[k];
	}
	for (size_t k = 0; k < n_before; k++) {
		judge_turns_unmarked(l, &before[k], f);
		judge_turns_note(l, &before[k]);
	}
	if (judge_turns_marked(l, true) != n_shared)
		l->marked_ms[true] = f->at_ms;
	if (l->n_named - judge_turns_marked(l, true) != n_before - n_shared)
		l->marked_ms[false] = f->at_ms;
}

/* Is its host visibly alive, and was so since it opened the session? A host
 * that saw no beat for a lease looks again after another lease. */
bool
judge_turns_is_alive(const struct judge *j, const struct judge_session *s)
{
	const struct judge_rules *r = &j->rules;
	uint64_t lease_ms = r->lease_ms - r->margin_ms;

	if (s->revived_ms > 0 && j->now_ms < s->revived_ms +
	    judge_stretch_ms(j, r->lease_ms + r->request_ms))
		return false;
	return s->exists && !s->dead && !s->ever_absent &&
	    judge_is_known_host(s->host) && j->hosts[s->host].running &&
	    s->ended_ms == JUDGE_NEVER && !judge_session_is_frozen(j, s) &&
	    j->now_ms < s->sent_ms + judge_least_ms(j, s->host, lease_ms);
}

/* When this host acquired its last element there. */
static uint64_t
judge_turns_told_ms(const struct judge_lock *l, unsigned host)
{
	const struct judge_grant *g;
	uint64_t told_ms = 0;

	DL_FOREACH2(l->standing, g, standing_next)
	{
		if (g->session->host == host && g->told_ms > told_ms)
			told_ms = g->told_ms;
	}
	return told_ms;
}

/* Does it block that mark? Sharers admit other sharers while there is a
 * place. */
static bool
judge_turns_hinders(const struct judge_grant *g,
    const struct judge_waiter_mark *w)
{
	return !w->shared || !g->shared ||
	    (g->limit > 0 && g->lock->n_standing >= g->limit);
}

/* Within a poll of a look that showed nobody a run may have any number of
 * grants; that look may have been on its way when the mark came. */
static bool
judge_turns_is_new(const struct judge *j, const struct judge_waiter_mark *w,
    unsigned host)
{
	const struct judge_rules *r = &j->rules;

	return j->now_ms <= w->since_ms + r->lateness_ms +
	    judge_most_ms(j, host, r->poll_ms + r->request_ms);
}

/* F2. The record is read at the end of a run; an answer that was on its way
 * when the mark came may have begun another run. */
void
judge_turns_granted(struct judge *j, const struct judge_hold *h)
{
	const struct judge_rules *r = &j->rules;
	const struct judge_grant *g = h->grant;
	unsigned host = h->client->host;
	struct judge_lock *l = h->lock;

	if (g == NULL || r->handover_max == 0 || judge_hold_is_exempt(h) ||
	    h->multi != 0 ||
	    !g->standing || g->n_told < 2)
		return;
	for (size_t i = 0; i < l->n_named; i++) {
		struct judge_waiter_mark *w = &l->waiter_marks[i];
		uint64_t from_ms = w->since_ms;
		uint64_t told_ms = judge_turns_told_ms(l, host);

		if (w->session->host == host || !judge_turns_hinders(g, w))
			continue;
		if (!judge_turns_is_new(j, w, host))
			w->grants[host]++;
		if (told_ms > from_ms)
			from_ms = told_ms;
		/* Until then there was a place. */
		if (w->shared && g->shared && l->joined_ms > from_ms)
			from_ms = l->joined_ms;
		if (j->hosts[host].resumed_ms > from_ms)
			from_ms = j->hosts[host].resumed_ms;
		from_ms += judge_most_ms(j, host,
		    r->lease_ms + r->request_ms) + r->lateness_ms;
		if ((w->grants[host] <= 2 * (uint64_t)r->handover_max &&
		    j->now_ms <= from_ms) ||
		    !judge_turns_is_alive(j, w->session))
			continue;
		judge_find(j, "F2", "%s: %c passes it on to c%" PRIu64 ", the "
		    "%" PRIu64 ". time since %c wished for it at %" PRIu64,
		    judge_lock_name(l), judge_host_name(host), h->client->id,
		    w->grants[host], judge_host_name(w->session->host),
		    w->since_ms);
	}
}

/* ---- standing back ---------------------------------------------------- */

/* A stopped daemon reads requests when it goes on. */
static uint64_t
judge_turns_read_ms(const struct judge_request *r)
{
	return r->woken_ms > 0 ? r->woken_ms : r->asked_ms;
}

/* A client of this host that asked until then, and waits. */
static bool
judge_turns_waits(const struct judge_lock *l, unsigned host,
    uint64_t until_ms)
{
	const struct judge_request *r;

	DL_FOREACH2(l->waiters, r, wait_next)
	{
		if (r->client->host == host &&
		    judge_turns_read_ms(r) < until_ms)
			return true;
	}
	return false;
}

/* The first of this host that waits. */
static const struct judge_request *
judge_turns_first(const struct judge_lock *l, unsigned host)
{
	const struct judge_request *r;

	DL_FOREACH2(l->waiters, r, wait_next)
	{
		if (r->client->host == host)
			return r;
	}
	return NULL;
}

static void
judge_turns_forget_run(struct judge_lock *l, unsigned host)
{
	for (size_t i = 0; i < l->n_named; i++)
		l->waiter_marks[i].grants[host] = 0;
}

/* Its own daemon released it: a first waiter there could have had this element
 * when the last hold ended, so the release is for other hosts. */
void
judge_turns_left(struct judge *j, struct judge_lock *l,
    const struct judge_grant *g)
{
	unsigned host = g->session->host;
	const struct judge_request *first = judge_turns_first(l, host);

	judge_turns_forget_run(l, host);
	l->yields[host].session = NULL;
	/* An element that landed late is removed as soon as it is seen. */
	if (j->rules.handover_max == 0 || g->n_told == 0 ||
	    g->released_ms != JUDGE_NEVER || g->hand_gone ||
	    g->idle_ms == JUDGE_NEVER || first == NULL || first->multi != 0 ||
	    judge_turns_read_ms(first) >= g->idle_ms ||
	    first->shared != g->shared || g->once ||
	    first->terms.every_ms > 0 ||
	    first->limit != g->limit || first->fail_closed != g->fail_closed ||
	    l->waited_ms[host] >= g->idle_ms)
		return;
	/* With a line, its turn comes after the others'. Several are released
	 * at one time, and are told of when the last one is. */
	if (l->line.n > 0 || l->multi_ms[host] >= g->told_ms)
		return;
	l->yields[host] = (struct judge_yield){
		.session = g->session,
		.at_ms = j->now_ms,
		.to_ms = g->idle_ms,
	};
}

/* F3 */
void
judge_turns_came(struct judge *j, struct judge_lock *l,
    const struct judge_grant *g, const struct fact *f)
{
	const struct judge_yield y = l->yields[f->host];
	uint64_t poll_ms = j->rules.poll_least_ms > 0 ?
	    j->rules.poll_least_ms : j->rules.poll_ms;
	uint64_t back_ms = y.at_ms + judge_least_ms(j, f->host, 2 * poll_ms);

	judge_turns_forget_run(l, f->host);
	/* In any case the other hosts had their turn. */
	memset(l->yields, 0, sizeof(l->yields));
	if (y.session == NULL || y.session != g->session || g->left ||
	    f->sent_ms < y.at_ms || f->sent_ms >= back_ms ||
	    !judge_turns_waits(l, f->host, y.to_ms))
		return;
	judge_find(j, "F3", "%s: %c gave it back at %" PRIu64 " for others, "
	    "and asks again at %" PRIu64, judge_lock_name(l),
	    judge_host_name(f->host), y.at_ms, f->sent_ms);
}

/* ---- F6: the kinds of use take turns ---------------------------------- */

/* A client whose limit makes it mark for exclusive use comes in as the others
 * do when they have left. */
static bool
judge_turns_marks_exclusive(const struct judge_lock *l,
    const struct judge_session *s)
{
	for (size_t i = 0; i < l->n_named; i++)
		if (l->waiter_marks[i].session == s &&
		    !l->waiter_marks[i].shared)
			return true;
	return false;
}

void
judge_turns_check_marks(struct judge *j, const struct judge_lock *l,
    const struct judge_grant *g, const struct fact *f)
{
	const char *host = &"ABCDEFGHI?"[f->host];

	if (l->n_standing > 0) {
		if (judge_turns_marked(l, false) > 0)
			judge_find(j, "F6", "%s: %.1s joins those who share "
			    "it, and another wishes for it alone",
			    judge_lock_name(l), host);
		return;
	}
	if (!l->exists || l->shared != g->shared ||
	    judge_turns_marked(l, !g->shared) == 0 ||
	    (g->shared && judge_turns_marks_exclusive(l, g->session)))
		return;
	judge_find(j, "F6", "%s: %.1s takes it for the same use as the last, "
	    "and another wishes for the other", judge_lock_name(l), host);
}

/* May its host still be granted the lock? */
static bool
judge_turns_may_come(const struct judge *j, const struct judge_session *s)
{
	return s->exists && !s->dead && s->ended_ms == JUDGE_NEVER &&
	    judge_is_known_host(s->host) && j->hosts[s->host].running;
}

bool
judge_turns_is_closed(const struct judge *j, const struct judge_lock *l,
    unsigned host)
{
	for (size_t i = 0; i < l->n_named; i++) {
		const struct judge_session *s = l->waiter_marks[i].session;

		if (!l->waiter_marks[i].shared && s->host != host &&
		    judge_turns_may_come(j, s))
			return true;
	}
	return false;
}

uint64_t
judge_turns_open_ms(const struct judge *j, const struct judge_lock *l,
    bool shared)
{
	uint64_t open_ms = l->marked_ms[!shared];

	for (size_t i = 0; i < l->n_named; i++) {
		const struct judge_session *s = l->waiter_marks[i].session;
		uint64_t end_ms = s->ended_ms, seen_ms;

		if (l->waiter_marks[i].shared == shared ||
		    judge_turns_may_come(j, s))
			continue;
		if (end_ms == JUDGE_NEVER || s->dead_ms > end_ms)
			end_ms = s->dead_ms;
		if (s->ever_absent && s->absent_ms > end_ms)
			end_ms = s->absent_ms;
		/* A session with only a mark is read once in a lease: so late
		 * its last renewal may have been seen, if it is not marked
		 * dead. */
		seen_ms = s->changed_ms + judge_stretch_ms(j, s->lease_ms);
		if (seen_ms > end_ms &&
		    (!s->ever_dead || s->changed_ms > end_ms))
			end_ms = seen_ms;
		if (end_ms > open_ms)
			open_ms = end_ms;
	}
	return open_ms;
}

/* ---- F4: former waiters ------------------------------------------ */

/* Is an element of that host in the record? */
static bool
judge_turns_has(const struct judge_lock *l, unsigned host)
{
	const struct judge_grant *g;

	DL_FOREACH2(l->standing, g, standing_next)
	{
		if (g->session->host == host)
			return true;
	}
	return false;
}

static bool
judge_turns_is_idle(const struct judge *j, const struct judge_lock *l,
    const struct judge_session *s)
{
	unsigned host = s->host;

	/* A session that was deleted by hand, and came back with a late open,
	 * is unknown to its own daemon; its mark goes stale. So is one that was
	 * dead, and restored. */
	return judge_is_known_host(host) && j->hosts[host].running &&
	    !j->hosts[host].paused && s->exists && !s->ever_dead &&
	    !s->ever_absent && s->ended_ms == JUDGE_NEVER &&
	    !judge_turns_has(l, host) &&
	    !judge_turns_waits(l, host, JUDGE_NEVER);
}

/*
 * When it must be gone. A mark that landed unseen is looked for like any
 * in-doubt write.
 */
static uint64_t
judge_turns_gone_ms(const struct judge *j, const struct judge_lock *l,
    const struct judge_waiter_mark *w)
{
	const struct judge_rules *r = &j->rules;
	uint64_t pause_ms = 2 * r->request_ms + 2 * r->poll_ms;
	uint64_t left_ms = l->waited_ms[w->session->host];
	uint64_t from_ms = left_ms > w->since_ms ? left_ms : w->since_ms;

	if (left_ms < w->since_ms + pause_ms)
		pause_ms += r->audit_ms > JUDGE_TURNS_IN_DOUBT_MS ?
		    r->audit_ms : JUDGE_TURNS_IN_DOUBT_MS;
	return judge_quiet_from_ms(j, from_ms) +
	    judge_stretch_ms(j, pause_ms) + r->slack_ms;
}

/* An ended daemon is not its successor on that host. */
bool
judge_turns_others_mark(const struct judge_lock *l, unsigned host)
{
	for (size_t i = 0; i < l->n_named; i++)
		if (l->waiter_marks[i].session->host != host ||
		    l->waiter_marks[i].session->ended_ms != JUDGE_NEVER)
			return true;
	return l->n_waiter_marks > l->n_named;
}

/* ---- F5: waiters leave marks -------------------------------------------- */

/* By when the mark of a waiter for another host's lock must be there. A waiter
 * before it that left may have had a mark for the other use; or its own host
 * held the lock, too. */
static uint64_t
judge_turns_marked_ms(const struct judge *j, const struct judge_lock *l,
    const struct judge_request *r)
{
	uint64_t pause_ms = 3 * j->rules.request_ms + 3 * j->rules.poll_ms +
	    judge_line_wait_ms(j, l);
	uint64_t from_ms = r->asked_ms > l->occupied_ms ?
	    r->asked_ms : l->occupied_ms;
	const struct judge_grant *g;

	if (l->waited_ms[r->client->host] > from_ms)
		from_ms = l->waited_ms[r->client->host];
	if (l->unmarked_ms[r->client->host] > from_ms)
		from_ms = l->unmarked_ms[r->client->host];
	for (g = l->grants; g != NULL; g = g->next)
		if (g->session->host == r->client->host && g->left_ms > from_ms)
			from_ms = g->left_ms;
	return judge_quiet_from_ms(j, from_ms) +
	    judge_stretch_ms(j, pause_ms) + j->rules.slack_ms;
}

/* Does a living host hold it? */
static bool
judge_turns_is_held(const struct judge *j, const struct judge_lock *l)
{
	const struct judge_grant *g;

	DL_FOREACH2(l->standing, g, standing_next)
	{
		if (judge_turns_is_alive(j, g->session))
			return true;
	}
	return false;
}

static bool
judge_turns_marks_for(const struct judge_lock *l, unsigned host)
{
	for (size_t i = 0; i < l->n_named; i++)
		if (l->waiter_marks[i].session->host == host)
			return true;
	return l->n_waiter_marks > l->n_named;
}

/* Its wait is over, one way or another. */
void
judge_turns_waited(struct judge *j, const struct judge_request *r)
{
	const struct judge_lock *l = r->lock;
	unsigned host = r->client->host;
	uint64_t worth_ms = j->now_ms + 2 * j->rules.poll_ms +
	    2 * j->rules.request_ms;

	if (j->rules.handover_max == 0 || j->quiet_ms == JUDGE_NEVER ||
	    !l->readable || r->unread || r->multi != 0 ||
	    r->due_ms < worth_ms ||
	    judge_is_mute(j, host) ||
	    judge_turns_has(l, host) || !judge_turns_is_held(j, l) ||
	    judge_line_is_full(j, l) ||
	    j->now_ms <= judge_turns_marked_ms(j, l, r) ||
	    judge_turns_marks_for(l, host))
		return;
	judge_find(j, "F5", "%s: c%" PRIu64 " waits since %" PRIu64 ", but %c "
	    "does not wish for it", judge_lock_name(l), r->client->id,
	    r->asked_ms, judge_host_name(host));
}

void
judge_turns_end(struct judge *j, const struct judge_lock *l)
{
	if (j->rules.handover_max == 0 || j->quiet_ms == JUDGE_NEVER ||
	    !l->readable)
		return;
	for (size_t i = 0; i < l->n_named; i++) {
		const struct judge_waiter_mark *w = &l->waiter_marks[i];

		if (!w->restored && judge_turns_is_idle(j, l, w->session) &&
		    j->now_ms > judge_turns_gone_ms(j, l, w))
			judge_find(j, "F4", "%s: %c wishes for it since %"
			    PRIu64 ", and nobody there waits",
			    judge_lock_name(l),
			    judge_host_name(w->session->host), w->since_ms);
	}
}

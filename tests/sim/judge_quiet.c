/*
 * Duties after the last fault: a waiter is granted a free lock, and elements
 * without a holder leave the table.
 *
 * All of it is promised for a store that answers, so nothing here counts from
 * before FACT_QUIET, and a while after it: requests that were under way then
 * run into their deadlines, and daemons open sessions after a pause of seconds.
 */
#include "judge_state.h"

#include <inttypes.h>

/* The longest pause before another session is opened. */
#define JUDGE_OPEN_PAUSE_MS 8000

uint64_t
judge_quiet_from_ms(const struct judge *j, uint64_t since_ms)
{
	uint64_t quiet_ms = j->quiet_ms + JUDGE_OPEN_PAUSE_MS +
	    judge_stretch_ms(j, j->rules.request_ms);

	return since_ms > quiet_ms ? since_ms : quiet_ms;
}

/*
 * ---- elements without a holder
 * ------------------------------------------------
 */

/* Was it there when the present daemon took over from a dead one? */
bool
judge_quiet_is_inherited(const struct judge *j, unsigned host,
    uint64_t since_ms)
{
	return j->hosts[host].inherited &&
	    since_ms <= j->hosts[host].inherited_ms;
}

/* An element that only its own daemon may remove. */
static bool
judge_quiet_is_living(const struct judge *j, const struct judge_grant *g)
{
	const struct judge_session *s = g->session;

	/* If it comes back, its daemon may take it for the old one. What was
	 * restored it knows only when it looks. */
	if (g->left_held || g->was_left_held || g->restored)
		return false;
	/* It does not end with its session. But of a client whose daemon died
	 * nobody knows whether it was told. */
	if (g->fail_closed && judge_is_known_host(s->host) &&
	    judge_quiet_is_inherited(j, s->host, g->idle_ms))
		return false;
	if (g->fail_closed)
		return s->ended_ms == JUDGE_NEVER &&
		    judge_is_known_host(s->host) &&
		    j->hosts[s->host].running;
	/* One that was dead and is not, was restored: nobody beats for it. */
	return s->exists && !s->ever_dead && s->ended_ms == JUDGE_NEVER &&
	    judge_is_known_host(s->host) && j->hosts[s->host].running;
}

/* Is it perhaps kept for a multi-lock request? */
bool
judge_quiet_is_kept(const struct judge_grant *g)
{
	const struct judge_request *r;

	DL_FOREACH2(g->lock->waiters, r, wait_next)
	{
		if (r->multi != 0 && r->client->host == g->session->host)
			return true;
	}
	return false;
}

/* How long may its host keep it for the next client? */
static uint64_t
judge_quiet_stay_ms(const struct judge *j, const struct judge_grant *g)
{
	return j->rules.keeps_idle || !g->shared ? j->rules.idle_ms : 0;
}

/* Where a lock is kept for a while when it is released, so are all its places,
 * from when the last holder left. */
static uint64_t
judge_quiet_idle_since_ms(const struct judge *j, const struct judge_grant *g)
{
	const struct judge_lock *l = g->lock;
	uint64_t kept_ms = judge_is_known_host(g->session->host) ?
	    l->multi_ms[g->session->host] : 0;

	if (l->stays_ms > kept_ms)
		kept_ms = l->stays_ms;
	if (judge_quiet_stay_ms(j, g) > 0 && l->used_ms > kept_ms)
		kept_ms = l->used_ms;
	return kept_ms > g->idle_ms ? kept_ms : g->idle_ms;
}

/* When this element must be gone: soon if it was given up, and in time for a
 * late landing to be found if it came back, or was never told. */
static uint64_t
judge_quiet_gone_ms(const struct judge *j, const struct judge_grant *g)
{
	const struct judge_rules *r = &j->rules;
	uint64_t pause_ms = 0;

	if (g->n_valid > 0 || !judge_quiet_is_living(j, g) ||
	    judge_quiet_is_kept(g))
		return JUDGE_NEVER;
	if (!g->given_up || g->left)
		pause_ms = r->audit_ms > JUDGE_IN_DOUBT_PAUSE_MS ?
		    r->audit_ms : JUDGE_IN_DOUBT_PAUSE_MS;
	return judge_quiet_from_ms(j, judge_quiet_idle_since_ms(j, g)) +
	    r->slack_ms +
	    judge_stretch_ms(j, pause_ms + 2 * r->request_ms +
	    2 * r->poll_ms + r->margin_ms + judge_quiet_stay_ms(j, g));
}

/* When the audit must have found that this hold was removed by hand. */
static uint64_t
judge_quiet_found_ms(const struct judge *j, const struct judge_hold *h)
{
	const struct judge_rules *r = &j->rules;
	const struct judge_grant *g = h->grant;

	if (h->deserted || h->let_go || g == NULL || !g->hand_gone ||
	    g->standing)
		return JUDGE_NEVER;
	return judge_quiet_from_ms(j, g->left_ms) + r->slack_ms +
	    judge_stretch_ms(j, 2 * r->audit_ms + r->request_ms);
}

static uint64_t
judge_quiet_idle_ms(const struct judge *j, const struct judge_lock *l)
{
	const struct judge_grant *g;
	const struct judge_hold *h;
	uint64_t first_ms = judge_record_gone_ms(j, l);

	DL_FOREACH2(l->standing, g, standing_next)
	{
		uint64_t gone_ms = judge_quiet_gone_ms(j, g);

		if (gone_ms < first_ms)
			first_ms = gone_ms;
	}
	DL_FOREACH(l->holds, h)
	{
		uint64_t found_ms = judge_quiet_found_ms(j, h);

		if (found_ms < first_ms)
			first_ms = found_ms;
	}
	return first_ms;
}

void
judge_quiet_idle(struct judge *j, void *lock)
{
	struct judge_lock *l = lock;
	const struct judge_grant *g;
	const struct judge_hold *h;

	DL_FOREACH2(l->standing, g, standing_next)
	{
		if (judge_quiet_gone_ms(j, g) <= j->now_ms)
			judge_find(j, g->given_up ? "5" : "R18", "%s: %c "
			    "leaves an element in the table that nobody has "
			    "since %" PRIu64, judge_lock_name(l),
			    judge_host_name(g->session->host), g->idle_ms);
	}
	if (judge_record_gone_ms(j, l) <= j->now_ms)
		judge_find(j, "R18", "%s: %c leaves a record in the table that "
		    "nobody has since %" PRIu64, judge_lock_name(l),
		    judge_host_name(l->record.writer), l->gone_ms);
	DL_FOREACH(l->holds, h)
	{
		if (judge_quiet_found_ms(j, h) <= j->now_ms)
			judge_find(j, "3", "c%" PRIu64 " is not told that %s "
			    "was taken from it by hand at %" PRIu64,
			    h->client->id, judge_lock_name(l),
			    h->grant->left_ms);
	}
	judge_due_set(j, &l->idle_due, judge_quiet_idle_ms(j, l));
}

/* Sessions that were lost at the end of the faults are known to be. */
bool
judge_quiet_is_calm(const struct judge *j)
{
	return j->quiet_ms != JUDGE_NEVER && j->now_ms >=
	    judge_quiet_from_ms(j, 0) +
	    judge_stretch_ms(j, judge_longest_lease_ms(j));
}

/* ---- waiters -------------------------------------------------------- */

/* A host's clients behind a multi-lock request wait for that request, which J2
 * is about. */
static const struct judge_request *
judge_quiet_first(const struct judge_lock *l)
{
	bool multi[FACT_HOSTS_MAX] = { false };
	const struct judge_request *r;

	DL_FOREACH2(l->waiters, r, wait_next)
	{
		if (r->multi != 0)
			multi[r->client->host] = true;
		else if (r->wait_ms > 0 && !multi[r->client->host])
			return r;
	}
	return NULL;
}

/*
 * Do the holders keep this waiter from it? A sharer is kept from it by holders
 * of another use or limit, by a full semaphore, and by any holder while another
 * host has a mark for exclusive use.
 */
static bool
judge_quiet_is_held(const struct judge *j, const struct judge_lock *l,
    const struct judge_request *r)
{
	bool closed = judge_turns_is_closed(j, l, r->client->host);
	const struct judge_hold *h;
	const struct judge_grant *g;
	uint64_t n = 0;

	if (!l->readable)
		return true;
	DL_FOREACH2(l->standing, g, standing_next)
	{
		if (g->fail_closed || (judge_quiet_is_living(j, g) &&
		    judge_quiet_is_kept(g)))
			return true;
	}
	DL_FOREACH(l->holds, h)
	{
		if (h->deserted)
			continue;
		if (closed || !judge_is_compatible(r->shared, r->limit,
		    h->shared, h->limit))
			return true;
		n++;
	}
	return r->limit > 0 && n >= r->limit;
}

/* When the last element that its own daemon must remove is removed. */
static uint64_t
judge_quiet_cleared_ms(const struct judge *j, const struct judge_lock *l)
{
	uint64_t last_ms = l->cleared_ms;
	const struct judge_grant *g;

	DL_FOREACH2(l->standing, g, standing_next)
	{
		uint64_t gone_ms = judge_quiet_gone_ms(j, g);

		if (gone_ms != JUDGE_NEVER && gone_ms > last_ms)
			last_ms = gone_ms;
	}
	return last_ms;
}

/*
 * When the first waiter must have been granted the lock: a lease, stretched,
 * and a poll after the lock became free. A waiter mark makes a host yield for
 * two polls more; and other hosts wait for an element that its own daemon must
 * remove, until it is or must be removed. Marks for the other use come first,
 * or have to go; and a sharer waits for those before it here, which may want
 * exclusive use.
 */
static uint64_t
judge_quiet_grant_ms(const struct judge *j, const struct judge_lock *l)
{
	const struct judge_rules *r = &j->rules;
	const struct judge_request *first = judge_quiet_first(l);
	const struct judge_grant *g;
	uint64_t from_ms, wait_ms, cleared_ms;

	if (first != NULL && judge_is_foreign(j, l))
		return judge_record_grant_ms(j, l, first);
	if (first == NULL || judge_quiet_is_held(j, l, first))
		return JUDGE_NEVER;
	from_ms = first->asked_ms;
	if (l->gone_ms > from_ms)
		from_ms = l->gone_ms;
	if (judge_turns_open_ms(j, l, first->shared) > from_ms)
		from_ms = judge_turns_open_ms(j, l, first->shared);
	if (first->shared && l->waited_ms[first->client->host] > from_ms)
		from_ms = l->waited_ms[first->client->host];
	from_ms = judge_quiet_from_ms(j, from_ms);
	cleared_ms = judge_quiet_cleared_ms(j, l);
	if (cleared_ms > from_ms)
		from_ms = cleared_ms;
	DL_FOREACH2(l->standing, g, standing_next)
	{
		/* Its last renewal may have landed late. */
		if (!judge_quiet_is_living(j, g) &&
		    g->session->changed_ms > from_ms)
			from_ms = g->session->changed_ms;
	}
	wait_ms = judge_stretch_ms(j, r->lease_ms) + r->poll_ms;
	if (judge_turns_others_mark(l, l->waiters->client->host))
		wait_ms += 2 * r->poll_ms;
	wait_ms += judge_line_wait_ms(j, l);
	return from_ms + judge_stretch_ms(j, wait_ms) + r->slack_ms +
	    r->lateness_ms;
}

void
judge_quiet_waited(struct judge *j, void *lock)
{
	struct judge_lock *l = lock;
	const struct judge_request *r = judge_quiet_first(l);
	uint64_t due_ms = judge_quiet_grant_ms(j, l);

	if (due_ms > j->now_ms) {
		judge_due_set(j, &l->wait_due, due_ms);
		return;
	}
	judge_find(j, "8", "%s: nobody holds it since %" PRIu64 ", and c%"
	    PRIu64 " waits since %" PRIu64, judge_lock_name(l), l->gone_ms,
	    r->client->id, r->asked_ms);
}

/* ---- J2: multi-lock requests ----------------------------------- */

/* Does a hold keep it from its keys, perhaps by way of other multi-lock
 * waiters? Waiters that only block each other would wait for ever.
 */
static bool
judge_quiet_may_wait(const struct judge *j, const struct judge_request *r,
    unsigned depth)
{
	const struct judge_request *part, *o;

	DL_FOREACH(r->client->requests, part)
	{
		const struct judge_lock *l = part->lock;
		const struct judge_grant *g;

		if (part->multi != r->multi)
			continue;
		if (l->holds != NULL || !l->readable ||
		    judge_bridge_is_theirs(l))
			return true;
		DL_FOREACH2(l->standing, g, standing_next)
		{
			if (g->fail_closed)
				return true;
		}
		DL_FOREACH2(l->waiters, o, wait_next)
		{
			if (depth > 0 && o->multi != 0 &&
			    o->multi != r->multi &&
			    judge_quiet_may_wait(j, o, depth - 1))
				return true;
		}
	}
	return false;
}

/* By when it must have got them. */
static uint64_t
judge_quiet_multi_ms(const struct judge *j, const struct judge_request *r)
{
	const struct judge_rules *rules = &j->rules;
	uint64_t pause_ms = 3 * judge_longest_lease_ms(j) + 8 * rules->poll_ms +
	    8 * rules->request_ms;
	const struct judge_request *part;
	uint64_t from_ms = r->asked_ms;

	DL_FOREACH(r->client->requests, part)
	{
		const struct judge_lock *l = part->lock;

		if (part->multi != r->multi)
			continue;
		if (l->gone_ms > from_ms)
			from_ms = l->gone_ms;
		if (judge_bridge_theirs_ms(l) > from_ms)
			from_ms = judge_bridge_theirs_ms(l);
		if (judge_quiet_cleared_ms(j, l) > from_ms)
			from_ms = judge_quiet_cleared_ms(j, l);
		for (unsigned i = 0; i < FACT_HOSTS_MAX; i++)
			if (l->waited_ms[i] > from_ms)
				from_ms = l->waited_ms[i];
	}
	return judge_quiet_from_ms(j, from_ms) +
	    judge_stretch_ms(j, pause_ms) + rules->slack_ms + rules->skew_ms;
}

/* The first of them represents the request. */
static void
judge_quiet_await(struct judge *j, struct judge_request *r)
{
	if (r->multi == r->id && r->wait_ms > 0)
		judge_due_set(j, &r->multi_due, judge_quiet_multi_ms(j, r));
}

static void
judge_quiet_multi_waited(struct judge *j, void *request)
{
	struct judge_request *r = request;
	uint64_t due_ms = judge_quiet_multi_ms(j, r);

	if (due_ms <= j->now_ms && (judge_is_mute(j, r->client->host) ||
	    judge_quiet_may_wait(j, r, 4)))
		due_ms = j->now_ms + j->rules.lease_ms;
	if (due_ms > j->now_ms)
		judge_due_set(j, &r->multi_due, due_ms);
	else
		judge_find(j, "J2", "c%" PRIu64 " waits since %" PRIu64 " for "
		    "%s and others, which nobody holds", r->client->id,
		    r->asked_ms, judge_lock_name(r->lock));
}

void
judge_quiet_asked(struct judge *j, struct judge_request *r)
{
	judge_due_init(j, &r->multi_due, judge_quiet_multi_waited, r);
	if (j->quiet_ms != JUDGE_NEVER)
		judge_quiet_await(j, r);
}

/* ---- both ------------------------------------------------------------- */

void
judge_quiet_review(struct judge *j, struct judge_lock *l)
{
	if (j->quiet_ms == JUDGE_NEVER)
		return;
	judge_due_set(j, &l->wait_due, judge_quiet_grant_ms(j, l));
	judge_due_set(j, &l->idle_due, judge_quiet_idle_ms(j, l));
}

void
judge_quiet_begin(struct judge *j)
{
	struct judge_request *r;
	struct judge_lock *l;

	j->quiet_ms = j->now_ms;
	for (l = j->locks; l != NULL; l = l->hh.next) {
		DL_FOREACH2(l->waiters, r, wait_next)
		{
			judge_quiet_await(j, r);
		}
		judge_quiet_review(j, l);
		judge_watch_review(j, l);
	}
}

/*
 * The line of hosts that wait for a lock: its order, and whose turn it is.
 */
#include "judge_state.h"

#include <inttypes.h>
#include <string.h>

#include "core/timing.h"

static size_t
judge_line_index(const struct judge_line *line,
    const struct judge_session *s)
{
	size_t i = 0;

	while (i < line->n && line->sessions[i] != s)
		i++;
	return i;
}

/* R21. Those that stay keep their order; who comes is the last, and its own
 * daemon wrote that, of a lock that it had to wait for. */
static void
judge_line_check_order(struct judge *j, const struct judge_lock *l,
    const struct judge_line *now, const struct fact *f)
{
	size_t at = 0;

	for (size_t i = 0; i < now->n; i++) {
		size_t was = judge_line_index(&l->line, now->sessions[i]);

		if (was == l->line.n && i + 1 == now->n &&
		    judge_session_is_own(now->sessions[i], f->host,
		    f->sent_ms) && (l->n_standing > 0 || l->line.n > 0) &&
		    (j->rules.line_max == 0 || now->n <= j->rules.line_max))
			return;
		if (was == l->line.n || was < at) {
			judge_find(j, "R21", "%s: place %zu of the line is "
			    "%c's, by %c", judge_lock_name(l), i + 1,
			    judge_host_name(now->sessions[i]->host),
			    judge_host_name(f->host));
			return;
		}
		at = was + 1;
	}
}

/* Since when has nobody had it that lives? */
static uint64_t
judge_line_free_ms(const struct judge_lock *l)
{
	uint64_t free_ms = 0;
	const struct judge_grant *g;

	if (l->n_standing == 0)
		return l->line.free_ms;
	DL_FOREACH2(l->standing, g, standing_next)
	{
		/* Hosts that know it dead mind no restoration of it. */
		if (!g->session->ever_dead)
			return JUDGE_NEVER;
		if (g->session->dead_ms > free_ms)
			free_ms = g->session->dead_ms;
	}
	return free_ms;
}

/* And since when could the next one have had it? */
static uint64_t
judge_line_open_ms(const struct judge_lock *l)
{
	uint64_t free_ms = judge_line_free_ms(l);

	return free_ms > l->line.next_ms ? free_ms : l->line.next_ms;
}

/* Did the next one have its time, when this was sent? */
static bool
judge_line_stood_long(const struct judge *j, const struct judge_lock *l,
    const struct fact *f)
{
	uint64_t poll_ms = j->rules.poll_least_ms > 0 ?
	    j->rules.poll_least_ms : j->rules.poll_ms;
	uint64_t open_ms = judge_line_open_ms(l);

	return open_ms != JUDGE_NEVER && f->sent_ms >= open_ms +
	    judge_least_ms(j, f->host, timing_reserve_ms(poll_ms));
}

/* Is it well? A session that was not renewed for half a lease may be one that
 * its host has given up. */
static bool
judge_line_is_well(const struct judge *j, const struct judge_session *s)
{
	return judge_turns_is_alive(j, s) && j->now_ms <
	    s->sent_ms + judge_least_ms(j, s->host, j->rules.lease_ms / 2);
}

static bool
judge_line_is_repeated(const struct judge *j, const struct judge_line *line,
    const struct judge_session *s, const struct fact *f)
{
	return line->dropped == s && line->dropped_by == f->host &&
	    f->sent_ms <= line->dropped_ms +
	    judge_most_ms(j, f->host, j->rules.request_ms);
}

/* Is it another host's now, exclusively? */
static bool
judge_line_is_taken(const struct judge_lock *l, const struct fact_lock *now)
{
	const struct judge_grant *g;

	if (now->n_elements != 1 || now->shared)
		return false;
	DL_FOREACH2(l->standing, g, standing_next)
	{
		if (strcmp(g->id, now->elements[0].grant) == 0)
			return false;
	}
	return true;
}

/* F7 */
static void
judge_line_check_turn(struct judge *j, const struct judge_lock *l,
    const struct judge_line *now, const struct fact *f)
{
	bool taken = judge_line_is_taken(l, &f->lock) &&
	    (l->n_standing == 0 || judge_line_open_ms(l) != JUDGE_NEVER);

	if (l->line.by_hand || judge_line_stood_long(j, l, f))
		return;
	for (size_t i = 0; i < l->line.n; i++) {
		const struct judge_session *s = l->line.sessions[i];
		bool goes = judge_line_index(now, s) == now->n;

		if (s->host == f->host) {
			if (taken)
				return;
			continue;
		}
		if ((taken || goes) && judge_line_is_well(j, s) &&
		    !judge_line_is_repeated(j, &l->line, s, f)) {
			judge_find(j, "F7", "%s: %c passes %c, whose turn is "
			    "before", judge_lock_name(l),
			    judge_host_name(f->host),
			    judge_host_name(s->host));
			return;
		}
	}
}

/* Before the elements of that record are compared. */
void
judge_line_fact(struct judge *j, struct judge_lock *l, const struct fact *f)
{
	struct judge_line now = { .n = f->lock.n_line };
	bool by_hand = f->host == FACT_BY_HAND || f->expired;

	for (size_t i = 0; i < now.n; i++)
		now.sessions[i] = judge_session_get(j, f->lock.line[i]);
	if (!by_hand && l->readable && (!f->lock.exists || f->lock.readable) &&
	    l->line.n + now.n > 0) {
		judge_line_check_order(j, l, &now, f);
		judge_line_check_turn(j, l, &now, f);
	}
	now.dropped = l->line.dropped;
	now.dropped_by = l->line.dropped_by;
	now.dropped_ms = l->line.dropped_ms;
	if (now.n < l->line.n && l->line.sessions[0] != now.sessions[0] &&
	    l->line.sessions[0]->host != f->host) {
		now.dropped = l->line.sessions[0];
		now.dropped_by = f->host;
		now.dropped_ms = f->at_ms;
	}
	now.next_ms = l->line.n > 0 && now.n > 0 &&
	    l->line.sessions[0] == now.sessions[0] ?
	    l->line.next_ms : f->at_ms;
	now.by_hand = now.n > 0 && (by_hand || (l->line.by_hand &&
	    l->line.sessions[0] == now.sessions[0]));
	now.free_ms = judge_line_free_ms(l);
	if (by_hand || now.free_ms == JUDGE_NEVER)
		now.free_ms = f->at_ms;
	l->line = now;
}

/* Has a host that waits no room in it? */
bool
judge_line_is_full(const struct judge *j, const struct judge_lock *l)
{
	return j->rules.line_max > 0 && l->line.n >= j->rules.line_max;
}

/* How much later than without a line a waiter may be granted the lock: the last
 * in line looks that seldom, and waits so long for those before it; one that
 * has no room in it looks once in 256 polls. */
uint64_t
judge_line_wait_ms(const struct judge *j, const struct judge_lock *l)
{
	uint64_t poll_ms = j->rules.poll_ms;

	if (j->rules.line_max == 0)
		return 0;
	if (judge_line_is_full(j, l) ||
	    l->line.n + 1 >= j->rules.line_max)
		return 3 * 256 * poll_ms;
	return 3 * (l->line.n + 2) * poll_ms + timing_reserve_ms(poll_ms) +
	    l->line.n * poll_ms / 4 + 2 * j->rules.lease_ms;
}

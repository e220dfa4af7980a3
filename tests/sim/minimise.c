/*
 * Delta debugging (Zeller and Hildebrandt 2002) over the steps of a plan, from
 * coarse to fine: whole kinds, hosts and clients, then ever smaller pieces of
 * the rest, then settings and numbers. Chance in a world belongs to hosts and
 * messages, not to the run, so the remaining steps mostly have the same effect.
 */
#include "minimise.h"

#include <stdlib.h>
#include <string.h>

#include "plan_text.h"

struct minimiser {
	minimise_fn *fails;
	void *arg;
	unsigned runs;		/* tries that are left */
	struct plan *best;
};

/* Does @candidate fail, too? Then it is the best. It is used up. */
static bool
minimise_try(struct minimiser *m, struct plan *candidate)
{
	char text[256];

	if (m->runs == 0 || plan_check(candidate, text, sizeof(text)) < 0) {
		plan_done(candidate);
		return false;
	}
	m->runs--;
	if (!m->fails(m->arg, candidate)) {
		plan_done(candidate);
		return false;
	}
	plan_done(m->best);
	*m->best = *candidate;
	return true;
}

/* ---- steps ------------------------------------------------------------ */

static bool *
minimise_drops(const struct minimiser *m)
{
	bool *drop = calloc(m->best->n_steps + 1, sizeof(*drop));

	if (drop == NULL)
		exit(1);
	return drop;
}

/* Does a step belong to a group? */
typedef bool group_fn(const struct plan_step *, unsigned number);

static bool
group_is_fault(const struct plan_step *s, unsigned number)
{
	(void)number;
	return plan_is_fault(s);
}

static bool
group_is_kind(const struct plan_step *s, unsigned number)
{
	return (unsigned)s->kind == number;
}

static bool
group_is_message(const struct plan_step *s, unsigned number)
{
	return s->kind == STEP_MESSAGE && (unsigned)s->fault == number;
}

static bool
group_is_client(const struct plan_step *s, unsigned number)
{
	return s->client == number;
}

static bool
group_is_fault_of_host(const struct plan_step *s, unsigned number)
{
	return s->kind >= STEP_KILL && s->kind <= STEP_OPERATION &&
	    s->host == number;
}

static bool
minimise_group(struct minimiser *m, group_fn *is, unsigned number)
{
	bool *drop = minimise_drops(m);
	struct plan candidate;
	bool any = false;

	for (size_t i = 0; i < m->best->n_steps; i++) {
		drop[i] = is(&m->best->steps[i], number);
		any = any || drop[i];
	}
	if (any) {
		plan_copy(&candidate, m->best, drop);
		any = minimise_try(m, &candidate);
	}
	free(drop);
	return any;
}

static bool
minimise_groups(struct minimiser *m)
{
	bool better = minimise_group(m, group_is_fault, 0);

	for (unsigned i = 1; i < STEP_KINDS; i++)
		better |= minimise_group(m, group_is_kind, i);
	for (unsigned i = 1; i < MESSAGE_FAULTS; i++)
		better |= minimise_group(m, group_is_message, i);
	for (unsigned i = 0; i < PLAN_MACHINES_MAX; i++)
		better |= minimise_group(m, group_is_fault_of_host, i);
	for (unsigned i = 1; i <= PLAN_CLIENTS_MAX; i++)
		better |= minimise_group(m, group_is_client, i);
	return better;
}

static bool
minimise_piece(struct minimiser *m, size_t from, size_t n)
{
	bool *drop = minimise_drops(m);
	struct plan candidate;

	for (size_t i = from; i < from + n && i < m->best->n_steps; i++)
		drop[i] = true;
	plan_copy(&candidate, m->best, drop);
	free(drop);
	return minimise_try(m, &candidate);
}

/* Pieces of a half, a quarter, ... of the steps, down to single ones; from the
 * end, because the last steps are most often not needed. */
static bool
minimise_steps(struct minimiser *m)
{
	bool better = false;

	for (size_t n = (m->best->n_steps + 1) / 2; n > 0; n /= 2) {
		size_t from = m->best->n_steps;

		while (from > 0) {
			from = from > n ? from - n : 0;
			better |= minimise_piece(m, from, n);
			if (from > m->best->n_steps)
				from = m->best->n_steps;
		}
	}
	return better;
}

/* ---- hosts ------------------------------------------------------------ */

static void
minimise_take_out(struct plan *p, unsigned host)
{
	if (plan_is_peer(host)) {
		p->n_peers--;
		for (unsigned i = host - PLAN_PEER_FIRST; i < p->n_peers; i++)
			p->peers[i] = p->peers[i + 1];
		return;
	}
	p->n_hosts--;
	for (unsigned i = host; i < p->n_hosts; i++)
		p->hosts[i] = p->hosts[i + 1];
}

/* The host is gone, with its steps and its clients'. */
static bool
minimise_host(struct minimiser *m, unsigned host)
{
	bool *drop = minimise_drops(m);
	struct plan candidate;

	for (size_t i = 0; i < m->best->n_steps; i++) {
		const struct plan_step *s = &m->best->steps[i];

		drop[i] = s->host == host && s->kind != STEP_RELEASE &&
		    s->kind != STEP_RENEW && s->kind != STEP_DOWNGRADE &&
		    s->kind != STEP_CANCEL &&
		    s->kind != STEP_DRAIN && s->kind != STEP_CLOSE &&
		    s->kind != STEP_CUT_OFF && s->kind != STEP_END_PROCESS &&
		    (s->kind <= STEP_OPERATION || s->kind == STEP_SHOW ||
			s->kind == STEP_TALLY ||
			s->kind == STEP_HAND_END_SESSION ||
			s->kind == STEP_HAND_DELETE_SESSION ||
			s->kind == STEP_HAND_GARBLE_SESSION);
	}
	plan_copy(&candidate, m->best, drop);
	free(drop);
	for (size_t i = 0; i < candidate.n_steps; i++)
		if (candidate.steps[i].host > host &&
		    plan_is_peer(candidate.steps[i].host) ==
		    plan_is_peer(host))
			candidate.steps[i].host--;
	minimise_take_out(&candidate, host);
	return minimise_try(m, &candidate);
}

static bool
minimise_hosts(struct minimiser *m)
{
	bool better = false;

	for (unsigned i = m->best->n_hosts; i-- > 0 && m->best->n_hosts > 1;)
		better |= minimise_host(m, i);
	for (unsigned i = m->best->n_peers; i-- > 0;)
		better |= minimise_host(m, PLAN_PEER_FIRST + i);
	return better;
}

/* ---- settings --------------------------------------------------------- */

/* Reset the settings of a part of the plan, @at bytes from its beginning, to
 * defaults, one by one. */
static bool
minimise_table(struct minimiser *m, const struct setting *table, size_t at,
    const struct plan *usual)
{
	bool better = false;

	for (const struct setting *s = table; s->name != NULL; s++) {
		const char *value = (const char *)usual + at + s->offset;
		size_t size = plan_setting_size(s);
		struct plan candidate;

		if (strcmp(s->name, "hosts") == 0 ||
		    memcmp((char *)m->best + at + s->offset, value, size) == 0)
			continue;
		plan_copy(&candidate, m->best, NULL);
		memcpy((char *)&candidate + at + s->offset, value, size);
		better |= minimise_try(m, &candidate);
	}
	return better;
}

static bool
minimise_settings(struct minimiser *m)
{
	struct plan usual;
	bool better;

	plan_init(&usual);
	usual.ns.lease_ms = m->best->ns.lease_ms;
	usual.ns.drift_ppm = m->best->ns.drift_ppm;
	plan_derive(&usual.ns);
	better = minimise_table(m, plan_world_settings, 0, &usual);
	better |= minimise_table(m, plan_limit_settings, 0, &usual);
	for (unsigned i = 0; i < m->best->n_hosts; i++)
		better |= minimise_table(m, plan_host_settings,
		    offsetof(struct plan, hosts) + i * sizeof(usual.hosts[0]),
		    &usual);
	for (unsigned i = 0; i < m->best->n_peers; i++)
		better |= minimise_table(m, plan_peer_settings,
		    offsetof(struct plan, peers) + i * sizeof(usual.peers[0]),
		    &usual);
	return better;
}

/* ---- numbers ---------------------------------------------------------- */

#define WAYS 5	/* to make a number less */

/* The smallest first: zero, a round number, half, ... */
static uint64_t
minimise_less(uint64_t n, unsigned how)
{
	uint64_t round = 1;

	if (how == 0)
		return 0;
	if (n == PLAN_FOREVER)
		return n;
	if (how == 1) {
		while (round <= n / 10)
			round *= 10;
		return n / round * round;
	}
	if (how == 2)
		return n / 2;
	return (how == 3 ? n - n / 4 : n) / 1000 * 1000;
}

enum { NUMBER_WAIT, NUMBER_HOLD, NUMBER_RENEW, NUMBER_MS, NUMBER_NTH,
	NUMBER_COUNT, NUMBER_SHIFT, NUMBER_AT, NUMBERS };

static bool
minimise_u32(uint32_t *n, unsigned how, uint32_t least)
{
	uint32_t less = (uint32_t)minimise_less(*n, how);

	if (less < least)
		less = least;
	if (less >= *n)
		return false;
	*n = less;
	return true;
}

static bool
minimise_u64(uint64_t *n, unsigned how)
{
	uint64_t less = minimise_less(*n, how);

	if (less >= *n)
		return false;
	*n = less;
	return true;
}

static bool
minimise_shift(int64_t *n, unsigned how)
{
	uint64_t size = (uint64_t)(*n < 0 ? -*n : *n);

	if (!minimise_u64(&size, how))
		return false;
	*n = *n < 0 ? -(int64_t)size : (int64_t)size;
	return true;
}

static bool
minimise_number(struct plan_step *s, unsigned which, unsigned how)
{
	switch (which) {
	case NUMBER_WAIT:
		return minimise_u64(&s->wait_ms, how);
	case NUMBER_HOLD:
		return minimise_u64(&s->hold_ms, how);
	case NUMBER_RENEW:
		return minimise_u64(&s->renew_ms, how);
	case NUMBER_MS:
		return minimise_u64(&s->ms, how);
	case NUMBER_NTH:
		return minimise_u32(&s->nth, how, 1);
	case NUMBER_COUNT:
		return minimise_u32(&s->count, how, 1);
	case NUMBER_SHIFT:
		return minimise_shift(&s->shift_ms, how);
	default:
		return minimise_u64(&s->at_ms, how);
	}
}

static bool
minimise_step_number(struct minimiser *m, size_t step, unsigned which)
{
	struct plan candidate;

	for (unsigned how = 0; how < WAYS; how++) {
		plan_copy(&candidate, m->best, NULL);
		if (!minimise_number(&candidate.steps[step], which, how)) {
			plan_done(&candidate);
			continue;
		}
		plan_sort(&candidate);
		if (minimise_try(m, &candidate))
			return true;
	}
	return false;
}

static bool
minimise_numbers(struct minimiser *m)
{
	bool better = false;

	for (size_t i = 0; i < m->best->n_steps; i++)
		for (unsigned which = 0; which < NUMBERS; which++)
			better |= minimise_step_number(m, i, which);
	return better;
}

/* Steps after the failure are not needed; nor, mostly, is the quiet time. */
static bool
minimise_end(struct minimiser *m)
{
	bool better = false;
	struct plan candidate;

	if (m->best->quiet_ms != m->best->end_ms) {
		plan_copy(&candidate, m->best, NULL);
		candidate.quiet_ms = candidate.end_ms;
		better = minimise_try(m, &candidate);
	}
	for (unsigned how = 1; how < WAYS; how++) {
		plan_copy(&candidate, m->best, NULL);
		if (!minimise_u64(&candidate.end_ms, how)) {
			plan_done(&candidate);
			continue;
		}
		if (candidate.quiet_ms > candidate.end_ms)
			candidate.quiet_ms = candidate.end_ms;
		better |= minimise_try(m, &candidate);
	}
	return better;
}

void
minimise(const struct plan *p, minimise_fn *fails, void *arg,
    unsigned runs_max, struct plan *ret)
{
	struct minimiser m = { .fails = fails, .arg = arg, .runs = runs_max,
		.best = ret };
	bool better = true;

	plan_copy(ret, p, NULL);
	if (m.runs == 0)
		return;
	m.runs--;
	if (!fails(arg, p))
		return;
	while (better && m.runs > 0) {
		better = minimise_groups(&m);
		better |= minimise_steps(&m);
		better |= minimise_hosts(&m);
		better |= minimise_end(&m);
		better |= minimise_settings(&m);
		better |= minimise_numbers(&m);
	}
}

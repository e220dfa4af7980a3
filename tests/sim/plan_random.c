/*
 * The plan of a seed: a world, its clients' actions (plan_clients.c) and its
 * faults (plan_faults.c).
 *
 * Durations are counted in leases, because the dangerous moments are near a
 * lease's end: milliseconds are free here, but requests to the table are not.
 * So polls are slower than in the product, and histories end after a dozen
 * leases; a few last hours, for signatures, retention and the end of in-doubt
 * writes.
 */
#include "plan_dice.h"

#include <inttypes.h>
#include <string.h>

#include "core/timing.h"

#define HOUR_MS UINT64_C(3600000)
#define DAY_MS UINT64_C(86400000)

/* ---- dice ------------------------------------------------------------- */

bool
dice_has_all(const struct dice *d)
{
	return d->extras == DICE_EXTRAS_ALL;
}

/* The first numbers of neighbouring seeds are neighbours, too. */
void
dice_begin(struct dice *d, const uint64_t seeds[4])
{
	random_init(&d->random, seeds);
	for (unsigned i = 0; i < 16; i++)
		(void)random_next(&d->random);
}

uint64_t
dice(struct dice *d, uint64_t n)
{
	return random_next(&d->random) % n;
}

uint64_t
dice_between(struct dice *d, uint64_t least, uint64_t most)
{
	return least + dice(d, most - least + 1);
}

bool
dice_percent(struct dice *d, unsigned percent)
{
	return dice(d, 100) < percent;
}

unsigned
dice_weighted(struct dice *d, const unsigned *weights, unsigned n)
{
	unsigned all = 0;
	uint64_t at;

	for (unsigned i = 0; i < n; i++)
		all += weights[i];
	at = dice(d, all);
	for (unsigned i = 0; i < n; i++) {
		if (at < weights[i])
			return i;
		at -= weights[i];
	}
	return n - 1;
}

unsigned
dice_host(struct dice *d)
{
	return (unsigned)dice(d, d->plan->n_hosts);
}

unsigned
dice_other_host(struct dice *d, unsigned host)
{
	return (host + 1 + (unsigned)dice(d, d->plan->n_hosts - 1)) %
	    d->plan->n_hosts;
}

uint64_t
dice_near(struct dice *d, uint64_t at_ms, uint64_t within_ms)
{
	uint64_t early = at_ms > within_ms ? at_ms - within_ms : 0;

	return dice_between(d, early, at_ms + within_ms);
}

uint64_t
dice_length(struct dice *d)
{
	const struct core_namespace *n = &d->plan->ns;
	uint64_t observe_ms = timing_observe_ms(n->lease_ms, n->drift_ppm);
	const uint64_t near[] = {
		d->plan->latency_max_ms, n->margin_ms, n->request_ms,
		n->try_ms, n->heartbeat_ms, n->danger_ms,
		n->danger_ms + n->heartbeat_ms,
		n->lease_ms - n->margin_ms, n->lease_ms - n->margin_ms,
		n->lease_ms, n->lease_ms, observe_ms, observe_ms,
		2 * observe_ms - n->lease_ms, observe_ms + n->margin_ms,
		observe_ms + n->poll_ms, observe_ms + n->heartbeat_ms,
		3 * n->lease_ms / 2, 2 * n->lease_ms, 2 * observe_ms,
	};
	uint64_t ms = near[dice(d, sizeof(near) / sizeof(near[0]))];

	if (dice_percent(d, 40))
		ms = dice_near(d, ms, 3);
	else if (dice_percent(d, 60))
		ms = dice_near(d, ms, 2 * d->plan->latency_max_ms +
		    2 * d->plan->lateness_ms + 1);
	else
		ms = dice_near(d, ms, ms / 8);
	return ms > 0 ? ms : 1;
}

struct plan_step *
dice_fault(struct dice *d, enum step_kind kind, uint64_t at_ms, unsigned host)
{
	struct plan_step *s;

	if (at_ms >= d->plan->quiet_ms)
		return NULL;
	s = plan_add(d->plan, kind, at_ms);
	s->host = host;
	return s;
}

void
dice_key(const struct dice *d, unsigned number, char *ret)
{
	static const char *const keys[DICE_KEYS_MAX] = {
		"x", "y", "jobs/a", "jobs/b", "jobs", "z",
	};

	(void)d;
	memcpy(ret, keys[number], strlen(keys[number]) + 1);
}

/* ---- the world -------------------------------------------------------- */

static void
random_lease(struct dice *d)
{
	static const unsigned weights[] = { 10, 12, 55, 12, 6, 5 };
	static const uint64_t leases_ms[] = {
		3000, 8000, 20000, 30000, 120000, 600000,
	};
	static const uint32_t drifts_ppm[] = {
		10000, 10000, 10000, 10000, 10000, 10000, 0, 1000, 50000,
		100000,
	};
	struct core_namespace *n = &d->plan->ns;
	unsigned i = dice_weighted(d, weights, 6);

	n->lease_ms = leases_ms[i];
	d->hours = n->lease_ms >= 600000;
	n->drift_ppm = drifts_ppm[dice(d, 10)];
	plan_derive(n);
	/* As short as it may be, where that is less. */
	if (n->lease_ms < 10000 && n->drift_ppm > 0 && dice_percent(d, 30))
		n->margin_ms = n->lease_ms * n->drift_ppm / 1000000;
	if (dice_percent(d, 15))
		n->heartbeat_ms = n->lease_ms / 3;
	if (dice_percent(d, 10))
		n->danger_ms = n->lease_ms - n->margin_ms;
	if (dice_percent(d, 10))
		n->request_ms = n->lease_ms - n->margin_ms - n->heartbeat_ms;
	else if (dice_percent(d, 20))
		n->request_ms = dice_between(d, n->heartbeat_ms / 4,
		    n->heartbeat_ms);
	if (n->request_ms > 10000)
		n->request_ms = 10000;
	n->try_ms = timing_try_ms(n->request_ms);
	/* As all others, or hardly the time for an answer. */
	if (dice_percent(d, 10))
		n->try_ms = n->request_ms;
	else if (dice_percent(d, 15))
		n->try_ms = dice_between(d, n->try_ms / 8 + 10, n->try_ms);
}

static void
random_rest(struct dice *d)
{
	static const uint64_t parts[] = { 12, 10, 8, 8, 6, 5, 4, 3 };
	static const uint32_t handovers[] = { 1, 2, 3, 4, 5, 100 };
	static const uint32_t lines[] = { 0, 1, 2, 32 };
	struct plan *p = d->plan;
	struct core_namespace *n = &p->ns;

	/* Of many hosts each may ask less often. */
	n->poll_ms = n->lease_ms / parts[dice(d, 8)];
	if (p->n_hosts > 4)
		n->poll_ms = n->lease_ms / (1 + dice(d, 4));
	n->audit_ms = dice_between(d, n->lease_ms, 2 * n->lease_ms);
	n->handover_max = handovers[dice(d, 6)];
	n->line_max = lines[p->seed / 8 % 4];
	n->hints = p->bad_hints = p->seed / 32 % 2 == 1;
	p->n_namespaces = dice_percent(d, 12) ? 2 : 1;
	p->retention_s = dice_percent(d, 50) ? 3600 : 7 * 86400;
	if (d->hours)
		p->retention_s = dice_percent(d, 60) ? 3600 : 7 * 86400;
	if (!dice_percent(d, 10))
		return;
	/* Room for few. */
	p->limits.clients_max = (uint32_t)dice_between(d, 2, 8);
	p->limits.requests_per_client_max = (uint32_t)dice_between(d, 1, 3);
	p->limits.holds_per_client_max = (uint32_t)dice_between(d, 1, 3);
	if ((d->extras & DICE_WATCH) != 0) {
		p->limits.watches_per_client_max =
		    (uint32_t)dice_between(d, 1, 2);
		p->limits.watches_max = (uint32_t)dice_between(d, 2, 6);
	}
	p->limits.locks_max = (uint32_t)dice_between(d, 3, 8);
	p->limits.requests_max = (uint32_t)dice_between(d, 3, 12);
	p->limits.observations_max = (uint32_t)dice_between(d, 10, 24);
	p->limits.in_doubt_max = (uint32_t)dice_between(d, 8, 24);
}

static void
random_network(struct dice *d)
{
	static const unsigned weights[] = { 20, 10, 40, 20, 10 };
	static const uint64_t ranges_ms[][2] = {
		{ 0, 0 }, { 0, 3 }, { 2, 8 }, { 5, 60 }, { 50, 400 },
	};
	struct plan *p = d->plan;
	unsigned i = dice_weighted(d, weights, 5);

	/* A good network answers within the time for a request. */
	if (ranges_ms[i][1] > p->ns.request_ms / 8)
		i = 2;
	p->latency_ms = ranges_ms[i][0];
	p->latency_max_ms = ranges_ms[i][1];
	p->lateness_ms = dice_percent(d, 30) ? 0 : dice(d, 6);
	if (p->lateness_ms > p->ns.margin_ms / 8)
		p->lateness_ms = 0;
}

static void
random_host(struct dice *d, unsigned number)
{
	struct plan *p = d->plan;
	struct plan_host *h = &p->hosts[number];
	int32_t most = (int32_t)(p->ns.drift_ppm / 2);
	int64_t year_ms = 365 * (int64_t)DAY_MS;

	if (dice_percent(d, 30))
		h->rate_ppm = most;
	else if (dice_percent(d, 45))
		h->rate_ppm = -most;
	else if (dice_percent(d, 50) && most > 0)
		h->rate_ppm = (int32_t)dice(d, (uint64_t)most);
	h->offset_ms = dice_percent(d, 20) ? dice(d, 1000) :
	    dice(d, 400 * DAY_MS);
	if (dice_percent(d, 10))
		h->wall_ms = dice_percent(d, 50) ? year_ms : -2 * year_ms;
	else if (dice_percent(d, 10))
		h->wall_ms = (int64_t)dice(d, 2 * HOUR_MS) -
		    (int64_t)HOUR_MS;
	if (number > 0 && dice_percent(d, 12)) {
		h->absent = true;
		plan_add(p, STEP_BOOT, dice(d, 5 * p->ns.lease_ms))->host =
		    number;
	}
}

static unsigned
random_hosts(struct dice *d)
{
	if (d->hours || dice_percent(d, 66))
		return 3;
	return dice_percent(d, 70) ? 4 : 5 + (unsigned)dice(d, 5);
}

static unsigned
random_extras(struct dice *d)
{
	uint64_t percent = dice(d, 100);

	if (percent < DICE_PLAIN_PERCENT)
		return 0;
	return percent < DICE_PLAIN_PERCENT + DICE_ALL_PERCENT ?
	    DICE_EXTRAS_ALL : 1 + (unsigned)dice(d, DICE_EXTRAS_ALL);
}

/* Of the connections that end, some are ended by their daemon. */
static void
random_cut_offs(struct plan *p)
{
	for (size_t i = 0; i < p->n_steps; i++) {
		struct plan_step *s = &p->steps[i];

		if (s->at_ms % 3 != 0)
			continue;
		if (s->kind == STEP_CLOSE)
			s->kind = STEP_CUT_OFF;
		if (s->end == END_CLOSE)
			s->end = END_CUT_OFF;
	}
}

/* A client resumes what @lock left when it was cut off, or still has: mostly in
 * time and once; or another client that does not know how. */
static void
random_come_back(struct dice *d, struct plan_step lock)
{
	uint64_t at_ms = lock.at_ms + dice(d, 3 * d->plan->ns.lease_ms);
	struct plan_step *s;

	if (d->n_clients >= PLAN_CLIENTS_MAX || at_ms > d->plan->end_ms)
		return;
	s = plan_add(d->plan, STEP_RESUME, at_ms);
	s->client = ++d->n_clients;
	s->host = lock.host;
	(void)snprintf(s->key, sizeof(s->key), "c%u", dice_percent(d, 92) ?
	    lock.client : 1 + (unsigned)dice(d, d->n_clients));
	s->stranger = dice_percent(d, 5);
	s->resumes = dice_percent(d, 80);
	s->hold_ms = 1 + dice(d, 2 * d->plan->ns.lease_ms);
	s->end = dice_percent(d, 50) ? END_RELEASE :
	    dice_percent(d, 50) ? END_CUT_OFF : END_CLOSE;
	if (dice_percent(d, 30))
		random_come_back(d, *s);
}

/* Clients come back after a cut. Dice of their own: the rest of a plan is as
 * it would be without. */
static void
random_resumes(struct dice *d)
{
	const size_t n = d->plan->n_steps;
	struct dice own = *d;

	if (d->extras == 0)
		return;
	dice_begin(&own, (uint64_t[4]){ d->plan->seed, 2, 3, 4 });
	for (size_t i = 0; i < n; i++) {
		struct plan_step *s = &d->plan->steps[i];

		if (s->kind != STEP_LOCK || plan_is_peer(s->host) ||
		    !dice_percent(&own, 15))
			continue;
		s->resumes = true;
		if (s->end == END_CLOSE || dice_percent(&own, 30))
			s->end = END_CUT_OFF;
		if (dice_percent(&own, 60))
			random_come_back(&own, *s);
	}
	d->n_clients = own.n_clients;
}

/* Does it nothing that a plan's word for another user does not go with? */
static bool
random_may_be_stranger(const struct plan *p, uint32_t client)
{
	for (size_t i = 0; i < p->n_steps; i++) {
		const struct plan_step *s = &p->steps[i];

		if (s->client == client && (plan_is_peer(s->host) ||
		    (s->kind != STEP_LOCK && s->kind != STEP_RESUME)))
			return false;
	}
	return true;
}

/* Some clients are another user's, in some plans with a bill to share. Dice of
 * their own, as above. */
static void
random_users(struct dice *d)
{
	struct plan *p = d->plan;
	struct dice own = *d;

	dice_begin(&own, (uint64_t[4]){ p->seed, 5, 6, 7 });
	if (d->extras == 0 || !dice_percent(&own, 25))
		return;
	if (dice_percent(&own, 30))
		p->ns.request_rate = (uint32_t)dice_between(&own, 1, 16);
	for (uint32_t client = 1; client <= d->n_clients; client++) {
		if (!dice_percent(&own, 40) ||
		    !random_may_be_stranger(p, client))
			continue;
		for (size_t i = 0; i < p->n_steps; i++) {
			struct plan_step *s = &p->steps[i];

			s->stranger = s->stranger || s->client == client;
		}
	}
}

/* No step comes after the end. */
static void
random_order(struct dice *d)
{
	struct plan *p = d->plan;

	random_resumes(d);
	random_users(d);
	for (size_t i = 0; i < p->n_steps; i++)
		if (p->steps[i].at_ms > p->end_ms)
			p->steps[i].at_ms = p->end_ms;
	random_cut_offs(p);
	plan_sort(p);
}

/* In three of four, hosts keep a lock that they take again and again: as long
 * as the product does, or so long that it meets other things. By the seed and
 * not by dice, and last: the rest of a plan is as it would be without. */
static void
random_idle(struct plan *p)
{
	const uint64_t idles_ms[] = { 0, 20, p->ns.poll_ms / 4,
		p->ns.hints ? 4 * p->ns.poll_ms : p->ns.poll_ms };

	p->ns.idle_ms = idles_ms[p->seed / 64 % 4];
}

/* A plan with older clients may be requested, and is the same then as if it
 * were by chance. */
void
plan_random(struct plan *p, uint64_t seed, bool foreign)
{
	const uint64_t seeds[4] = { seed, UINT64_C(0x9e3779b97f4a7c15),
		UINT64_C(0xbf58476d1ce4e5b9), ~seed };
	struct dice d = { .plan = p };
	uint64_t lease_ms;

	dice_begin(&d, seeds);
	plan_init(p);
	p->seed = seed;
	if (dice(&d, DICE_FOREIGN_ONE_OF) == 0 || foreign) {
		dice_foreign(&d);
		if (dice_percent(&d, DICE_FLEET_PERCENT))
			dice_fleet(&d);
		p->hedges = dice_percent(&d, 60);
		p->no_transactions = dice_percent(&d, 20);
		dice_orders(&d);
		random_order(&d);
		return;
	}
	d.extras = random_extras(&d);
	random_lease(&d);
	p->n_hosts = random_hosts(&d);
	random_rest(&d);
	random_network(&d);
	for (unsigned i = 0; i < p->n_hosts; i++)
		random_host(&d, i);
	lease_ms = p->ns.lease_ms;
	p->quiet_ms = dice_between(&d, 8 * lease_ms, 9 * lease_ms);
	/* Few clients, or seldom requests: longer, so that there are enough. */
	if (p->n_hosts == 3)
		p->quiet_ms += 2 * lease_ms;
	if (lease_ms < 10000)
		p->quiet_ms += 3 * lease_ms;
	if (p->ns.heartbeat_ms > lease_ms / 4)
		p->quiet_ms += 2 * lease_ms;
	if (d.hours) {
		d.idle_from_ms = 5 * lease_ms;
		d.idle_to_ms = d.idle_from_ms + HOUR_MS +
		    dice(&d, HOUR_MS / 2);
		p->quiet_ms += d.idle_to_ms - d.idle_from_ms;
	}
	p->end_ms = p->quiet_ms + 2 * lease_ms + lease_ms / 2 +
	    2 * p->ns.poll_ms;
	/* It takes longer to see whether multi-lock waiters get their locks. */
	if ((d.extras & DICE_MULTI) != 0 && dice_percent(&d, 10))
		p->end_ms += 4 * lease_ms + 8 * p->ns.poll_ms;
	dice_clients(&d);
	dice_faults(&d);
	p->hedges = dice_percent(&d, 60);
	p->no_transactions = dice_percent(&d, 20);
	dice_orders(&d);
	dice_restored(&d);
	random_idle(p);
	random_order(&d);
}

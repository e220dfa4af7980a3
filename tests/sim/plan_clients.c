/*
 * Random actions of clients: each locks, thinks, holds and releases, on a few
 * keys that all want.
 */
#include "plan_dice.h"

#include <string.h>

static uint64_t
clients_wait_ms(struct dice *d)
{
	static const unsigned weights[] = { 22, 20, 40, 18 };
	uint64_t lease_ms = d->plan->ns.lease_ms;

	switch (dice_weighted(d, weights, 4)) {
	case 0:
		return 0;
	case 1:
		return 1 + dice(d, lease_ms / 4);
	case 2:
		return 1 + dice(d, 3 * lease_ms);
	default:
		return PLAN_FOREVER;
	}
}

static uint64_t
clients_hold_ms(struct dice *d)
{
	static const unsigned weights[] = { 12, 34, 38, 12, 4 };
	uint64_t lease_ms = d->plan->ns.lease_ms;

	switch (dice_weighted(d, weights, 5)) {
	case 0:
		return 0;
	case 1:
		return 1 + dice(d, lease_ms / 8);
	case 2:
		return 1 + dice(d, lease_ms);
	case 3:
		return 1 + dice(d, 2 * lease_ms);
	default:
		return PLAN_FOREVER;
	}
}

static struct plan_step *
clients_step(struct dice *d, enum step_kind kind, uint64_t at_ms,
    unsigned client, unsigned host, unsigned key)
{
	struct plan_step *s = plan_add(d->plan, kind, at_ms);

	s->client = client;
	s->host = host;
	if (d->plan->n_namespaces > 1)
		s->namespace_index = key % 2;
	dice_key(d, key, s->key);
	return s;
}

/* Only exclusive, both kinds, or a semaphore. */
static void
clients_use(struct dice *d, struct dice_use *ret)
{
	static const unsigned weights[] = { 40, 30, 30 };

	*ret = (struct dice_use){ .shared_percent = 0 };
	switch (dice_weighted(d, weights, 3)) {
	case 0:
		return;
	case 1:
		ret->shared_percent = 40 + (unsigned)dice(d, 50);
		return;
	default:
		ret->shared_percent = 85 + (unsigned)dice(d, 16);
		ret->limit = 2 + (uint32_t)dice(d, 3);
		ret->other_percent = dice_percent(d, 40) ? 10 : 0;
		return;
	}
}

static void
clients_share(struct dice *d, struct plan_step *s, unsigned key)
{
	const struct dice_use *use = &d->uses[key];

	s->shared = dice_percent(d, use->shared_percent);
	if (!s->shared || use->limit == 0)
		return;
	s->limit = use->limit;
	if (dice_percent(d, use->other_percent))
		s->limit = d->extras != 0 && dice_percent(d, 50) ? 0 :
		    use->limit % 4 + 1;
}

/* Sometimes on terms of its own: an end, a keepalive that is kept or not, a
 * warning. */
void
dice_terms(struct dice *d, struct plan_step *s)
{
	const struct core_namespace *n = &d->plan->ns;

	if ((d->extras & DICE_TERMS) == 0)
		return;
	if (dice_percent(d, 10))
		s->max_hold_ms = 1 + dice(d, 2 * n->lease_ms);
	if (dice_percent(d, 10)) {
		s->keepalive_ms = CORE_KEEPALIVE_MIN_MS + dice(d, n->lease_ms);
		s->talk_ms = 1 + s->keepalive_ms / 3 +
		    dice(d, s->keepalive_ms);
	}
	s->reentrant = dice_percent(d, 25);
	if (dice_percent(d, 8)) {
		s->manual = true;
		s->renew_ms = 1 + n->lease_ms / 5 + dice(d, n->lease_ms);
	}
	if (dice_percent(d, 10))
		s->danger_ms = dice_percent(d, 30) ? PLAN_FOREVER :
		    dice_between(d, n->heartbeat_ms + 1,
			n->lease_ms - n->margin_ms);
}

/* Only a release or a break ends a fail-closed hold, and mostly an
 * administrator breaks it when it is over, or a little before. */
static void
clients_breaker(struct dice *d, struct plan_step lock)
{
	uint64_t lease_ms = d->plan->ns.lease_ms;
	struct plan_step *b;

	if (dice_percent(d, 15))
		return;
	b = dice_fault(d, STEP_BREAK, lock.at_ms + (dice_percent(d, 70) ?
	    lease_ms + dice(d, 2 * lease_ms) : dice(d, lease_ms)),
	    dice_host(d));
	if (b == NULL)
		return;
	b->client = ++d->n_clients;
	b->namespace_index = lock.namespace_index;
	memcpy(b->key, lock.key, sizeof(b->key));
}

/* It keeps something in the lock, now and then. */
void
dice_keep(struct dice *d, struct plan_step *s)
{
	if ((d->extras & DICE_KEEP) == 0 || s->shared || s->reentrant)
		return;
	s->brings = dice_percent(d, 25);
	s->leaves = dice_percent(d, 25);
	s->notes = dice_percent(d, 20);
	if (s->notes && s->renew_ms == 0)
		s->renew_ms = 1 + d->plan->ns.lease_ms / 6 +
		    dice(d, d->plan->ns.lease_ms / 2);
}

/* It is for a process; its client often leaves before. */
void
dice_process(struct dice *d, struct plan_step *s)
{
	if ((d->extras & DICE_PROCESS) == 0 || s->fail_closed || s->manual ||
	    s->stays || s->reentrant || s->keepalive_ms > 0 ||
	    !dice_percent(d, 25))
		return;
	s->process_ms = dice_length(d);
	if (dice_percent(d, 50))
		s->end = dice_percent(d, 80) ? END_CLOSE : END_CUT_OFF;
}

/* A client resumes the hold that @lock left, or still has: mostly in time, and
 * on its host. */
static void
clients_come_back(struct dice *d, struct plan_step lock)
{
	uint64_t at_ms = lock.at_ms + dice(d, 3 * d->plan->ns.lease_ms);
	struct plan_step *s;

	if (at_ms > d->plan->end_ms)
		return;
	s = plan_add(d->plan, STEP_RESUME, at_ms);
	s->client = ++d->n_clients;
	s->host = dice_percent(d, 92) ? lock.host : dice_host(d);
	(void)snprintf(s->key, sizeof(s->key), "c%u", lock.client);
	s->stranger = dice_percent(d, 8);
	s->hold_ms = clients_hold_ms(d);
	s->end = dice_percent(d, 70) ? END_RELEASE : END_CLOSE;
}

/* Its client may leave it for a while, and often does. */
void
dice_linger(struct dice *d, struct plan_step *s)
{
	if ((d->extras & DICE_LINGER) == 0 || s->fail_closed || s->manual ||
	    s->stays || s->process_ms > 0 || !dice_percent(d, 20))
		return;
	s->linger_ms = dice_length(d);
	if (dice_percent(d, 50))
		s->end = END_CLOSE;
	if (dice_percent(d, 80))
		clients_come_back(d, *s);
}

/* By random numbers of its own, so that all the rest of a plan is as if there
 * were none of what they are for: a number, and a length. */
static uint64_t
clients_chance(const struct dice *d, const struct plan_step *s, uint64_t what,
    uint64_t *ret_ms)
{
	const uint64_t seed[4] = { d->plan->seed, s->client, s->at_ms, what };
	struct random random;

	random_init(&random, seed);
	*ret_ms = 1 + random_next(&random) % (3 * d->plan->ns.lease_ms);
	return random_next(&random);
}

/* It stays for a while, in one of eight requests of some plans. */
void
dice_at_least(const struct dice *d, struct plan_step *s)
{
	uint64_t ms, n = clients_chance(d, s, 1, &ms);

	if ((d->extras & DICE_LINGER) == 0 || s->fail_closed || s->manual ||
	    s->stays || s->keepalive_ms > 0 || n % 8 != 0 ||
	    (s->max_hold_ms > 0 && s->max_hold_ms < ms))
		return;
	s->at_least_ms = ms;
}

/* It is once per period, in one of five. */
void
dice_every(const struct dice *d, struct plan_step *s)
{
	uint64_t ms, n = clients_chance(d, s, 2, &ms);

	if ((d->extras & DICE_TERMS) == 0 || s->fail_closed || s->reentrant ||
	    s->shared || strchr(s->key, '+') != NULL || n % 5 != 0)
		return;
	s->every_ms = ms;
	s->at_end = s->at_least_ms == 0 && n / 5 % 2 == 0;
}

void
dice_own(struct dice *d, struct plan_step *s, bool closed)
{
	if (closed) {
		s->fail_closed = true;
		s->reentrant = (d->extras & DICE_TERMS) != 0 &&
		    dice_percent(d, 25);
		return;
	}
	if ((d->extras & DICE_STAYS) != 0 && dice_percent(d, 15)) {
		s->stays = true;
		if (dice_percent(d, 50))
			s->end = END_CLOSE;
	}
	dice_terms(d, s);
}

/* More keys of the same namespace, to be held as one. */
static void
clients_join(struct dice *d, struct plan_step *s, unsigned key)
{
	char more[PLAN_KEY_MAX];

	if (d->multi_percent == 0 || !dice_percent(d, d->multi_percent))
		return;
	for (unsigned i = 0; i < d->n_keys; i++) {
		size_t length = strlen(s->key);

		if (i == key || dice_percent(d, 40) ||
		    (d->plan->n_namespaces > 1 && i % 2 != key % 2))
			continue;
		dice_key(d, i, more);
		if (length + strlen(more) + 2 <= sizeof(s->key))
			(void)snprintf(s->key + length,
			    sizeof(s->key) - length, "+%s", more);
	}
}

static void
clients_lock(struct dice *d, uint64_t at_ms, unsigned client, unsigned host,
    unsigned key)
{
	static const unsigned weights[] = { 66, 16, 8, 10 };
	struct plan_step *s = clients_step(d, STEP_LOCK, at_ms, client, host,
	    key);

	clients_share(d, s, key);
	clients_join(d, s, key);
	s->wait_ms = clients_wait_ms(d);
	s->hold_ms = clients_hold_ms(d);
	s->end = (enum plan_end)dice_weighted(d, weights, 4);
	if (dice_percent(d, 15))
		s->renew_ms = 1 + d->plan->ns.lease_ms / 6 +
		    dice(d, d->plan->ns.lease_ms / 2);
	if (strchr(s->key, '+') == NULL) {
		dice_own(d, s, (d->extras & DICE_CLOSED) != 0 &&
		    dice_percent(d, 12));
		dice_keep(d, s);
		dice_process(d, s);
	}
	dice_at_least(d, s);
	dice_every(d, s);
	if (s->fail_closed)
		clients_breaker(d, *s);
	else
		dice_linger(d, s);
}

void
dice_lock(struct dice *d, uint64_t at_ms, unsigned host, unsigned key,
    uint64_t wait_ms, uint64_t hold_ms)
{
	struct plan_step *s = clients_step(d, STEP_LOCK, at_ms,
	    ++d->n_clients, host, key);

	clients_share(d, s, key);
	s->wait_ms = wait_ms;
	s->hold_ms = hold_ms;
	if (dice_percent(d, 20))
		s->end = END_CLOSE;
}

/* Something else than locking. */
void
dice_other(struct dice *d, uint64_t at_ms, unsigned client, unsigned host,
    unsigned key)
{
	static const unsigned weights[] = { 25, 15, 20, 12, 6, 5, 17, 15 };
	static const enum step_kind kinds[] = { STEP_RELEASE, STEP_RENEW,
		STEP_CANCEL, STEP_GET, STEP_LIST, STEP_DRAIN, STEP_CLOSE,
		STEP_DOWNGRADE };
	unsigned n = (d->extras & DICE_DOWNGRADE) != 0 ? 8 : 7;
	enum step_kind kind = kinds[dice_weighted(d, weights, n)];
	struct plan_step *s = clients_step(d, kind, at_ms, client, host, key);

	if (kind == STEP_LIST)
		memset(s->key + dice(d, 2), 0, sizeof(s->key) - 1);
	if (kind == STEP_DOWNGRADE)
		s->limit = d->uses[key].limit;
	if (kind != STEP_GET && kind != STEP_LIST)
		s->host = 0;
	if (kind == STEP_DRAIN || kind == STEP_CLOSE) {
		memset(s->key, 0, sizeof(s->key));
		s->namespace_index = 0;
	}
}

/* It watches, or does no more. */
void
dice_watch(struct dice *d, uint64_t at_ms, unsigned client, unsigned host,
    unsigned key)
{
	if (dice_percent(d, 75))
		(void)clients_step(d, STEP_WATCH, at_ms, client, host, key);
	else
		(void)clients_step(d, STEP_UNWATCH, at_ms, client, 0, key);
}

static void
clients_life(struct dice *d, unsigned client, unsigned host)
{
	uint64_t lease_ms = d->plan->ns.lease_ms;
	uint64_t at_ms = dice(d, 2 * lease_ms);
	unsigned key = (unsigned)dice(d, d->n_keys);

	while (at_ms < d->plan->end_ms) {
		if (at_ms >= d->idle_from_ms && at_ms < d->idle_to_ms)
			at_ms = d->idle_to_ms + dice(d, lease_ms);
		/* Mostly the same client: it comes back for its own hold. */
		if (dice_percent(d, 35))
			key = (unsigned)dice(d, d->n_keys);
		clients_lock(d, at_ms, client, host, key);
		if (dice_percent(d, 25))
			dice_other(d, at_ms + dice(d, lease_ms), client,
			    host, key);
		if ((d->extras & DICE_WATCH) != 0 && dice_percent(d, 15))
			dice_watch(d, at_ms + dice(d, lease_ms), client,
			    host, key);
		at_ms += 1 + dice(d, 3 * lease_ms);
		if (dice_percent(d, 50))
			at_ms += dice(d, 2 * lease_ms);
	}
}

/* Three keys that two hosts want from the beginning. */
static void
clients_contend(struct dice *d)
{
	unsigned host = dice_host(d);

	for (unsigned key = 0; key < 3; key++) {
		unsigned other = dice_other_host(d, host);
		uint64_t at_ms = dice(d, d->plan->ns.lease_ms);

		clients_lock(d, at_ms, ++d->n_clients, host, key);
		clients_lock(d, dice_near(d, at_ms, 50), ++d->n_clients,
		    other, key);
		host = other;
	}
}

void
dice_clients(struct dice *d)
{
	unsigned n;

	d->n_keys = 3 + (unsigned)dice(d, 2);
	if ((d->extras & DICE_MULTI) != 0 &&
	    (dice_has_all(d) || dice_percent(d, 50)))
		d->multi_percent = 10 + (unsigned)dice(d, 40);
	for (unsigned key = 0; key < d->n_keys; key++)
		clients_use(d, &d->uses[key]);
	clients_contend(d);
	for (unsigned host = 0; host < d->plan->n_hosts; host++) {
		n = d->plan->n_hosts > 4 ? 1 : 3 + (unsigned)dice(d, 2);
		for (unsigned i = 0; i < n; i++)
			clients_life(d, ++d->n_clients, host);
	}
}

/*
 * Random plans of one namespace in a record format that older clients share: a
 * few daemons and a few older clients, on few keys, with faults of messages,
 * hosts and the table.
 */
#include "plan_dice.h"

#include <string.h>

#include "core/timing.h"

#define FOREIGN_SKEW_MAX_MS 10000

/* ---- the world -------------------------------------------------------- */

static void
foreign_format(struct dice *d)
{
	struct plan_namespace *n = &d->plan->namespaces[0];

	n->format = (enum plan_format)(FORMAT_AWSLABS +
	    dice(d, FORMATS - FORMAT_AWSLABS));
	switch (n->format) {
	case FORMAT_AWSLABS:
		n->go_lease = dice_percent(d, 40);
		n->keep_released = dice_percent(d, 50);
		n->keep_attributes = dice_percent(d, 30);
		break;
	case FORMAT_JS_OPEN:
		n->local_time = dice_percent(d, 30);
		break;
	case FORMAT_DLOCK:
		n->fencing = dice_percent(d, 50);
		n->skew_ms = dice_percent(d, 20) ? 0 :
		    dice(d, FOREIGN_SKEW_MAX_MS);
		break;
	default:
		break;
	}
}

static enum peer_kind
foreign_peer_kind(const struct plan_namespace *n)
{
	for (enum peer_kind k = PEER_JAVA; k < PEER_KINDS; k++)
		if (plan_peer_format(k) == n->format &&
		    (n->format != FORMAT_AWSLABS ||
		    n->go_lease == (k == PEER_DYNAMOLOCK)))
			return k;
	return PEER_NONE;
}

/*
 * If records have times of wall clocks, the clocks differ by the skew at most.
 */
static int64_t
foreign_wall_ms(struct dice *d)
{
	const struct plan_namespace *n = &d->plan->namespaces[0];

	if (n->local_time)
		return 0;
	if (n->format != FORMAT_DLOCK)
		return (int64_t)dice(d, 60000) - 30000;
	return dice_percent(d, 40) ? (int64_t)(dice(d, 2) * n->skew_ms) :
	    (int64_t)dice(d, n->skew_ms + 1);
}

static void
foreign_clocks(struct dice *d, struct plan_host *h)
{
	int32_t most = (int32_t)(d->plan->ns.drift_ppm / 2);

	if (dice_percent(d, 40))
		h->rate_ppm = most;
	else if (dice_percent(d, 60))
		h->rate_ppm = -most;
	h->offset_ms = dice(d, 1000000);
	h->wall_ms = foreign_wall_ms(d);
}

/* SDKs wait for milliseconds to minutes before they repeat: so a repetition may
 * land when the record was taken over and released. */
static uint64_t
foreign_patience_ms(struct dice *d)
{
	uint64_t lease_ms = d->plan->ns.lease_ms;

	if (dice_percent(d, 40))
		return 0;
	if (dice_percent(d, 30))
		return 1 + dice(d, lease_ms);
	return lease_ms + dice(d, lease_ms);
}

static void
foreign_machines(struct dice *d)
{
	struct plan *p = d->plan;

	p->n_hosts = 2 + (unsigned)dice(d, 2);
	p->n_peers = 1 + (unsigned)dice(d, 3);
	for (unsigned i = 0; i < p->n_hosts; i++)
		foreign_clocks(d, &p->hosts[i]);
	for (unsigned i = 0; i < p->n_peers; i++) {
		struct plan_peer *peer = &p->peers[i];

		peer->kind = foreign_peer_kind(&p->namespaces[0]);
		foreign_clocks(d, &peer->host);
		peer->retries = (uint32_t)dice(d, 3);
		peer->patience_ms = foreign_patience_ms(d);
		peer->keep = p->namespaces[0].format == FORMAT_AWSLABS &&
		    dice_percent(d, 30);
	}
}

/* A host of ours, or an older client's. */
static unsigned
foreign_machine(struct dice *d)
{
	unsigned n = (unsigned)dice(d, d->plan->n_hosts + d->plan->n_peers);

	return n < d->plan->n_hosts ? n :
	    PLAN_PEER_FIRST + n - d->plan->n_hosts;
}

static void
foreign_times(struct dice *d)
{
	static const uint64_t leases_ms[] = { 3000, 8000, 20000, 20000, 30000 };
	static const uint32_t drifts_ppm[] = { 10000, 10000, 10000, 1000,
		50000 };
	struct plan *p = d->plan;
	struct core_namespace *n = &p->ns;

	n->lease_ms = leases_ms[dice(d, 5)];
	n->drift_ppm = drifts_ppm[dice(d, 5)];
	plan_derive(n);
	n->poll_ms = n->lease_ms / (4 + dice(d, 12));
	n->audit_ms = dice_between(d, n->lease_ms, 2 * n->lease_ms);
	n->handover_max = 1 + (uint32_t)dice(d, 5);
	p->latency_ms = dice(d, 5);
	p->latency_max_ms = p->latency_ms + dice(d, dice_percent(d, 70) ? 10 :
	    n->request_ms / 8);
	p->lateness_ms = dice_percent(d, 50) ? 0 : dice(d, 5);
	p->quiet_ms = dice_between(d, 9 * n->lease_ms, 12 * n->lease_ms);
	p->end_ms = p->quiet_ms + 5 * n->lease_ms;
}

/* ---- clients ---------------------------------------------------------- */

/* The contents of a lock: attributes, and the bytes of one format. */
static void
foreign_keep(struct dice *d, struct plan_step *s)
{
	enum plan_format format = d->plan->namespaces[0].format;

	if (format != FORMAT_AWSLABS && format != FORMAT_PYTHON)
		return;
	dice_keep(d, s);
	if (format == FORMAT_AWSLABS)
		return;
	s->brings = false;
	s->leaves = false;
}

/* Our clients may ask for terms of their own; a hold without end has few. */
static void
foreign_terms(struct dice *d, struct plan_step *s)
{
	dice_own(d, s, d->plan->namespaces[0].format == FORMAT_JS_CLOSED);
	if (s->fail_closed)
		return;
	foreign_keep(d, s);
	dice_process(d, s);
	dice_at_least(d, s);
	dice_linger(d, s);
}

static void
foreign_lock(struct dice *d, uint64_t at_ms, unsigned client, unsigned host,
    unsigned key)
{
	static const unsigned weights[] = { 75, 10, 5, 10 };
	uint64_t lease_ms = d->plan->ns.lease_ms;
	struct plan_step *s = plan_add(d->plan, STEP_LOCK, at_ms);

	s->client = client;
	s->host = host;
	dice_key(d, key, s->key);
	s->wait_ms = dice_percent(d, 20) ? dice(d, lease_ms / 4) :
	    dice_percent(d, 70) ? 1 + dice(d, 4 * lease_ms) : PLAN_FOREVER;
	s->hold_ms = dice_percent(d, 60) ? dice(d, lease_ms / 2) :
	    dice(d, 3 * lease_ms);
	s->end = (enum plan_end)dice_weighted(d, weights, 4);
	if (plan_is_peer(host))
		s->end = dice_percent(d, 90) ? END_RELEASE : END_NEVER;
	else
		foreign_terms(d, s);
}

/* An administrator breaks a lock that is never released; sometimes early. */
static void
foreign_breaker(struct dice *d, uint64_t locked_ms, unsigned key)
{
	uint64_t lease_ms = d->plan->ns.lease_ms;
	struct plan_step *b = dice_fault(d, STEP_BREAK, locked_ms + lease_ms +
	    dice(d, 3 * lease_ms), dice_host(d));

	if (b == NULL)
		return;
	b->client = ++d->n_clients;
	dice_key(d, key, b->key);
}

/* Other actions of our clients beside locking. */
static void
foreign_aside(struct dice *d, uint64_t at_ms, unsigned client, unsigned host,
    unsigned key)
{
	uint64_t lease_ms = d->plan->ns.lease_ms;

	if (dice_percent(d, 25))
		dice_other(d, at_ms + dice(d, lease_ms), client, host, key);
	if ((d->extras & DICE_WATCH) != 0 && dice_percent(d, 15))
		dice_watch(d, at_ms + dice(d, lease_ms), client, host, key);
}

static void
foreign_life(struct dice *d, unsigned host)
{
	const struct plan *p = d->plan;
	uint64_t at_ms = dice(d, p->ns.lease_ms);
	unsigned client = ++d->n_clients;
	unsigned breaks = p->namespaces[0].format == FORMAT_JS_CLOSED ? 30 : 3;

	while (at_ms < p->end_ms) {
		unsigned key = (unsigned)dice(d, d->n_keys);

		foreign_lock(d, at_ms, client, host, key);
		if (dice_percent(d, breaks))
			foreign_breaker(d, at_ms, key);
		/* An older client does one thing after the other. */
		if (plan_is_peer(host))
			client = ++d->n_clients;
		else
			foreign_aside(d, at_ms, client, host, key);
		at_ms += 1 + dice(d, 3 * p->ns.lease_ms);
	}
}

/* ---- faults ----------------------------------------------------------- */

static void
foreign_message(struct dice *d, uint64_t at_ms, unsigned host)
{
	static const enum operation_kind kinds[] = { PLAN_ANY, PLAN_ANY,
		OPERATION_READ, OPERATION_ACQUIRE, OPERATION_ACQUIRE,
		OPERATION_REFRESH, OPERATION_REFRESH, OPERATION_RELEASE };
	static const unsigned weights[MESSAGE_FAULTS] = {
		[MESSAGE_LOST] = 16, [MESSAGE_ANSWER_LOST] = 26,
		[MESSAGE_LATE] = 18, [MESSAGE_ANSWER_LATE] = 8,
		[MESSAGE_TWICE] = 10, [MESSAGE_UNSENT] = 5,
		[MESSAGE_THROTTLED] = 5, [MESSAGE_FAILED] = 5,
		[MESSAGE_FAILED_AFTER] = 7,
	};
	struct plan_step *s = dice_message(d, at_ms, host, kinds,
	    sizeof(kinds) / sizeof(kinds[0]), weights);

	if (s != NULL && dice_takes_time(s))
		s->ms = dice_percent(d, 40) ? 1 + dice(d,
		    d->plan->ns.request_ms) : dice_length(d);
}

/* It is absent for a while; its requests before and after fail. */
static void
foreign_absence(struct dice *d, uint64_t at_ms, unsigned host)
{
	static const enum step_kind kinds[] = { STEP_PAUSE, STEP_PAUSE,
		STEP_SUSPEND, STEP_CUT, STEP_CUT, STEP_DOWN };
	struct plan_step *s;
	uint64_t ms = dice_length(d);

	if (dice_percent(d, 60))
		foreign_message(d, at_ms > 100 ? at_ms - dice(d, 100) : 0,
		    host);
	s = dice_fault(d, kinds[dice(d, 6)], at_ms, host);
	if (s != NULL)
		s->ms = ms;
	if (dice_percent(d, 60))
		foreign_message(d, at_ms + ms, host);
}

static void
foreign_death(struct dice *d, uint64_t at_ms, unsigned host)
{
	if (dice_percent(d, 50))
		foreign_message(d, at_ms > 20 ? at_ms - dice(d, 20) : 0, host);
	(void)dice_fault(d, STEP_KILL, at_ms, host);
	if (dice_percent(d, 80))
		(void)dice_fault(d, STEP_BOOT, at_ms + 1 + dice_length(d),
		    host);
}

static void
foreign_hand(struct dice *d, uint64_t at_ms)
{
	struct plan_step *s = dice_fault(d, STEP_HAND_DELETE, at_ms, 0);

	if (s != NULL)
		dice_key(d, (unsigned)dice(d, d->n_keys), s->key);
}

static void
foreign_table(struct dice *d, uint64_t at_ms)
{
	struct plan_step *s = dice_fault(d, dice_percent(d, 60) ?
	    STEP_TABLE_CUT : STEP_TABLE_THROTTLE, at_ms, 0);

	if (s != NULL)
		s->ms = dice_length(d);
}

static void
foreign_faults(struct dice *d)
{
	static const unsigned weights[] = { 50, 25, 8, 4 };
	unsigned n_messages = 40 + (unsigned)dice(d, 120);
	unsigned n = 3 + (unsigned)dice(d, 8);

	for (unsigned i = 0; i < n_messages; i++)
		foreign_message(d, dice(d, d->plan->quiet_ms),
		    foreign_machine(d));
	for (unsigned i = 0; i < n; i++) {
		uint64_t at_ms = dice(d, d->plan->quiet_ms);
		unsigned host = foreign_machine(d);

		switch (dice_weighted(d, weights, 4)) {
		case 0:
			foreign_absence(d, at_ms, host);
			break;
		case 1:
			foreign_death(d, at_ms, host);
			break;
		case 2:
			foreign_table(d, at_ms);
			break;
		default:
			foreign_hand(d, at_ms);
			break;
		}
	}
}

void
dice_foreign(struct dice *d)
{
	struct plan *p = d->plan;

	foreign_format(d);
	foreign_times(d);
	foreign_machines(d);
	if (dice_percent(d, 70))
		d->extras = DICE_TERMS | DICE_WATCH | DICE_STAYS | DICE_LINGER |
		    DICE_KEEP | DICE_PROCESS;
	d->n_keys = 1 + (unsigned)dice(d, 3);
	for (unsigned i = 0; i < p->n_hosts; i++)
		for (unsigned n = 1 + (unsigned)dice(d, 3); n > 0; n--)
			foreign_life(d, i);
	for (unsigned i = 0; i < p->n_peers; i++)
		foreign_life(d, PLAN_PEER_FIRST + i);
	foreign_faults(d);
}

/*
 * Random plans of fleets on their way over a bridge: a plan of one older format
 * (plan_foreign.c) gets a native namespace beyond it, and its hosts move on, or
 * back, at any moment, but two hosts are never two phases apart.
 */
#include "plan_dice.h"

/* ---- limits of a bridge --------------------------------------- */

/* Its locks have no terms and no contents. */
static void
fleet_simplify(struct plan *p)
{
	for (size_t i = 0; i < p->n_steps; i++) {
		struct plan_step *s = &p->steps[i];

		if (s->kind != STEP_LOCK || plan_is_peer(s->host))
			continue;
		s->max_hold_ms = s->keepalive_ms = s->danger_ms = 0;
		s->linger_ms = s->talk_ms = s->process_ms = 0;
		s->at_least_ms = s->every_ms = 0;
		s->manual = s->reentrant = s->stays = false;
		s->brings = s->notes = s->leaves = false;
	}
}

/* An older client is no more from then on. */
static void
fleet_retire(struct plan *p, unsigned machine, uint64_t from_ms)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_steps; i++) {
		const struct plan_step *s = &p->steps[i];

		if (s->host != machine || s->at_ms < from_ms ||
		    (s->kind != STEP_LOCK && s->kind != STEP_BOOT))
			p->steps[n++] = *s;
	}
	p->n_steps = n;
	plan_add(p, STEP_KILL, from_ms)->host = machine;
}

static void
fleet_retire_all(struct plan *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_steps; i++)
		if (!plan_is_peer(p->steps[i].host))
			p->steps[n++] = p->steps[i];
	p->n_steps = n;
	p->n_peers = 0;
}

/* ---- moves ------------------------------------------------------------ */

static void
fleet_message(struct dice *d, uint64_t at_ms, unsigned host)
{
	static const enum operation_kind kinds[] = { PLAN_ANY,
		OPERATION_ACQUIRE, OPERATION_ACQUIRE, OPERATION_RELEASE,
		OPERATION_REFRESH, OPERATION_READ, OPERATION_SESSION_OPEN,
		OPERATION_SESSION_BEAT, OPERATION_SESSION_BEAT,
		OPERATION_SESSION_READ, OPERATION_SESSION_KILL };
	static const unsigned weights[MESSAGE_FAULTS] = {
		[MESSAGE_LOST] = 20, [MESSAGE_ANSWER_LOST] = 30,
		[MESSAGE_LATE] = 20, [MESSAGE_ANSWER_LATE] = 10,
		[MESSAGE_TWICE] = 10, [MESSAGE_FAILED_AFTER] = 10,
	};
	struct plan_step *s = dice_message(d, at_ms, host, kinds,
	    sizeof(kinds) / sizeof(kinds[0]), weights);

	if (s != NULL && dice_takes_time(s))
		s->ms = dice_length(d);
}

/* Some are told to end before, and some die again soon after. */
static void
fleet_move(struct dice *d, uint64_t at_ms, unsigned host,
    enum plan_phase phase)
{
	uint64_t stop_ms = dice(d, d->plan->ns.lease_ms);
	struct plan_step *s;

	if (dice_percent(d, 35) && at_ms > stop_ms)
		(void)dice_fault(d, dice_percent(d, 70) ? STEP_STOP :
		    STEP_STOP_RELEASE, at_ms - stop_ms, host);
	if (dice_percent(d, 50))
		fleet_message(d, at_ms > 20 ? at_ms - dice(d, 20) : 0, host);
	s = dice_fault(d, STEP_MOVE, at_ms, host);
	if (s == NULL)
		return;
	s->phase = phase;
	if (dice_percent(d, 25)) {
		at_ms += dice_length(d);
		(void)dice_fault(d, STEP_KILL, at_ms, host);
		(void)dice_fault(d, STEP_BOOT, at_ms + dice(d, 3000), host);
	}
}

/* All three phases: each arrives on the bridge before the first leaves it. */
static void
fleet_cross(struct dice *d)
{
	struct plan *p = d->plan;
	uint64_t arrived_ms = p->quiet_ms * dice_between(d, 25, 45) / 100;
	uint64_t leave_ms = arrived_ms + plan_rest_ms(p, PHASE_OLD) + 1;

	for (unsigned i = 0; i < p->n_peers; i++)
		fleet_retire(p, PLAN_PEER_FIRST + i, dice(d, leave_ms - 1));
	for (unsigned i = 0; i < p->n_hosts; i++) {
		fleet_move(d, dice(d, arrived_ms), i, PHASE_BRIDGE);
		if (dice_percent(d, 90))
			fleet_move(d, dice_between(d, leave_ms,
			    p->quiet_ms), i, PHASE_NATIVE);
	}
}

/* Two phases that follow each other, and hosts that go on and back. */
static void
fleet_mix(struct dice *d, enum plan_phase first)
{
	struct plan *p = d->plan;

	for (unsigned i = 0; i < p->n_hosts; i++) {
		enum plan_phase phase = first + dice_percent(d, 50);

		p->hosts[i].phase = phase;
		for (unsigned n = (unsigned)dice(d, 4); n > 0; n--)
			fleet_move(d, dice(d, p->quiet_ms), i,
			    first + dice_percent(d, 50));
	}
}

/* ---- the native table ------------------------------------------------- */

static void
fleet_lease(struct dice *d)
{
	struct plan *p = d->plan;
	uint64_t lease_ms = p->ns.lease_ms;

	if (dice_percent(d, 50))
		return;
	lease_ms = dice_percent(d, 50) ? 2 * lease_ms : lease_ms * 2 / 3;
	if (lease_ms < 3000)
		return;
	p->namespaces[1].lease_ms = lease_ms;
	if (lease_ms > p->ns.lease_ms)
		p->end_ms += 5 * (lease_ms - p->ns.lease_ms);
}

static void
fleet_hand(struct dice *d, uint64_t at_ms)
{
	static const enum step_kind kinds[] = { STEP_HAND_DELETE,
		STEP_HAND_BREAK, STEP_HAND_END_SESSION };
	enum step_kind kind = kinds[dice(d, 3)];
	struct plan_step *s = dice_fault(d, kind, at_ms, kind ==
	    STEP_HAND_END_SESSION ? dice_host(d) : 0);

	if (s == NULL)
		return;
	/* Of the older record only its end can be so. */
	s->namespace_index = kind != STEP_HAND_DELETE || dice_percent(d, 30);
	if (kind != STEP_HAND_END_SESSION)
		dice_key(d, (unsigned)dice(d, d->n_keys), s->key);
}

static void
fleet_faults(struct dice *d)
{
	unsigned n_messages = 20 + (unsigned)dice(d, 60);

	for (unsigned i = 0; i < n_messages; i++)
		fleet_message(d, dice(d, d->plan->quiet_ms), dice_host(d));
	for (unsigned n = (unsigned)dice(d, 3); n > 0; n--)
		fleet_hand(d, dice(d, d->plan->quiet_ms));
}

void
dice_fleet(struct dice *d)
{
	static const unsigned weights[] = { 40, 35, 25 };
	struct plan *p = d->plan;

	if (p->namespaces[0].format == FORMAT_JS_CLOSED)
		return;
	p->bridge = true;
	p->n_namespaces = 2;
	fleet_simplify(p);
	fleet_lease(d);
	switch (dice_weighted(d, weights, 3)) {
	case 0:
		fleet_cross(d);
		break;
	case 1:
		fleet_mix(d, PHASE_OLD);
		break;
	default:
		fleet_retire_all(p);
		fleet_mix(d, PHASE_BRIDGE);
		break;
	}
	fleet_faults(d);
}

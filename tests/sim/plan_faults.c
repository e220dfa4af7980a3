/*
 * Random faults of a world. A background of faults of single messages, and
 * episodes: a trouble that takes about as long as a lease, with more faults
 * right around it, because two troubles at once break a protocol. A fault of a
 * rare message waits for it: "the next kill is answered late" meets the kill
 * whenever it comes.
 */
#include "plan_dice.h"

#include "core/timing.h"

#define DAY_MS UINT64_C(86400000)
#define HOUR_MS UINT64_C(3600000)

/* ---- messages --------------------------------------------------------- */

static enum operation_kind
faults_operation(struct dice *d)
{
	const unsigned weights[OPERATION_SESSION_CLOSE + 1] = {
		[PLAN_ANY] = 12,
		[OPERATION_READ] = 8,
		[OPERATION_READ_MANY] = 5,
		[OPERATION_ACQUIRE] = 18,
		[OPERATION_MULTI] = (d->extras & DICE_MULTI) != 0 ? 6 : 0,
		[OPERATION_RELEASE] = 10,
		[OPERATION_EXTEND] = 5,
		[OPERATION_UPDATE] = (d->extras & DICE_KEEP) != 0 ? 8 : 0,
		[OPERATION_ADD_WAITER] = 5,
		[OPERATION_REMOVE_WAITER] = 4,
		[OPERATION_BREAK] =
		    (d->extras & (DICE_BREAK | DICE_CLOSED)) != 0 ? 2 : 0,
		[OPERATION_SCAN] = 1,
		[OPERATION_SESSION_OPEN] = 5,
		[OPERATION_SESSION_BEAT] = 22,
		[OPERATION_SESSION_READ] = 4,
		[OPERATION_SESSION_KILL] = 5,
		[OPERATION_SESSION_BURY] = 2,
		[OPERATION_SESSION_CLOSE] = 3,
	};

	return (enum operation_kind)dice_weighted(d, weights,
	    OPERATION_SESSION_CLOSE + 1);
}

static uint64_t
faults_late_ms(struct dice *d)
{
	const struct plan *p = d->plan;

	if (dice_percent(d, 35))
		return 1 + dice(d, p->ns.request_ms);
	if (dice_percent(d, 55))
		return dice_length(d);
	if (dice_percent(d, 70))
		return 1 + dice(d, 3 * p->ns.lease_ms);
	/* About as long as its signature is good. */
	return dice_near(d, 15 * 60000, 60000);
}

bool
dice_takes_time(const struct plan_step *s)
{
	return s->fault == MESSAGE_LATE || s->fault == MESSAGE_ANSWER_LATE ||
	    s->fault == MESSAGE_TWICE;
}

struct plan_step *
dice_message(struct dice *d, uint64_t at_ms, unsigned host,
    const enum operation_kind *kinds, size_t n_kinds,
    const unsigned weights[MESSAGE_FAULTS])
{
	struct plan_step *s = dice_fault(d, STEP_MESSAGE, at_ms, host);

	if (s == NULL)
		return NULL;
	s->operation = kinds[dice(d, n_kinds)];
	s->nth = 1 + (uint32_t)dice(d, 2);
	s->fault = (enum message_fault)dice_weighted(d, weights,
	    MESSAGE_FAULTS);
	return s;
}

/* NULL: too late. */
static struct plan_step *
faults_message(struct dice *d, uint64_t at_ms, unsigned host,
    enum operation_kind operation, uint32_t nth)
{
	static const unsigned weights[MESSAGE_FAULTS] = {
		[MESSAGE_LOST] = 16,
		[MESSAGE_ANSWER_LOST] = 22,
		[MESSAGE_LATE] = 18,
		[MESSAGE_ANSWER_LATE] = 8,
		[MESSAGE_TWICE] = 8,
		[MESSAGE_UNSENT] = 5,
		[MESSAGE_THROTTLED] = 6,
		[MESSAGE_FAILED] = 5,
		[MESSAGE_FAILED_AFTER] = 6,
		[MESSAGE_GARBLED] = 4,
		[MESSAGE_DENIED] = 1,
		[MESSAGE_UNPROCESSED] = 1,
	};
	struct plan_step *s = dice_fault(d, STEP_MESSAGE, at_ms, host);

	if (s == NULL)
		return NULL;
	s->operation = operation;
	s->nth = nth;
	s->fault = (enum message_fault)dice_weighted(d, weights,
	    MESSAGE_FAULTS);
	if (operation == OPERATION_READ_MANY && dice_percent(d, 50))
		s->fault = MESSAGE_UNPROCESSED;
	if (dice_takes_time(s))
		s->ms = faults_late_ms(d);
	if (s->fault == MESSAGE_UNPROCESSED)
		s->count = 1 + (uint32_t)dice(d, 3);
	return s;
}

/* About how many operations there will be: beats, locks, and polls. */
static unsigned
faults_estimate(const struct dice *d)
{
	const struct plan *p = d->plan;
	const struct core_namespace *t = &p->ns;
	uint64_t n = p->n_hosts * p->n_namespaces * (p->end_ms + 40000 +
	    2 * t->lease_ms + 2 * t->audit_ms) / t->heartbeat_ms;

	for (size_t i = 0; i < p->n_steps; i++) {
		uint64_t wait_ms = p->steps[i].wait_ms;

		if (p->steps[i].kind != STEP_LOCK)
			continue;
		if (wait_ms > t->lease_ms / 2)
			wait_ms = t->lease_ms / 2;
		n += 3 + 2 * wait_ms / t->poll_ms;
	}
	return (unsigned)n;
}

/* Everywhere, all the time. Many hit the same message, and none comes when it
 * is quiet, so that more than a tenth of messages have a fault. */
static void
faults_background(struct dice *d)
{
	unsigned n = faults_estimate(d) * 2 / 7;

	for (unsigned i = 0; i < n; i++) {
		uint64_t at_ms = dice(d, d->plan->quiet_ms);

		(void)faults_message(d, at_ms, dice_host(d),
		    dice_percent(d, 70) ? PLAN_ANY : faults_operation(d), 1);
	}
}

/* Several faults in a row, on one host. */
static void
faults_burst(struct dice *d, uint64_t at_ms, unsigned host)
{
	unsigned n = 2 + (unsigned)dice(d, 6);
	enum operation_kind operation = faults_operation(d);

	for (unsigned i = 0; i < n; i++) {
		if (dice_percent(d, 50))
			operation = faults_operation(d);
		(void)faults_message(d, dice_near(d, at_ms,
		    d->plan->ns.heartbeat_ms), host, operation,
		    1 + (uint32_t)dice(d, 3));
	}
}

/* Others find out that this host is gone: that, too, goes wrong. */
static void
faults_of_takeover(struct dice *d, uint64_t at_ms, unsigned host)
{
	static const unsigned weights[] = { 40, 40, 10, 10 };
	static const enum operation_kind kinds[] = { OPERATION_SESSION_KILL,
		OPERATION_ACQUIRE, OPERATION_SESSION_READ, OPERATION_READ };
	unsigned n = (unsigned)dice(d, 4);

	for (unsigned i = 0; i < n; i++)
		(void)faults_message(d, dice_near(d, at_ms, 100),
		    dice_other_host(d, host), kinds[dice_weighted(d, weights,
		    4)], 1 + (uint32_t)dice(d, 2));
}

/* The last messages before something happens to their host. */
static void
faults_of_end(struct dice *d, uint64_t at_ms, unsigned host)
{
	static const unsigned weights[] = { 50, 30, 20 };
	static const enum operation_kind kinds[] = { OPERATION_SESSION_BEAT,
		OPERATION_ACQUIRE, OPERATION_RELEASE };
	unsigned n = (unsigned)dice(d, 3);
	uint64_t before_ms = dice(d, d->plan->ns.heartbeat_ms + 1);

	for (unsigned i = 0; i < n; i++)
		(void)faults_message(d, at_ms > before_ms ?
		    at_ms - before_ms : 0, host,
		    kinds[dice_weighted(d, weights, 3)], 1);
}

/* ---- episodes --------------------------------------------------------- */

/* It is not there for a while. */
static void
faults_absence(struct dice *d, uint64_t at_ms, unsigned host,
    enum step_kind kind)
{
	const struct core_namespace *t = &d->plan->ns;
	uint64_t ms = dice_percent(d, 60) ? dice_length(d) :
	    timing_observe_ms(t->lease_ms, t->drift_ppm) +
	    dice(d, t->lease_ms);
	struct plan_step *s;

	faults_of_end(d, at_ms, host);
	s = dice_fault(d, kind, at_ms, host);
	if (s != NULL)
		s->ms = ms;
	faults_of_takeover(d, at_ms, host);
	if (dice_percent(d, 40))
		faults_burst(d, at_ms + ms, host);
}

static void
faults_pause(struct dice *d, uint64_t at_ms, unsigned host)
{
	/* A host whose boot time stood still is exempt from many rules. */
	static const unsigned weights[] = { 65, 33, 2 };
	static const enum step_kind kinds[] = { STEP_PAUSE, STEP_SUSPEND,
		STEP_FREEZE };

	faults_absence(d, at_ms, host, kinds[dice_weighted(d, weights, 3)]);
}

static void
faults_cut(struct dice *d, uint64_t at_ms, unsigned host)
{
	faults_absence(d, at_ms, host, dice_percent(d, 75) ? STEP_CUT :
	    STEP_DOWN);
}

/* The wall clock is somewhere else after a start, or at any time. */
static void
faults_wall(struct dice *d, uint64_t at_ms, unsigned host)
{
	static const int64_t days[] = { -3650, -365, -1, 1, 365, 3650 };
	struct plan_step *s = dice_fault(d, STEP_WALL, at_ms, host);

	if (s == NULL)
		return;
	s->shift_ms = dice_percent(d, 70) ?
	    days[dice(d, 6)] * (int64_t)DAY_MS :
	    (int64_t)dice(d, 2 * HOUR_MS) - (int64_t)HOUR_MS;
}

/* In the middle of a client's request, or of its release. */
static uint64_t
faults_amid(struct dice *d, uint64_t at_ms, unsigned *host)
{
	const struct plan *p = d->plan;
	const struct plan_step *s = &p->steps[dice(d, p->n_steps)];

	if (s->kind != STEP_LOCK)
		return at_ms;
	*host = s->host;
	at_ms = s->at_ms + dice(d, 2 * p->latency_max_ms + 3);
	if (s->hold_ms != PLAN_FOREVER && dice_percent(d, 50))
		at_ms += s->hold_ms;
	return at_ms;
}

static void
faults_death(struct dice *d, uint64_t at_ms, unsigned host)
{
	uint64_t ms = 1 + (dice_percent(d, 50) ? dice(d, 50) :
	    dice_length(d));

	if (dice_percent(d, 50))
		at_ms = faults_amid(d, at_ms, &host);
	faults_of_end(d, at_ms, host);
	(void)dice_fault(d, dice_percent(d, 70) ? STEP_KILL : STEP_CRASH,
	    at_ms, host);
	faults_of_takeover(d, at_ms, host);
	if (dice_percent(d, 30))
		faults_wall(d, at_ms + 1, host);
	if (dice_percent(d, 80))
		(void)dice_fault(d, STEP_BOOT, at_ms + ms, host);
	if (dice_percent(d, 30))
		(void)faults_message(d, at_ms + ms, host,
		    OPERATION_SESSION_OPEN, 1);
}

static void
faults_stop(struct dice *d, uint64_t at_ms, unsigned host)
{
	uint64_t ms = dice_length(d);

	faults_of_end(d, at_ms, host);
	(void)dice_fault(d, dice_percent(d, 50) ? STEP_STOP :
	    STEP_STOP_RELEASE, at_ms, host);
	if (dice_percent(d, 40))
		(void)faults_message(d, at_ms, host,
		    OPERATION_SESSION_CLOSE, 1);
	/* The process that stops it does not wait for ever. */
	(void)dice_fault(d, STEP_KILL, at_ms + ms, host);
	(void)dice_fault(d, STEP_BOOT, at_ms + ms + dice(d, 1000), host);
}

static void
faults_table(struct dice *d, uint64_t at_ms, unsigned host)
{
	struct plan_step *s = dice_fault(d, dice_percent(d, 65) ?
	    STEP_TABLE_CUT : STEP_TABLE_THROTTLE, at_ms, 0);

	if (s != NULL)
		s->ms = dice_length(d);
	faults_of_end(d, at_ms, host);
}

static void
faults_starve(struct dice *d, uint64_t at_ms, unsigned host)
{
	struct plan_step *s = dice_fault(d, STEP_STARVE, at_ms, host);

	if (s == NULL)
		return;
	s->nth = 1 + (uint32_t)dice(d, 20);
	s->count = dice_percent(d, 70) ? 1 : 1 + (uint32_t)dice(d, 20);
}

/*
 * When it happens, a client holds a lock and a client on another host waits for
 * it: the lock that must change hands is the critical case.
 */
static void
faults_stage(struct dice *d, uint64_t at_ms, unsigned host, unsigned key)
{
	uint64_t lease_ms = d->plan->ns.lease_ms;
	uint64_t before_ms = 1 + dice(d, lease_ms / 2);
	unsigned n = 1 + (unsigned)dice(d, 2);

	dice_lock(d, at_ms > before_ms ? at_ms - before_ms : 0, host, key,
	    lease_ms, lease_ms + dice(d, lease_ms));
	for (unsigned i = 0; i < n; i++)
		dice_lock(d, dice_near(d, at_ms, lease_ms / 4),
		    dice_other_host(d, host), key, 4 * lease_ms,
		    dice(d, lease_ms / 2));
}

/* ---- administrators --------------------------------------------------- */

/* A low one, that is not above what it is otherwise. */
static uint32_t
faults_limit(struct dice *d, uint32_t usual, uint32_t low)
{
	return 1 + (uint32_t)dice(d, usual < low ? usual : low);
}

/* Its settings are others for a while, or from then on. */
static void
faults_reload(struct dice *d)
{
	const struct core_namespace *t = &d->plan->ns;
	unsigned host = dice_host(d);
	uint64_t at_ms = dice(d, d->plan->quiet_ms);
	struct plan_step *s = dice_fault(d, STEP_RELOAD, at_ms, host);

	if (s == NULL)
		return;
	/* Not so short that looks drown all else that happens. */
	if (dice_percent(d, 60))
		s->poll_ms = dice_between(d, t->poll_ms / 2, t->poll_ms);
	if (dice_percent(d, 60))
		s->handover_max = 1 + (uint32_t)dice(d, t->handover_max);
	if (t->idle_ms > 0 && dice_percent(d, 60))
		s->idle_ms = 1 + dice(d, t->idle_ms);
	if (dice_percent(d, 40))
		s->audit_ms = dice_between(d, t->audit_ms / 2,
		    t->audit_ms);
	if (dice_percent(d, 20))
		s->locks_max = faults_limit(d, d->plan->limits.locks_max, 4);
	if (dice_percent(d, 20))
		s->holds_max = faults_limit(d,
		    d->plan->limits.holds_per_client_max, 2);
	if (dice_percent(d, 70))
		(void)dice_fault(d, STEP_RELOAD, at_ms + dice_length(d), host);
}

static void
faults_drain(struct dice *d)
{
	unsigned host = dice_host(d);
	uint64_t at_ms = dice(d, d->plan->quiet_ms);

	(void)dice_fault(d, STEP_WITHDRAW, at_ms, host);
	(void)dice_fault(d, STEP_UNDRAIN, at_ms + dice_length(d), host);
}

/* It dies, and its successor takes over: soon, or after a lease. */
static void
faults_restart(struct dice *d)
{
	struct plan_step *s = dice_fault(d, dice_percent(d, 50) ?
	    STEP_RESTART : STEP_TEAR, dice(d, d->plan->quiet_ms),
	    dice_host(d));

	if (s != NULL)
		s->ms = dice_percent(d, 70) ? 1 + dice(d, 3000) :
		    dice_length(d);
}

static void
faults_revive(struct dice *d)
{
	struct plan_step *s = dice_fault(d, STEP_REVIVE,
	    dice(d, d->plan->quiet_ms), dice_host(d));

	if (s != NULL)
		s->ms = 1 + dice(d, 3000);
}

void
dice_orders(struct dice *d)
{
	/* Who orders it is no business of the rest: by dice of its own, so that
	 * a seed's other steps do not change. */
	dice_begin(d, (uint64_t[4]){ d->plan->seed, 6, 6, 6 });
	for (unsigned n = (unsigned)dice(d, 3); n > 0; n--)
		faults_reload(d);
	if (dice_percent(d, 35))
		faults_drain(d);
	for (unsigned n = (unsigned)dice(d, 4); n > 0; n--)
		faults_restart(d);
	if (dice_percent(d, 10))
		faults_revive(d);
}

typedef void episode_fn(struct dice *, uint64_t at_ms, unsigned host);

static void
faults_episodes(struct dice *d)
{
	static episode_fn *const episodes[] = { faults_burst, faults_pause,
		faults_cut, faults_death, faults_stop, faults_table,
		faults_starve, faults_wall };
	unsigned weights[] = { 10, 10, 10, 10, 2, 4, 3, 3 };
	unsigned n = 4 + (unsigned)dice(d, 5);
	unsigned host = dice_host(d);

	/* Each history has a trouble of its own. */
	weights[dice(d, 8)] += 20;
	for (unsigned i = 0; i < n; i++) {
		uint64_t at_ms = dice(d, d->plan->quiet_ms);

		if (dice_percent(d, 60))
			host = dice_host(d);
		if (dice_percent(d, 60))
			faults_stage(d, at_ms, host,
			    (unsigned)dice(d, d->n_keys));
		episodes[dice_weighted(d, weights, 8)](d, at_ms, host);
	}
}

/* ---- the table, by hand and by age ------------------------------------ */

/* Others find a holder without a session that lives: that, too, goes wrong. */
static void
faults_burial(struct dice *d, uint64_t at_ms, unsigned host, unsigned key)
{
	struct plan_step *s;

	faults_stage(d, at_ms, host, key);
	for (unsigned i = 0; i < d->plan->n_hosts; i++) {
		if (i == host || dice_percent(d, 30))
			continue;
		s = faults_message(d, at_ms, i, OPERATION_SESSION_BURY, 1);
		if (s == NULL || dice_percent(d, 70))
			continue;
		s->fault = MESSAGE_DENIED;
		s->ms = s->count = 0;
	}
}

static void
faults_hand(struct dice *d)
{
	static const unsigned weights[] = { 2, 3, 2, 2, 2, 3, 2 };
	static const enum step_kind kinds[] = { STEP_HAND_DELETE,
		STEP_HAND_BREAK, STEP_HAND_GARBLE, STEP_HAND_END_SESSION,
		STEP_HAND_DELETE_SESSION, STEP_HAND_WAITER_MARK,
		    STEP_HAND_SPEND };
	enum step_kind kind = kinds[dice_weighted(d, weights, 7)];
	uint64_t at_ms = dice_between(d, d->plan->ns.lease_ms / 2,
	    d->plan->quiet_ms - 1);
	struct plan_step *s = dice_fault(d, kind, at_ms, 0);
	struct plan_step how;
	unsigned key = (unsigned)dice(d, d->n_keys);

	if (s == NULL)
		return;
	if (d->plan->n_namespaces > 1)
		s->namespace_index = key % 2;
	if (kind == STEP_HAND_END_SESSION ||
	    kind == STEP_HAND_DELETE_SESSION) {
		s->host = dice_host(d);
		faults_burial(d, at_ms, s->host, key);
		return;
	}
	dice_key(d, key, s->key);
	if (kind != STEP_HAND_GARBLE && kind != STEP_HAND_SPEND)
		return;
	how = *s;
	at_ms += 1 + dice(d, 2 * d->plan->ns.lease_ms);
	if (at_ms >= d->plan->quiet_ms)
		at_ms = d->plan->quiet_ms - 1;
	s = plan_add(d->plan, STEP_HAND_REPAIR, at_ms);
	*s = how;
	s->kind = STEP_HAND_REPAIR;
	s->at_ms = at_ms;
}

/* An administrator breaks a lock, mostly a lock that changes hands just then,
 * and sometimes two do. */
static void
faults_break(struct dice *d)
{
	uint64_t at_ms = dice_between(d, d->plan->ns.lease_ms / 2,
	    d->plan->quiet_ms - 1);
	unsigned n = 1 + (unsigned)dice(d, 3);
	unsigned key = (unsigned)dice(d, d->n_keys);

	if (dice_percent(d, 70))
		faults_stage(d, at_ms, dice_host(d), key);
	for (unsigned i = 0; i < n; i++) {
		struct plan_step *s = dice_fault(d, STEP_BREAK,
		    dice_near(d, at_ms, 1000), dice_host(d));

		if (s == NULL)
			continue;
		s->client = ++d->n_clients;
		if (d->plan->n_namespaces > 1)
			s->namespace_index = key % 2;
		dice_key(d, key, s->key);
	}
}

/* Several times, so that keys of multi-lock holds and requests are among
 * them. */
static void
faults_breaks(struct dice *d)
{
	for (unsigned n = (unsigned)dice(d, 4); n > 0; n--)
		faults_break(d);
}

/*
 * TTL, in histories that last for hours. It removes items that were not written
 * for twenty minutes at least, longer than any request is valid: free locks, up
 * to an hour after their age or a little before; or, where those stay longer,
 * sessions of dead daemons.
 */
static void
faults_ttl(struct dice *d)
{
	bool locks = d->plan->retention_s == 3600;
	unsigned n = 1 + (unsigned)dice(d, 4);
	struct plan_step *s;

	for (unsigned i = 0; d->hours && i < n; i++) {
		uint64_t at_ms = dice_between(d, HOUR_MS / 2,
		    d->plan->quiet_ms - 1);

		s = dice_fault(d, STEP_TABLE_EXPIRE, at_ms, 0);
		if (s != NULL && locks)
			s->shift_ms = (int64_t)dice(d, HOUR_MS) -
			    20 * 60000;
		else if (s != NULL)
			s->shift_ms = (int64_t)(48 * HOUR_MS - HOUR_MS / 3 -
			    dice(d, HOUR_MS / 2));
	}
}

void
dice_faults(struct dice *d)
{
	faults_background(d);
	faults_episodes(d);
	if (dice_percent(d, 16))
		faults_hand(d);
	if (dice_has_all(d))
		faults_breaks(d);
	else if ((d->extras & DICE_BREAK) != 0 && dice_percent(d, 12))
		faults_break(d);
	faults_ttl(d);
}

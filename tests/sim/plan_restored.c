/*
 * Random plans in which the table is restored from a backup, or an
 * administrator raises tokens, as "ddblock raise-tokens" does. Both meet all
 * other faults; and the keys concerned are asked for before and after, because
 * it is the same daemon that must remember.
 */
#include "plan_dice.h"

#include <stdio.h>
#include <string.h>

#define RESTORED_ONE_OF 12	/* is restored; and in one tokens are raised */

static struct plan_step *
restored_raise(struct dice *d, uint64_t at_ms, unsigned key)
{
	struct plan_step *s = dice_fault(d, STEP_RAISE, at_ms, dice_host(d));

	if (s == NULL)
		return NULL;
	s->client = ++d->n_clients;
	dice_key(d, key, s->key);
	if (d->plan->n_namespaces > 1 && !d->plan->bridge)
		s->namespace_index = key % 2;
	return s;
}

/* Of some keys, in any order; what is asked may be lost, or late. */
static void
restored_raises(struct dice *d, uint64_t at_ms, uint64_t within_ms)
{
	static const enum operation_kind kinds[] = { OPERATION_RAISE };
	static const unsigned weights[MESSAGE_FAULTS] = {
		[MESSAGE_LOST] = 10, [MESSAGE_ANSWER_LOST] = 25,
		[MESSAGE_LATE] = 25, [MESSAGE_TWICE] = 15,
		[MESSAGE_FAILED_AFTER] = 10, [MESSAGE_DENIED] = 5,
	};
	struct plan_step *s, *m;

	for (unsigned key = 0; key < d->n_keys; key++) {
		if (dice_percent(d, 40))
			continue;
		s = restored_raise(d, at_ms + dice(d, within_ms + 1), key);
		if (s == NULL || dice_percent(d, 60))
			continue;
		m = dice_message(d, s->at_ms, s->host, kinds, 1, weights);
		if (m != NULL && dice_takes_time(m))
			m->ms = dice_length(d);
	}
}

/* A client of a host that may have given tokens since the backup, and others
 * that want the lock when they are given again. */
static void
restored_contend(struct dice *d, uint64_t backup_ms, uint64_t at_ms)
{
	uint64_t lease_ms = d->plan->ns.lease_ms;
	unsigned key = (unsigned)dice(d, d->n_keys);
	unsigned host = dice_host(d);

	dice_lock(d, backup_ms + dice(d, at_ms - backup_ms + 1), host, key,
	    lease_ms, dice_percent(d, 60) ? dice(d, lease_ms / 8) :
	    dice(d, 2 * lease_ms));
	for (unsigned n = 1 + (unsigned)dice(d, 3); n > 0; n--)
		dice_lock(d, at_ms + dice(d, lease_ms), dice_percent(d, 50) ?
		    host : dice_host(d), key, 2 * lease_ms,
		    dice(d, lease_ms / 2));
}

/* As the manual says: nobody is granted anything meanwhile. */
static void
restored_drained(struct dice *d, uint64_t at_ms, uint64_t within_ms)
{
	for (unsigned host = 0; host < d->plan->n_hosts; host++) {
		(void)dice_fault(d, STEP_WITHDRAW, at_ms > within_ms ?
		    at_ms - within_ms : 0, host);
		(void)dice_fault(d, STEP_UNDRAIN, at_ms + 2 * within_ms, host);
	}
}

static void
restored_episode(struct dice *d)
{
	const struct plan *p = d->plan;
	uint64_t lease_ms = p->ns.lease_ms;
	uint64_t backup_ms = dice(d, p->quiet_ms * 3 / 4);
	uint64_t at_ms = backup_ms + 1 + (dice_percent(d, 50) ?
	    dice_length(d) : dice(d, p->quiet_ms / 4));
	uint64_t within_ms = 1 + dice(d, lease_ms / 2);

	/* Without a backup it begins empty. */
	if (dice_percent(d, 85))
		(void)dice_fault(d, STEP_HAND_BACKUP, backup_ms, 0);
	(void)dice_fault(d, STEP_HAND_RESTORE, at_ms, 0);
	for (unsigned n = 1 + (unsigned)dice(d, 2); n > 0; n--)
		restored_contend(d, backup_ms, at_ms);
	if (dice_percent(d, 25))
		restored_drained(d, at_ms, within_ms);
	if (dice_percent(d, 60))
		restored_raises(d, dice_percent(d, 80) ? at_ms :
		    at_ms > within_ms ? at_ms - within_ms : 0, within_ms);
}

/* A machine that is there twice, and its session as it was before that, are too
 * much for any daemon (safety.md, "Why the first beat has an upper bound"). */
static bool
restored_may_be(const struct plan *p)
{
	for (size_t i = 0; i < p->n_steps; i++)
		if (p->steps[i].kind == STEP_REVIVE)
			return false;
	return true;
}

void
dice_restored(struct dice *d)
{
	dice_begin(d, (uint64_t[4]){ d->plan->seed, 8, 6, 7 });
	switch (dice(d, RESTORED_ONE_OF)) {
	case 0:
		if (!restored_may_be(d->plan))
			return;
		for (unsigned n = 1 + (unsigned)dice(d, 2); n > 0; n--)
			restored_episode(d);
		return;
	case 1:
		restored_raises(d, dice(d, d->plan->quiet_ms),
		    d->plan->quiet_ms / 2);
		return;
	default:
		return;
	}
}

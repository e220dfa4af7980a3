/*
 * What leases have in common, a session's and a record's: when they are to be
 * renewed, when their holders are warned, and when they end.
 *
 *  1. A lease counts from the send of the renewal whose effect the answer
 *     shows, never from an answer (timing.h).
 *  2. A VALID lease is not over: its end is found by the timer, before any
 *     event of the same moment is looked at.
 *  3. LOST is final.
 */
#include "core/lease/room.h"

#include <assert.h>
#include <stdio.h>

#include "ddblock.h"

uint64_t
lease_until_ms(const struct lease *l)
{
	const struct core_namespace *t = &l->ns->settings;

	return l->sent_ms + t->lease_ms - t->margin_ms;
}

bool
lease_is_good(const struct core *core, const struct lease *l)
{
	return l != NULL && core->now_ms < l->good_until_ms;
}

bool
lease_takes_grants(const struct lease *l)
{
	return !l->retiring && !l->unproven;
}

/* It is in this state now, and counts from what was sent then. */
void
lease_enter(struct lease *l, enum lease_state state, uint64_t sent_ms)
{
	l->state = state;
	l->sent_ms = sent_ms;
	l->good_until_ms = state == LEASE_VALID ? lease_until_ms(l) : 0;
}

bool
lease_is_of_record(const struct lease *l)
{
	return l->kind == &record_lease_kind;
}

void
lease_warn(struct lease *l)
{
	l->warned = true;
}

/* When it is to be looked at next. */
void
lease_schedule(struct core *core, struct lease *l)
{
	uint64_t at_ms;

	switch (l->state) {
	case LEASE_OPENING:
		return;
	case LEASE_VALID:
		at_ms = lease_until_ms(l);
		if (!l->danger &&
		    l->sent_ms + l->ns->settings.danger_ms < at_ms)
			at_ms = l->sent_ms + l->ns->settings.danger_ms;
		if (!l->busy && !l->due && l->beat_at_ms < at_ms)
			at_ms = l->beat_at_ms;
		break;
	case LEASE_LOST:
	case LEASE_CLOSING:
		if (l->busy || l->close_at_ms == CORE_FOREVER)
			return;
		at_ms = l->close_at_ms;
		break;
	default:
		assert(false);
		return;
	}
	heap_set(&core->heap, &l->timer, at_ms);
}

void
lease_timer(struct core *core, struct timer *timer)
{
	struct lease *l = CONTAINER_OF(timer, struct lease, timer);
	const struct core_namespace *t = &l->ns->settings;

	if (l->state == LEASE_VALID) {
		if (core->now_ms >= lease_until_ms(l)) {
			l->kind->expire(core, l);
			return;
		}
		if (!l->danger && core->now_ms >= l->sent_ms + t->danger_ms)
			lease_say(core, l, CORE_IN_DANGER);
		if (!l->busy && !l->due && core->now_ms >= l->beat_at_ms)
			l->kind->renew(core, l);
	} else if (!l->busy && core->now_ms >= l->close_at_ms) {
		l->kind->close(core, l);
	}
	lease_schedule(core, l);
}

/* ---- renewing --------------------------------------------------------- */

void
lease_renew(struct core *core, struct lease *l)
{
	/* A record may be in the middle of something: its timer does it. */
	if (lease_is_of_record(l))
		l->beat_at_ms = core->now_ms;
	else if (!l->busy)
		l->kind->renew(core, l);
	lease_schedule(core, l);
}

void
lease_renew_record(struct core *core, struct lease *l)
{
	if (lease_is_of_record(l) && !l->busy && !l->due)
		lease_renew(core, l);
}

/* It was not renewed: the client that asked for it is told, and it is tried
 * again. */
void
lease_trouble(struct core *core, struct lease *l, const struct outcome *o)
{
	uint64_t retry_ms = l->ns->settings.heartbeat_ms / 4;
	int code = outcome_code(o);

	if (!o->from_memory) {
		l->cause = code;
		(void)snprintf(l->text, sizeof(l->text), "%s", o->text);
	}
	core->lease_events->answer(core, l, code);
	l->beat_at_ms = core->now_ms +
	    random_jitter(&core->random, retry_ms < 1 ? 1 : retry_ms);
}

/* ---- telling its holders ---------------------------------------------- */

/* Each hold is told its deadline, and whether there is reason to worry. */
void
lease_say(struct core *core, struct lease *l, enum core_notice_kind kind)
{
	l->danger = kind == CORE_IN_DANGER;
	l->was_danger = l->was_danger || l->danger;
	if (!lease_is_of_record(l))
		saved_touch(core, &l->saved, SAVED_SESSION);
	if (l == l->ns->session)
		core->lease_events->outage(core, l->ns, l->danger);
	core->lease_events->tell(core, l, kind);
}

/* The same for holds that are warned at a time of their own. */
void
lease_say_own(struct core *core, struct lease *l, bool all)
{
	l->warned = false;
	core->lease_events->renewed(core, l, all);
}

/* Each hold by itself is told how long it is good now. */
void
lease_say_each(struct core *core, struct lease *l, bool danger)
{
	if (l->danger && !danger)
		lease_say(core, l, CORE_SAFE);
	else
		core->lease_events->tell(core, l,
		    danger ? CORE_IN_DANGER : CORE_PROLONGED);
	lease_say_own(core, l, true);
}

/* ---- the end ---------------------------------------------------------- */

void
lease_unused(struct core *core, struct lease *l)
{
	l->kind->unused(core, l);
}

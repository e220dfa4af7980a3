/*
 * Telling clients what became of their holds: danger, safety, loss. One notice
 * a step and hold: a loss that follows a danger within the same step (the host
 * was asleep) takes its place.
 */
#include "core/client/room.h"

#include "ddblock.h"

/* Why it is in danger. */
static int
notice_cause(const struct hold *h)
{
	const struct grant *g = h->use.grant;
	const struct lease *lease = g == NULL ? NULL : g->lease;
	int cause = lease != NULL && lease->cause != 0 ? lease->cause :
	    h->use.lock->ns->cause;

	if (h->terms != NULL && h->terms->manual)
		return DDBLOCK_E_NOT_RENEWED;
	return cause != 0 ? cause : DDBLOCK_E_UNREACHABLE;
}

/* Tell the client of @hold. */
void
notice_send(struct core *core, struct hold *hold,
    enum core_notice_kind kind)
{
	struct core_notice *n;
	uint64_t until_ms;

	/* Of several, one speaks for all, and none before all are held. */
	if (multi_is_kept(hold))
		return;
	if ((hold->client->gone && !process_has(hold)) || hold->let_go)
		return;
	/* It is told with the answer how each of them is. */
	if (hold->client->resume != NULL)
		return;
	if (kind != CORE_LOST && kind != CORE_UNTOLD &&
	    hold_multi(hold) != NULL &&
	    multi_is_endangered(core, hold_multi(hold)))
		kind = CORE_IN_DANGER;
	hold = multi_speaker(hold);
	n = &hold->notice;
	until_ms = hold->use.grant == NULL ? core->now_ms :
	    terms_until_ms(hold);
	n->kind = kind;
	n->until_ms = until_ms;
	n->remaining_ms = until_ms > core->now_ms ?
	    (uint32_t)(until_ms - core->now_ms) : 0;
	n->cause = (int16_t)notice_cause(hold);
	if (action_is_due(&n->action))
		return;
	action_add(core, &n->action, CORE_NOTICE);
	if (kind == CORE_IN_DANGER)
		figures_endangered(hold->use.lock->ns,
		    lock_key(hold->use.lock));
}

/* It has another client now, which must not get the events of the old one. */
void
notice_withdraw(struct core *core, struct hold *hold)
{
	if (action_is_due(&hold->notice.action))
		action_remove(core, &hold->notice.action);
}

/* Holds that are warned with their lease, and not at a time of their own. */
static void
notice_common(struct core *core, struct grant *g, enum core_notice_kind kind)
{
	struct use *u;

	DL_FOREACH(g->uses, u)
	{
		if (terms_are_common(hold_of(u)))
			notice_send(core, hold_of(u), kind);
	}
}

void
notice_lease(struct core *core, struct lease *lease,
    enum core_notice_kind kind)
{
	struct grant *g;

	DL_FOREACH2(lease->grants, g, lease_next)
	{
		notice_common(core, g, kind);
	}
}

/* All that are fail-closed hear of danger, and of its end, once. */
void
notice_outage(struct core *core, struct namespace *ns, bool danger)
{
	const struct grant *g;
	struct use *u;

	if (ns->closed_danger == danger)
		return;
	ns->closed_danger = danger;
	DL_FOREACH2(ns->closed, g, lease_next)
	{
		DL_FOREACH(g->uses, u)
		{
			notice_send(core, hold_of(u),
			    danger ? CORE_IN_DANGER : CORE_SAFE);
		}
	}
}

/*
 * Putting together what a step asks its caller to do. No action needs memory
 * of its own: each lives in the object that it is about.
 */
#include "core/internal.h"

#include <assert.h>
#include <stdlib.h>

#include "ddblock.h"

void
action_add(struct core *core, struct core_action *action,
    enum core_action_type type)
{
	action->type = type;
	action->next = NULL;
	*core->actions_end = action;
	core->actions_end = &action->next;
}

/*
 * Tell the client of @hold. One notice a step: a loss that follows a danger
 * within the same step (the host was asleep) takes its place.
 */
void
action_notice(struct core *core, struct hold *hold,
    enum core_notice_kind kind)
{
	struct core_notice *n;
	const struct session *s;
	uint64_t until_ms;
	int cause;

	/* Of several, one speaks for all, and none before all are held. */
	if (joint_is_kept(hold))
		return;
	if (hold->client->gone && !process_has(hold))
		return;
	if (kind != CORE_LOST && kind != CORE_UNTOLD &&
	    hold_joint(hold) != NULL &&
	    joint_is_endangered(core, hold_joint(hold)))
		kind = CORE_IN_DANGER;
	hold = joint_speaker(hold);
	n = &hold->notice;
	s = hold->grant == NULL ? NULL : hold->grant->session;
	until_ms = hold->grant == NULL ? core->now_ms : terms_until_ms(hold);
	n->kind = kind;
	n->until_ms = until_ms;
	n->remaining_ms = until_ms > core->now_ms ?
	    (uint32_t)(until_ms - core->now_ms) : 0;
	cause = s != NULL && s->cause != 0 ? s->cause : hold->lock->ns->cause;
	if (hold->terms != NULL && hold->terms->manual)
		cause = DDBLOCK_E_NOT_RENEWED;
	n->cause = (int16_t)(cause != 0 ? cause : DDBLOCK_E_UNREACHABLE);
	if (hold->told)
		return;
	hold->told = true;
	action_add(core, &n->action, CORE_NOTICE);
}

/* Its client is another now, who is not to hear what that one should have. */
void
action_withdraw(struct core *core, struct hold *hold)
{
	struct core_action **link = &core->actions;

	if (!hold->told)
		return;
	while (*link != &hold->notice.action)
		link = &(*link)->next;
	*link = hold->notice.action.next;
	if (*link == NULL)
		core->actions_end = link;
	hold->told = false;
}

void
action_fill(struct core *core, struct operation *o, struct namespace *ns,
    enum operation_kind kind, uint64_t deadline_ms)
{
	assert(deadline_ms > core->now_ms);
	o->kind = kind;
	o->namespace_index = ns->index;
	o->submitted_ms = core->now_ms;
	o->deadline_ms = deadline_ms;
	if (kind != OPERATION_ACQUIRE && kind != OPERATION_BREAK &&
	    o->owner == NULL)
		o->owner = core->host;
}

void
action_submit(struct core *core, struct core_submit *submit,
    struct namespace *ns, enum operation_kind kind, uint64_t deadline_ms,
    enum core_about about, void *owner)
{
	action_fill(core, &submit->operation, ns, kind, deadline_ms);
	submit->about = about;
	submit->owner = owner;
	action_add(core, &submit->action, CORE_SUBMIT);
}

/* The caller is done with the last step's actions. */
void
action_forget(struct core *core)
{
	struct core_action *a = core->actions;

	while (a != NULL) {
		struct core_action *next = a->next;

		if (a->type == CORE_NOTICE)
			((struct hold *)a)->told = false;
		a->next = NULL;
		a = next;
	}
	core->actions = NULL;
	core->actions_end = &core->actions;

	while (core->dead_requests != NULL) {
		struct request *r = core->dead_requests;

		core->dead_requests = r->client_next;
		request_free(core, r);
	}
	while (core->dead_joints != NULL) {
		struct joint *j = core->dead_joints;

		core->dead_joints = j->next_due;
		joint_free(core, j);
	}
	while (core->dead_holds != NULL) {
		struct hold *h = core->dead_holds;

		core->dead_holds = h->client_next;
		hold_free(core, h);
	}
}

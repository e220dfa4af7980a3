/*
 * The actions of a step, in a list, and the operations among them.
 */
#include "core/action.h"

#include <assert.h>

void
action_add(struct core *core, struct core_action *action,
    enum core_action_type type)
{
	action->type = type;
	action->next = NULL;
	*core->actions_end = action;
	core->actions_end = &action->next;
}

/* It is in the list. */
void
action_remove(struct core *core, struct core_action *action)
{
	struct core_action **link = &core->actions;

	while (*link != action)
		link = &(*link)->next;
	*link = action->next;
	if (*link == NULL)
		core->actions_end = link;
	action->type = CORE_NO_ACTION;
}

void
action_forget_all(struct core *core)
{
	struct core_action *a = core->actions, *next;

	for (; a != NULL; a = next) {
		next = a->next;
		*a = (struct core_action){ CORE_NO_ACTION, NULL };
	}
	core->actions = NULL;
	core->actions_end = &core->actions;
}

bool
action_is_due(const struct core_action *action)
{
	return action->type != CORE_NO_ACTION;
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

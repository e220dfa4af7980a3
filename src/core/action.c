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
	core->n_hints = 0;
}

bool
action_is_due(const struct core_action *action)
{
	return action->type != CORE_NO_ACTION;
}

/* Without room for it there is none. */
void
action_hint(struct core *core, const struct namespace *ns,
    struct ident session, enum core_hint_kind kind, uint64_t digest)
{
	struct core_hint *h = &core->hints[core->n_hints];

	if (core->n_hints == HINTS_PER_STEP)
		return;
	core->n_hints++;
	h->namespace_index = ns->index;
	h->session = session;
	h->kind = kind;
	h->digest = digest;
	action_add(core, &h->action, CORE_HINT);
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

/*
 * Local programs that list locks, page after page, each at its own pace.
 */
#include "world_state.h"

#include <string.h>

static void
pages_on_page(struct world *w, struct alarm *a)
{
	struct customer *c = (struct customer *)((char *)a -
	    offsetof(struct customer, page));
	struct core_event ev = { .type = CORE_CONTINUE,
		.more = { .client = c->id, .request = c->page_request } };

	if (c->host->asleep)
		world_set(w, a, c->host->paused_until);
	else
		host_say(c->host, &ev, "", "");
}

void
pages_init(struct customer *c)
{
	world_add_alarm(c->world, &c->page, pages_on_page);
}

void
pages_ask(struct world *w, const struct plan_step *s)
{
	struct customer *c = customer_at(w, s);
	struct core_request q = { .verb = CORE_LIST,
		.held_only = s->kind == STEP_LIST_HELD,
		.namespace_index = s->namespace_index };

	if (c == NULL)
		return;
	c->page_ms = s->page_ms > 0 ? s->page_ms : 1;
	(void)customer_request(c, &q, s->key);
}

void
pages_turn(struct customer *c, uint64_t request)
{
	c->page_request = request;
	if (c->page_ms != PLAN_FOREVER)
		world_set(c->world, &c->page, c->world->now + c->page_ms);
}

bool
pages_cancel(struct customer *c, const struct plan_step *s)
{
	struct core_request q = { .verb = CORE_CANCEL,
		.namespace_index = s->namespace_index };

	for (const struct asked *a = c->asked; a != NULL; a = a->next)
		if (a->verb == CORE_LIST && strcmp(a->key, s->key) == 0)
			q.target = a->id;
	if (q.target == 0)
		return false;
	(void)customer_request(c, &q, s->key);
	return true;
}

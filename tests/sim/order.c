/*
 * What an administrator orders of a host's daemon: to stop, to grant nothing
 * more, to read its configuration again.
 */
#include "world_state.h"

#include "ddblock.h"

/* The judge has to know. */
void
order_tell(struct host *h, enum core_event_type type)
{
	struct fact f = { .host = h->index };

	if (type == CORE_STOP_RELEASE)
		f.kind = FACT_RELEASES;
	else if (type == CORE_DRAIN)
		f.kind = FACT_WITHDRAWN;
	else if (type == CORE_UNDRAIN)
		f.kind = FACT_RETURNED;
	else
		return;
	world_tell(h->world, &f);
}

/* While it is paused the order waits. */
static void
order_give(struct host *h, struct core_event *ev)
{
	if (host_is_paused(h))
		host_say(h, ev, "", "");
	else if (ev->type == CORE_CONFIGURE)
		(void)order_configure(h, ev);
	else
		(void)host_step(h, ev);
}

void
host_stop(struct host *h, bool release)
{
	struct core_event ev = { .type = release ? CORE_STOP_RELEASE :
		CORE_STOP };

	if (h->core == NULL)
		return;
	h->stopping = true;
	order_give(h, &ev);
}

void
host_drain(struct host *h, bool drain)
{
	struct core_event ev = { .type = drain ? CORE_DRAIN : CORE_UNDRAIN,
		.namespaces = UINT64_MAX };

	if (h->core != NULL && !h->stopping)
		order_give(h, &ev);
}

static void
order_change(struct core_namespace *n, const struct plan_step *s)
{
	if (s->poll_ms > 0)
		n->poll_ms = s->poll_ms;
	if (s->handover_max > 0)
		n->handover_max = s->handover_max;
	if (s->idle_ms > 0)
		n->idle_ms = s->idle_ms;
	if (s->audit_ms > 0)
		n->audit_ms = s->audit_ms;
}

/* As it was when it started, but for what the order says, if there was one. */
void
order_config(struct host *h,
    struct core_namespace namespaces[PLAN_NAMESPACES_MAX],
    struct core_config *ret)
{
	const struct plan *p = h->world->plan;
	const struct plan_step *s = h->reload;

	bridge_configure(h, namespaces);
	*ret = (struct core_config){
		.namespaces = namespaces,
		.n_namespaces = p->n_namespaces,
		.limits = p->limits,
		.host = h->name,
	};
	if (s == NULL)
		return;
	for (uint32_t i = 0; i < p->n_namespaces; i++)
		order_change(&namespaces[i], s);
	if (s->locks_max > 0)
		ret->limits.locks_max = s->locks_max;
	if (s->holds_max > 0)
		ret->limits.holds_per_client_max = s->holds_max;
}

/* Without memory everything is as it was. */
int
order_configure(struct host *h, struct core_event *ev)
{
	struct core_namespace namespaces[PLAN_NAMESPACES_MAX];
	struct core_config config;
	struct fact f = { .kind = FACT_LIMITED, .host = h->index,
		.holds_max = h->reload->holds_max };
	int r;

	order_config(h, namespaces, &config);
	ev->config = &config;
	r = host_step(h, ev);
	if (r == 0)
		world_tell(h->world, &f);
	else if (r != DDBLOCK_E_NOMEM && !h->stopping)
		world_find(h->world, "6", "%s refuses its settings", h->name);
	return 0;
}

void
host_reload(struct host *h, const struct plan_step *s)
{
	struct core_event ev = { .type = CORE_CONFIGURE };

	if (h->core == NULL || h->stopping)
		return;
	h->reload = s;
	order_give(h, &ev);
}

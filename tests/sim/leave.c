/*
 * How the connections of local programs end: by themselves, or by their daemon,
 * which then does not know what they do.
 */
#include "world_state.h"

static void
customer_part(struct customer *c, enum core_loss loss)
{
	struct world *w = c->world;
	struct host *h = c->host;
	struct fact f = { .kind = FACT_LEFT, .host = h->index,
		.client = c->id, .loss = loss };

	for (const struct errand *e = c->errands; e != NULL; e = e->next)
		if (e->state == ERRAND_HOLDS && !w->is_end)
			coverage_left(&w->history, e->step, loss != 0);
	world_trace(w, WORLD_TRACE_ASK, h->name, "c%u is %s", c->number,
	    loss == 0 ? "gone" : "cut off");
	world_tell(w, &f);
	survivor_begin_all(c);
	customer_forget(c);
}

static void
customer_end(struct customer *c, struct core_event ev, enum core_loss loss)
{
	struct host *h = c->host;

	ev.client = c->id;
	customer_part(c, loss);
	host_say(h, &ev, "", "");
}

/* Its daemon is dead, and its connection is not kept. A process that it asked
 * to acquire or to release something for does not work. */
void
customer_lose_daemon(struct customer *c)
{
	struct world *w = c->world;
	uint64_t id = c->id;
	bool asks = false;

	for (const struct asked *a = c->asked; a != NULL; a = a->next)
		asks = asks || a->verb == CORE_RELEASE ||
		    a->verb == CORE_ACQUIRE;
	customer_part(c, CORE_LOSS_CUT_OFF);
	if (asks)
		survivor_end_of(w, id);
}

void
customer_close(struct customer *c)
{
	customer_end(c, (struct core_event){ .type = CORE_GONE }, 0);
}

/* A stopped daemon does not do this, either. */
void
customer_cut_off(struct customer *c)
{
	if (host_is_paused(c->host))
		return;
	c->world->history.steps_hit[STEP_CUT_OFF] = true;
	customer_end(c, (struct core_event){ .type = CORE_CUT },
	    CORE_LOSS_CUT_OFF);
}

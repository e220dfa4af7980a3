/*
 * How the connections of local programs end: by themselves, or by their daemon,
 * which knows nothing then of what they do.
 */
#include "world_state.h"

static void
customer_end(struct customer *c, struct core_event ev, enum core_loss loss)
{
	struct world *w = c->world;
	struct host *h = c->host;
	struct fact f = { .kind = FACT_LEFT, .host = h->index,
		.client = c->id, .loss = loss };

	ev.client = c->id;
	for (const struct errand *e = c->errands; e != NULL; e = e->next)
		if (e->state == ERRAND_HOLDS && !w->is_end)
			coverage_left(&w->history, e->step);
	world_trace(w, WORLD_TRACE_ASK, h->name, "c%u is %s", c->number,
	    loss == 0 ? "gone" : "cut off");
	world_tell(w, &f);
	survivor_begin_all(c);
	customer_forget(c);
	host_say(h, &ev, "", "");
}

void
customer_close(struct customer *c)
{
	customer_end(c, (struct core_event){ .type = CORE_GONE }, 0);
}

/* A daemon that stands still does nothing, and this neither. */
void
customer_cut_off(struct customer *c)
{
	if (host_is_paused(c->host))
		return;
	c->world->history.steps_hit[STEP_CUT_OFF] = true;
	customer_end(c, (struct core_event){ .type = CORE_CUT },
	    CORE_LOSS_CUT_OFF);
}

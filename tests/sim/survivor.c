/*
 * Processes that outlive the client that asked for a lock for them. They work
 * on under it, hear of its loss, and end some time later, which their daemon
 * sees.
 */
#include "world_state.h"

#include <stdlib.h>

struct survivor {
	struct alarm alarm;	/* first: its end */
	struct survivor *next;
	struct host *host;
	uint64_t client;
	uint64_t process;
	unsigned number;
	bool lost;		/* it was told so */
	uint64_t ms;		/* that it lives after its client */
};

static void
survivor_free(struct world *w, struct survivor *s)
{
	struct survivor **link = &w->survivors;

	while (*link != s)
		link = &(*link)->next;
	*link = s->next;
	world_remove_alarm(w, &s->alarm);
	free(s);
}

static void
survivor_on_end(struct world *w, struct alarm *a)
{
	struct survivor *s = (struct survivor *)(void *)a;
	struct host *h = s->host;
	struct core_event ev = { .type = CORE_ENDED,
		.ended = { .client = s->client, .process = s->process } };
	const struct fact f = { .kind = FACT_OUTLIVED, .host = h->index,
		.client = s->client, .process = s->process };

	if (h->asleep) {
		world_set(w, a, h->paused_until);
		return;
	}
	world_trace(w, WORLD_TRACE_ASK, h->name, "c%u's process ends",
	    s->number);
	world_tell(w, &f);
	survivor_free(w, s);
	if (h->core != NULL || h->legacy != NULL)
		host_say(h, &ev, "", "");
}

/* It is asked for a lock for it. */
void
survivor_new(const struct errand *e)
{
	struct customer *c = e->customer;
	struct world *w = c->world;
	struct survivor *s;

	if (e->step->process_ms == 0)
		return;
	s = world_alloc(sizeof(*s));
	s->host = c->host;
	s->client = c->id;
	s->process = e->request;
	s->number = c->number;
	s->ms = e->step->process_ms;
	s->next = w->survivors;
	w->survivors = s;
	world_add_alarm(w, &s->alarm, survivor_on_end);
}

/* The client leaves. */
void
survivor_begin_all(const struct customer *c)
{
	struct world *w = c->world;

	for (struct survivor *s = w->survivors; s != NULL; s = s->next) {
		if (s->client == c->id)
			world_set(w, &s->alarm, w->now + (w->is_end ? 1 :
			    s->ms));
	}
}

void
survivor_end_of(struct world *w, uint64_t client)
{
	for (struct survivor *s = w->survivors; s != NULL; s = s->next)
		if (s->client == client)
			world_set(w, &s->alarm, w->now);
}

void
survivor_end(const struct customer *c)
{
	survivor_end_of(c->world, c->id);
}

/* The daemon is done with it. */
void
survivor_parted(struct host *h, uint64_t process)
{
	struct world *w = h->world;
	struct survivor *s = w->survivors;

	while (s != NULL && s->process != process)
		s = s->next;
	if (s != NULL)
		survivor_free(w, s);
}

/* They are on another machine: a successor here finds that they are not. */
void
survivor_end_here(const struct host *h)
{
	struct world *w = h->world;

	for (struct survivor *s = w->survivors; s != NULL; s = s->next) {
		if (s->host == h)
			world_set(w, &s->alarm, w->now + 1);
	}
}

/* The plan is at its end. */
void
survivor_end_all(struct world *w)
{
	for (struct survivor *s = w->survivors; s != NULL; s = s->next)
		world_set(w, &s->alarm, w->now + 1);
}

void
survivor_done(struct world *w)
{
	while (w->survivors != NULL)
		survivor_free(w, w->survivors);
}

static struct survivor *
survivor_of(const struct host *h, uint64_t hold)
{
	struct survivor *s = h->world->survivors;
	struct core_hold_view v;

	if (!core_view_hold(h->core, hold, host_boot_ms(h), &v))
		return NULL;
	while (s != NULL && s->process != v.terms.process)
		s = s->next;
	return s;
}

/* Is there a process that may be told of this hold? */
bool
survivor_has(const struct host *h, uint64_t hold)
{
	return survivor_of(h, hold) != NULL;
}

/* It is told that the hold is lost: for the first time? */
bool
survivor_lose(const struct host *h, uint64_t hold)
{
	struct survivor *s = survivor_of(h, hold);
	bool first = s != NULL && !s->lost;

	if (s != NULL)
		s->lost = true;
	return first;
}

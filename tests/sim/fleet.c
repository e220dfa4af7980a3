/*
 * A fleet's world: its hosts start within some seconds, then the day begins
 * and counts. Its clock, heap of alarms, hosts, operations and network are
 * those of a plan's world.
 */
#include "fleet_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/dynamodb_format.h"

enum {
	FLEET_STREAM_RATE = 30001,
	FLEET_STREAM_OFFSET,
	FLEET_STREAM_BOOT,
};

#define FLEET_RATE_PPM 50	/* clocks of computers, mostly */
#define FLEET_JOURNAL_BYTES 8192
#define FLEET_TRIP_MS 1		/* one way, at least, */
#define FLEET_TRIP_MAX_MS 4	/* and at most */

uint64_t
fleet_chance(const struct fleet *f, unsigned stream, uint64_t number,
    uint64_t limit)
{
	return world_chance(f->world, stream, number, limit);
}

void
fleet_options_init(struct fleet_options *o)
{
	o->seed = 1;
	o->partitions = 4;
	o->burst_s = 300;
	o->line_max = LINE_PLACES_MAX;
}

/* ---- its life --------------------------------------------------------- */

static void
fleet_on_boot(struct world *w, struct alarm *a)
{
	host_boot(&w->hosts[a - w->fleet->boots]);
}

static void
fleet_on_begin(struct world *w, struct alarm *a)
{
	struct fleet *f = w->fleet;

	(void)a;
	f->counts = true;
	fleet_capacity_begin(f, f->end_ms - f->begin_ms);
	f->day->begin(f);
}

static void
fleet_on_alarm(struct world *w, struct alarm *a)
{
	(void)a;
	w->fleet->day->ring(w->fleet);
}

static void
fleet_on_end(struct world *w, struct alarm *a)
{
	(void)a;
	w->over = true;
}

/* ---- its making and end ----------------------------------------------- */

static void
fleet_plan(struct fleet *f)
{
	const struct fleet_options *o = f->options;
	struct plan *p = &f->plan;

	plan_init(p);
	/* As by default. */
	p->ns.line_max = o->line_max;
	p->ns.idle_ms = FORMAT_IDLE_MS;
	p->seed = o->seed;
	p->hedges = true;
	p->latency_ms = FLEET_TRIP_MS;
	p->latency_max_ms = FLEET_TRIP_MAX_MS;
	if (o->poll_ms > 0)
		p->ns.poll_ms = o->poll_ms;
	if (o->lease_ms > 0)
		p->ns.lease_ms = o->lease_ms;
	plan_derive(&p->ns);
}

static void
fleet_make_host(struct fleet *f, unsigned i)
{
	struct world *w = f->world;
	struct plan_host clocks = {
		.rate_ppm = (int32_t)fleet_chance(f, FLEET_STREAM_RATE, i,
		    2 * FLEET_RATE_PPM + 1) - FLEET_RATE_PPM,
		.offset_ms = 3600000 + fleet_chance(f, FLEET_STREAM_OFFSET, i,
		    86400000) };
	char name[12];

	(void)snprintf(name, sizeof(name), "h%u", i);
	host_make(w, i, name, &clocks);
	world_add_alarm(w, &f->boots[i], fleet_on_boot);
	world_set(w, &f->boots[i], fleet_chance(f, FLEET_STREAM_BOOT, i,
	    FLEET_JOIN_MS));
}

static void
fleet_init(struct fleet *f)
{
	struct world *w = f->world;
	unsigned n = f->options->n_hosts;

	fleet_plan(f);
	w->fleet = f;
	w->plan = &f->plan;
	w->options = &f->world_options;
	w->act = fleet_act;
	w->refuse = fleet_refuse;
	w->serve = fleet_serve;
	w->journal_bytes = f->day->restarts ? FLEET_JOURNAL_BYTES : 0;
	table_init(w);
	dynamo_watch(w->dynamo, fleet_lock_watch, f);
	fleet_capacity_init(f);
	w->n_hosts = n;
	w->hosts = world_alloc(n * sizeof(*w->hosts));
	f->boots = world_alloc(n * sizeof(*f->boots));
	for (unsigned i = 0; i < n; i++)
		fleet_make_host(f, i);
	fleet_client_init(f);
	f->begin_ms = FLEET_BEGIN_MS;
	f->end_ms = f->begin_ms + UINT64_C(60000) *
	    (f->options->minutes > 0 ? f->options->minutes : f->day->minutes);
	f->figures.host_ms = n * (f->end_ms - f->begin_ms);
	world_add_alarm(w, &f->alarm, fleet_on_alarm);
	world_add_alarm(w, &f->begin, fleet_on_begin);
	world_add_alarm(w, &f->end, fleet_on_end);
	world_set(w, &f->begin, f->begin_ms);
	world_set(w, &f->end, f->end_ms);
}

static void
fleet_done(struct fleet *f)
{
	struct world *w = f->world;

	for (unsigned i = 0; i < w->n_hosts; i++) {
		host_done(&w->hosts[i]);
		world_remove_alarm(w, &f->boots[i]);
	}
	network_done(w);
	post_done(w);
	world_remove_alarm(w, &f->alarm);
	world_remove_alarm(w, &f->begin);
	world_remove_alarm(w, &f->end);
	fleet_client_done(f);
	heap_done(&w->heap);
	table_done(w);
	fleet_capacity_done(f);
	fleet_lock_done(f);
	free(f->figures.handovers.ms);
	free(f->figures.takeovers.ms);
	free(f->figures.waits.ms);
	free(f->boots);
	free(w->hosts);
	plan_done(&f->plan);
}

bool
fleet_run(const struct fleet_options *o, FILE *to)
{
	struct fleet *f = world_alloc(sizeof(*f));
	bool guilty;

	f->options = o;
	f->day = fleet_day_find(o->day);
	f->world = world_alloc(sizeof(*f->world));
	fleet_init(f);
	world_loop(f->world);
	guilty = f->world->guilty;
	if (guilty)
		(void)fprintf(to, "violation invariant=%s day=%s hosts=%u "
		    "seed=%" PRIu64 " time=%" PRIu64 " %s\n",
		    f->world->finding.invariant, o->day, o->n_hosts, o->seed,
		    f->world->finding.at_ms, f->world->finding.text);
	else
		fleet_report(f, to);
	fleet_done(f);
	free(f->world);
	free(f);
	return !guilty;
}

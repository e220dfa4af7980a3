/*
 * The capacity of the table's partitions, and what is used of it.
 *
 * AWS documents: a partition gives 3,000 read units and 1,000 write units a
 * second, all items with one partition key are in one partition, and up to 300
 * seconds of what was not used are kept for a burst. (They also say that a
 * burst does not lift the bound of a partition: a burst of 0 s is that.) A
 * request goes on while there is anything left, and may owe the rest.
 */
#include "fleet_state.h"

#include <stdlib.h>

static struct fleet_partition *
fleet_capacity_at(struct fleet_capacity *c, uint64_t hash)
{
	/* The upper half: items are in the order of their hashes. */
	return &c->partitions[(hash >> 32) * c->n_partitions >> 32];
}

static void
fleet_capacity_fill(struct fleet_capacity *c, struct fleet_partition *p,
    uint64_t now)
{
	double seconds = (double)(now - p->filled_ms) / 1000;

	p->filled_ms = now;
	for (unsigned i = 0; i < FLEET_WAYS; i++) {
		p->left[i] += seconds * c->rate[i];
		if (p->left[i] > c->most[i])
			p->left[i] = c->most[i];
	}
}

static bool
fleet_capacity_has(void *arg, uint64_t hash, bool write)
{
	struct fleet *f = arg;
	struct fleet_capacity *c = &f->capacity;
	struct fleet_partition *p = fleet_capacity_at(c, hash);

	fleet_capacity_fill(c, p, f->world->now);
	if (p->left[write ? FLEET_WRITES : FLEET_READS] > 0)
		return true;
	c->refused = true;
	return false;
}

static void
fleet_capacity_use(void *arg, uint64_t hash, bool write, uint64_t milliunits)
{
	struct fleet *f = arg;
	struct fleet_capacity *c = &f->capacity;
	struct fleet_partition *p = fleet_capacity_at(c, hash);
	unsigned way = write ? FLEET_WRITES : FLEET_READS;
	size_t second;

	p->left[way] -= (double)milliunits / 1000;
	c->request[way] += milliunits;
	if (!f->counts)
		return;
	second = (size_t)((f->world->now - c->begin_ms) / 1000);
	p->used[way] += milliunits;
	if (second < c->n_seconds)
		p->seconds[way][second] += milliunits;
}

void
fleet_capacity_init(struct fleet *f)
{
	struct fleet_capacity *c = &f->capacity;
	static const double rates[] = { FLEET_READ_UNITS, FLEET_WRITE_UNITS };
	uint32_t burst_s = f->options->burst_s;

	c->meter = (struct dynamo_meter){ fleet_capacity_has,
		fleet_capacity_use, f };
	c->n_partitions = f->options->partitions;
	for (unsigned i = 0; i < FLEET_WAYS; i++) {
		c->rate[i] = rates[i];
		c->most[i] = rates[i] * (burst_s > 1 ? burst_s : 1);
		for (unsigned k = 0; k < c->n_partitions; k++)
			c->partitions[k].left[i] = c->most[i];
	}
	dynamo_set_meter(f->world->dynamo, &c->meter);
}

void
fleet_capacity_begin(struct fleet *f, uint64_t ms)
{
	struct fleet_capacity *c = &f->capacity;

	c->begin_ms = f->world->now;
	c->n_seconds = (size_t)(ms / 1000);
	for (unsigned k = 0; k < c->n_partitions; k++)
		for (unsigned i = 0; i < FLEET_WAYS; i++)
			c->partitions[k].seconds[i] = world_alloc(
			    c->n_seconds * sizeof(uint64_t));
}

void
fleet_capacity_done(struct fleet *f)
{
	struct fleet_capacity *c = &f->capacity;

	for (unsigned k = 0; k < c->n_partitions; k++)
		for (unsigned i = 0; i < FLEET_WAYS; i++)
			free(c->partitions[k].seconds[i]);
}

void
fleet_capacity_cut(struct fleet *f)
{
	struct fleet_capacity *c = &f->capacity;
	const struct fleet_partition *hot = fleet_capacity_hottest(f);
	double seconds = (double)(f->world->now - c->begin_ms) / 1000;

	for (unsigned i = 0; i < FLEET_WAYS; i++) {
		c->rate[i] = (double)hot->used[i] / 1000 / seconds / 10;
		/* A table has a unit a second at least. */
		if (c->rate[i] < 1)
			c->rate[i] = 1;
		c->most[i] = c->rate[i];
		for (unsigned k = 0; k < c->n_partitions; k++)
			c->partitions[k].left[i] = c->most[i];
	}
}

/* The one that uses the greatest part of what a partition has. */
const struct fleet_partition *
fleet_capacity_hottest(const struct fleet *f)
{
	const struct fleet_capacity *c = &f->capacity;
	const struct fleet_partition *hot = &c->partitions[0];
	double most = -1;

	for (unsigned k = 0; k < c->n_partitions; k++) {
		const struct fleet_partition *p = &c->partitions[k];
		double part = (double)p->used[FLEET_READS] / FLEET_READ_UNITS +
		    (double)p->used[FLEET_WRITES] / FLEET_WRITE_UNITS;

		if (part > most) {
			most = part;
			hot = p;
		}
	}
	return hot;
}

void
fleet_serve(struct message *m, uint64_t wall_ms)
{
	struct fleet *f = m->host->world->fleet;
	struct fleet_capacity *c = &f->capacity;
	struct fleet_kind *k = &f->figures.kinds[m->kind];

	c->refused = false;
	c->request[FLEET_READS] = c->request[FLEET_WRITES] = 0;
	network_serve(m, wall_ms);
	if (!f->counts)
		return;
	k->requests++;
	if (c->refused)
		k->throttled++;
	for (unsigned i = 0; i < FLEET_WAYS; i++)
		k->used[i] += c->request[i];
}

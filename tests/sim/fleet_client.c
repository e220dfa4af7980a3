/*
 * The local programs of a fleet: each asks for its lock, holds it for as long
 * as the day says, and releases it. Its connection outlives a restart of the
 * daemon, and not its death.
 */
#include "fleet_state.h"

#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

struct host *
fleet_host(const struct fleet *f, const struct fleet_client *c)
{
	return &f->world->hosts[c->host];
}

struct fleet_client *
fleet_client_of(const struct fleet *f, uint32_t host, uint32_t nth)
{
	return &f->clients[host * f->day->clients + nth];
}

static uint64_t
fleet_client_number(const struct fleet *f, const struct fleet_client *c)
{
	return (uint64_t)(c - f->clients) + 1;
}

static struct fleet_client *
fleet_client_find(const struct fleet *f, uint64_t number)
{
	return number >= 1 && number <= f->n_clients ?
	    &f->clients[number - 1] : NULL;
}

void
fleet_client_wants(struct fleet *f, struct fleet_client *c, const char *key)
{
	c->lock = fleet_lock_get(f, key);
}

/* ---- asking ----------------------------------------------------------- */

static void
fleet_client_say(struct fleet *f, struct fleet_client *c,
    struct core_request *q)
{
	struct core_event ev = { .type = CORE_REQUEST };

	q->client = fleet_client_number(f, c);
	q->request = c->request = ++f->n_requests;
	q->user = 1000;
	ev.request = *q;
	host_say(fleet_host(f, c), &ev, c->lock->key, "");
}

void
fleet_client_ask(struct fleet *f, struct fleet_client *c, uint64_t wait_ms)
{
	struct core_request q = { .verb = CORE_ACQUIRE, .wait_ms = wait_ms,
		.terms = { .mode = LOCK_MODE_EXCLUSIVE } };

	if (c->state != CLIENT_IDLE)
		return;
	c->state = CLIENT_ASKED;
	c->asked_ms = f->world->now;
	fleet_client_say(f, c, &q);
}

void
fleet_client_act_at(struct fleet *f, struct fleet_client *c, uint64_t at)
{
	world_set(f->world, &c->alarm, at);
}

static void
fleet_client_release(struct fleet *f, struct fleet_client *c)
{
	struct core_request q = { .verb = CORE_RELEASE, .hold = c->hold };

	c->state = CLIENT_RELEASES;
	fleet_lock_left(c);
	fleet_client_say(f, c, &q);
}

static void
fleet_client_on_alarm(struct world *w, struct alarm *a)
{
	struct fleet_client *c = (struct fleet_client *)(void *)a;
	struct fleet *f = w->fleet;

	if (c->state == CLIENT_HOLDS)
		fleet_client_release(f, c);
	else if (c->state == CLIENT_IDLE)
		f->day->act(f, c);
}

/* ---- what it is told -------------------------------------------------- */

static void
fleet_client_granted(struct fleet *f, struct fleet_client *c,
    const struct core_reply *r)
{
	uint64_t hold_ms;

	c->state = CLIENT_HOLDS;
	c->hold = r->hold;
	c->until = host_real_ms(fleet_host(f, c), r->until_ms);
	fleet_lock_granted(f, c, r->token);
	if (f->counts) {
		f->figures.grants++;
		fleet_times_add(&f->figures.waits,
		    f->world->now - c->asked_ms);
		f->host_grants[c->host]++;
	}
	hold_ms = f->day->hold_ms(f, c);
	world_set(f->world, &c->alarm, hold_ms == WORLD_NEVER ? WORLD_NEVER :
	    f->world->now + hold_ms);
}

static void
fleet_client_over(struct fleet *f, struct fleet_client *c)
{
	c->state = CLIENT_IDLE;
	world_unset(f->world, &c->alarm);
	f->day->over(f, c);
}

static void
fleet_client_answered(struct fleet *f, struct fleet_client *c, int code,
    const struct core_reply *r)
{
	if (c->state == CLIENT_ASKED && code == 0 && r != NULL) {
		fleet_client_granted(f, c, r);
		return;
	}
	if (f->counts && c->state == CLIENT_ASKED &&
	    (code == DDBLOCK_E_LOCK_BUSY ||
	    code == DDBLOCK_E_ACQUIRE_TIMEOUT))
		f->figures.refusals++;
	else if (f->counts && code != 0)
		f->figures.errors++;
	fleet_client_over(f, c);
}

static void
fleet_client_reply(struct fleet *f, const struct core_reply *r)
{
	struct fleet_client *c = fleet_client_find(f, r->client);

	if (c != NULL && c->request == r->request)
		fleet_client_answered(f, c, r->code, r);
}

static void
fleet_client_notice(struct fleet *f, struct host *h,
    const struct core_notice *n)
{
	struct fleet_client *c = fleet_client_find(f, n->client);

	if (c == NULL || c->state != CLIENT_HOLDS || c->hold != n->hold)
		return;
	if (n->kind != CORE_LOST) {
		c->until = host_real_ms(h, n->until_ms);
		return;
	}
	if (f->counts)
		f->figures.losses++;
	fleet_lock_left(c);
	fleet_client_over(f, c);
}

void
fleet_act(struct host *h, const struct core_action *a)
{
	struct fleet *f = h->world->fleet;

	switch (a->type) {
	case CORE_REPLY:
		fleet_client_reply(f, (const void *)a);
		break;
	case CORE_NOTICE:
		fleet_client_notice(f, h, (const void *)a);
		break;
	case CORE_RENEWED:
		f->renewed[h->index] = host_real_ms(h,
		    ((const struct core_renewed *)(const void *)a)->until_ms);
		break;
	default:
		break;
	}
}

void
fleet_refuse(struct host *h, const struct core_request *q, int code)
{
	struct fleet *f = h->world->fleet;
	struct fleet_client *c = fleet_client_find(f, q->client);

	if (c != NULL && c->request == q->request)
		fleet_client_answered(f, c, code, NULL);
}

/* ---- its daemon ------------------------------------------------------- */

void
fleet_client_forget(struct fleet *f, struct fleet_client *c)
{
	if (c->state == CLIENT_HOLDS) {
		fleet_lock_died(f, c);
		fleet_lock_left(c);
	}
	c->state = CLIENT_IDLE;
	c->request = 0;
	world_unset(f->world, &c->alarm);
}

void
fleet_client_again(struct fleet *f, struct fleet_client *c)
{
	struct core_request q = { .verb = CORE_ACQUIRE, .again = true,
		.wait_ms = CORE_FOREVER,
		.terms = { .mode = LOCK_MODE_EXCLUSIVE } };

	if (c->state == CLIENT_RELEASES)
		q = (struct core_request){ .verb = CORE_RELEASE,
			.again = true, .hold = c->hold };
	else if (c->state != CLIENT_ASKED)
		return;
	fleet_client_say(f, c, &q);
}

void
fleet_client_init(struct fleet *f)
{
	f->n_clients = f->options->n_hosts * f->day->clients;
	f->clients = world_alloc(f->n_clients * sizeof(*f->clients));
	f->host_grants = world_alloc(f->options->n_hosts * sizeof(uint32_t));
	f->renewed = world_alloc(f->options->n_hosts * sizeof(uint64_t));
	for (uint32_t i = 0; i < f->n_clients; i++) {
		f->clients[i].host = i / f->day->clients;
		world_add_alarm(f->world, &f->clients[i].alarm,
		    fleet_client_on_alarm);
	}
}

void
fleet_client_done(struct fleet *f)
{
	for (uint32_t i = 0; i < f->n_clients; i++)
		world_remove_alarm(f->world, &f->clients[i].alarm);
	free(f->clients);
	free(f->host_grants);
	free(f->renewed);
}

/*
 * The days of a fleet: what its clients want, and what befalls its hosts. What
 * a client does next it does by its alarm, never from within an answer.
 */
#include "fleet_state.h"

#include <inttypes.h>
#include <string.h>

enum {
	DAY_STREAM_SPREAD = 20001,
	DAY_STREAM_SECOND,
	DAY_STREAM_CUT,
};

#define DAY_HOT "hot"
#define DAY_SECOND_MS 1000
#define DAY_MINUTE_MS 60000
#define DAY_JOIN_MS 10000	/* in which those who wait begin to */

/* ---- common ----------------------------------------------------------- */

static void
day_wants_own(struct fleet *f, struct fleet_client *c, uint32_t host,
    uint32_t nth)
{
	char key[PLAN_KEY_MAX];

	(void)snprintf(key, sizeof(key), "own-%" PRIu32 "-%" PRIu32, host,
	    nth);
	fleet_client_wants(f, c, key);
}

/* Some time in the next @ms, another for each client. */
static uint64_t
day_soon(const struct fleet *f, const struct fleet_client *c, uint64_t ms)
{
	return f->world->now + fleet_chance(f, DAY_STREAM_SPREAD,
	    (uint64_t)(c - f->clients) + (f->world->now << 24), ms);
}

static void
day_ask_all(struct fleet *f, uint64_t ms)
{
	for (uint32_t i = 0; i < f->n_clients; i++)
		fleet_client_act_at(f, &f->clients[i],
		    day_soon(f, &f->clients[i], ms));
}

static void
day_act_wait(struct fleet *f, struct fleet_client *c)
{
	fleet_client_ask(f, c, CORE_FOREVER);
}

static uint64_t
day_hold_always(struct fleet *f, struct fleet_client *c)
{
	(void)f;
	(void)c;
	return WORLD_NEVER;
}

/* It wants it again, as soon as that makes sense. */
static void
day_over_soon(struct fleet *f, struct fleet_client *c)
{
	fleet_client_act_at(f, c, f->world->now + DAY_SECOND_MS);
}

static void
day_over_done(struct fleet *f, struct fleet_client *c)
{
	(void)f;
	(void)c;
}

static void
day_ring_nothing(struct fleet *f)
{
	(void)f;
}

/* ---- cron: all try the same at the same second ------------------------ */

#define CRON_HOLD_MS 20000

static void
day_begin_cron(struct fleet *f)
{
	for (uint32_t i = 0; i < f->options->n_hosts; i++) {
		fleet_client_wants(f, fleet_client_of(f, i, 0), DAY_HOT);
		day_wants_own(f, fleet_client_of(f, i, 1), i, 0);
	}
	day_ask_all(f, DAY_SECOND_MS);
}

static void
day_act_cron(struct fleet *f, struct fleet_client *c)
{
	fleet_client_ask(f, c, 0);
}

static uint64_t
day_hold_cron(struct fleet *f, struct fleet_client *c)
{
	(void)f;
	(void)c;
	return CRON_HOLD_MS;
}

/* Within the same second of the next minute. */
static void
day_over_cron(struct fleet *f, struct fleet_client *c)
{
	uint64_t minutes = (f->world->now - f->begin_ms) / DAY_MINUTE_MS + 1;

	fleet_client_act_at(f, c, f->begin_ms + minutes * DAY_MINUTE_MS +
	    fleet_chance(f, DAY_STREAM_SECOND, (uint64_t)(c - f->clients) +
	    (minutes << 24), DAY_SECOND_MS));
}

/* ---- leader, waiting: one has it, all others wait --------------------- */

static void
day_begin_waiting(struct fleet *f)
{
	for (uint32_t i = 0; i < f->n_clients; i++) {
		fleet_client_wants(f, &f->clients[i], DAY_HOT);
		fleet_client_act_at(f, &f->clients[i], i == 0 ?
		    f->world->now : DAY_SECOND_MS +
		    day_soon(f, &f->clients[i], DAY_JOIN_MS));
	}
}

static void
day_begin_leader(struct fleet *f)
{
	day_begin_waiting(f);
	world_set(f->world, &f->alarm,
	    f->begin_ms + (f->end_ms - f->begin_ms) / 2);
}

static void
day_ring_leader(struct fleet *f)
{
	const struct fleet_lock *l = fleet_lock_get(f, DAY_HOT);

	if (l->holder == NULL)
		return;
	f->figures.deaths++;
	f->figures.host_ms -= f->end_ms - f->world->now;
	host_die(&f->world->hosts[l->holder->host]);
	fleet_client_forget(f, l->holder);
}

/* ---- queue: all want the same, again and again ------------------------ */

#define QUEUE_HOLD_MS 50

static void
day_begin_queue(struct fleet *f)
{
	for (uint32_t i = 0; i < f->n_clients; i++)
		fleet_client_wants(f, &f->clients[i], DAY_HOT);
	day_ask_all(f, DAY_SECOND_MS);
}

static uint64_t
day_hold_queue(struct fleet *f, struct fleet_client *c)
{
	(void)f;
	(void)c;
	return QUEUE_HOLD_MS;
}

static void
day_over_at_once(struct fleet *f, struct fleet_client *c)
{
	fleet_client_act_at(f, c, f->world->now + 1);
}

/* ---- restart: each daemon once, with all that its clients have -------- */

#define RESTART_LOCKS 10
#define RESTART_DOWN_MS 1000	/* each */

static void
day_begin_restart(struct fleet *f)
{
	uint32_t n = f->options->n_hosts;

	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t k = 0; k < RESTART_LOCKS; k++)
			day_wants_own(f, fleet_client_of(f, i, k), i, k);
		/* One of the next host's, which it keeps. */
		day_wants_own(f, fleet_client_of(f, i, RESTART_LOCKS),
		    (i + 1) % n, 0);
	}
	for (uint32_t i = 0; i < f->n_clients; i++)
		fleet_client_act_at(f, &f->clients[i], day_soon(f,
		    &f->clients[i], DAY_JOIN_MS) +
		    (i % f->day->clients == RESTART_LOCKS ?
		    DAY_JOIN_MS + DAY_SECOND_MS : 0));
	world_set(f->world, &f->alarm, f->begin_ms +
	    (f->end_ms - f->begin_ms) / 2);
}

/* At the end of the day each waiter gets its lock. */
static void
day_release_waited(struct fleet *f)
{
	for (uint32_t i = 0; i < f->options->n_hosts; i++) {
		struct fleet_client *c = fleet_client_of(f, i, 0);

		fleet_client_act_at(f, c, day_soon(f, c, 5 * DAY_SECOND_MS));
	}
}

static void
day_restart(struct fleet *f, uint32_t host)
{
	struct host *h = &f->world->hosts[host];

	h->restart_ms = RESTART_DOWN_MS;
	f->figures.restarts++;
	restart_die(h);
	for (uint32_t k = 0; k < f->day->clients; k++)
		fleet_client_again(f, fleet_client_of(f, host, k));
}

/* One after the other, in a quarter of the day. */
static void
day_ring_restart(struct fleet *f)
{
	uint32_t n = f->options->n_hosts;
	uint64_t quarter_ms = (f->end_ms - f->begin_ms) / 4;
	uint64_t first_ms = f->begin_ms + 2 * quarter_ms;

	if (f->step == n) {
		day_release_waited(f);
		return;
	}
	day_restart(f, f->step++);
	world_set(f->world, &f->alarm, f->step < n ?
	    first_ms + quarter_ms * f->step / n :
	    first_ms + quarter_ms + quarter_ms / 2);
}

/* ---- partition: half of the hosts do not reach the table -------------- */

#define PARTITION_CUT_MS 120000

static uint32_t
day_half(const struct fleet *f)
{
	return f->options->n_hosts / 2;
}

/* Each host of the first half has a lock, for which one of the other waits. */
static void
day_begin_partition(struct fleet *f)
{
	uint32_t half = day_half(f);

	for (uint32_t i = 0; i < f->options->n_hosts; i++) {
		struct fleet_client *c = fleet_client_of(f, i, 0);

		day_wants_own(f, c, i < half ? i : i - half, 0);
		fleet_client_act_at(f, c, day_soon(f, c, DAY_JOIN_MS) +
		    (i < half ? 0 : DAY_JOIN_MS + DAY_SECOND_MS));
	}
	world_set(f->world, &f->alarm, f->begin_ms +
	    (f->end_ms - f->begin_ms) / 4);
}

static void
day_ring_partition(struct fleet *f)
{
	for (uint32_t i = 0; i < day_half(f); i++) {
		struct fleet_client *c = fleet_client_of(f, i, 0);

		fleet_host(f, c)->cut_until = f->world->now +
		    PARTITION_CUT_MS;
		if (c->state == CLIENT_HOLDS)
			fleet_lock_died(f, c);
	}
}

/* ---- throttled: a tenth of what is asked ------------------------------ */

#define THROTTLED_HOLD_MS 500

/* Each host takes a lock of its own every other second. */
static void
day_begin_throttled(struct fleet *f)
{
	for (uint32_t i = 0; i < f->options->n_hosts; i++)
		day_wants_own(f, fleet_client_of(f, i, 0), i, 0);
	day_ask_all(f, 2 * DAY_SECOND_MS);
	world_set(f->world, &f->alarm, f->begin_ms + DAY_MINUTE_MS);
}

static uint64_t
day_hold_throttled(struct fleet *f, struct fleet_client *c)
{
	(void)f;
	(void)c;
	return THROTTLED_HOLD_MS;
}

static void
day_over_throttled(struct fleet *f, struct fleet_client *c)
{
	fleet_client_act_at(f, c, f->world->now + 2 * DAY_SECOND_MS -
	    THROTTLED_HOLD_MS);
}

static void
day_ring_throttled(struct fleet *f)
{
	fleet_capacity_cut(f);
}

/* ---- all of them ------------------------------------------------------ */

static const struct fleet_day days[] = {
	{ "cron", "all try one key, and one of their own, at the same second "
	    "of each minute", 5, 2, false, day_begin_cron, day_act_cron,
	    day_hold_cron, day_over_cron, day_ring_nothing },
	{ "leader", "one holds, all others wait; the leader dies at half time",
	    5, 1, false, day_begin_leader, day_act_wait, day_hold_always,
	    day_over_soon, day_ring_leader },
	{ "queue", "all want one key again and again, for 50 ms", 5, 1, false,
	    day_begin_queue, day_act_wait, day_hold_queue, day_over_at_once,
	    day_ring_nothing },
	{ "restart", "each daemon restarts, with 10 held locks and a waiter",
	    5, RESTART_LOCKS + 1, true, day_begin_restart, day_act_wait,
	    day_hold_always, day_over_done, day_ring_restart },
	{ "partition", "half of the fleet is cut off for two minutes", 6, 1,
	    false, day_begin_partition, day_act_wait, day_hold_always,
	    day_over_soon, day_ring_partition },
	{ "throttled", "after a minute the table has a tenth of what is asked",
	    5, 1, false, day_begin_throttled, day_act_wait, day_hold_throttled,
	    day_over_throttled, day_ring_throttled },
	{ "waiting", "one holds for the day, all others wait", 5, 1, false,
	    day_begin_waiting, day_act_wait, day_hold_always, day_over_done,
	    day_ring_nothing },
};

const struct fleet_day *
fleet_day_find(const char *name)
{
	for (size_t i = 0; i < sizeof(days) / sizeof(days[0]); i++)
		if (strcmp(days[i].name, name) == 0)
			return &days[i];
	return NULL;
}

bool
fleet_has_day(const char *name)
{
	return fleet_day_find(name) != NULL;
}

void
fleet_list_days(FILE *to)
{
	for (size_t i = 0; i < sizeof(days) / sizeof(days[0]); i++)
		(void)fprintf(to, "  %-10s %s\n", days[i].name, days[i].text);
}

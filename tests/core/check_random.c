/*
 * Three hosts, a few keys, and chance: what clients do and what befalls hosts
 * and requests comes from a seed. The judge watches; in the end faults stop,
 * whoever waits is served, and nothing is left behind.
 *
 * check_random SEED runs that one seed and prints its trace; check_random FIRST
 * LAST runs all of these.
 */
#include "driver.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>

#include "ddblock.h"

#define RANDOM_SEEDS 1000
#define RANDOM_HOSTS 3
#define RANDOM_STEPS 150
#define RANDOM_CLIENTS 40

static const char *const random_keys[] = { "x", "y", "z" };

#define RANDOM_N_KEYS (sizeof(random_keys) / sizeof(random_keys[0]))

static const char *
random_key(struct driver *d)
{
	return random_keys[net_random(&d->net, RANDOM_N_KEYS)];
}

/* In eight seeds of sixteen everybody wants locks alone; in the others some
 * would share them, with one limit or another. */
static bool
random_shares(const struct driver *d)
{
	return d->seed / 8 % 2 != 0;
}

static bool
random_is_awake(const struct driver *d, unsigned host)
{
	return d->hosts[host].core != NULL &&
	    d->net.hosts[host].paused_until <= d->now;
}

static void
random_settings(struct driver *d)
{
	struct core_namespace *ns = &d->namespaces[0];
	unsigned i;

	ns->handover_max = 1 + (uint32_t)net_random(&d->net, 4);
	if (net_random(&d->net, 2) == 0) {
		ns->lease_ms = 3000;
		ns->heartbeat_ms = 750;
		ns->danger_ms = 1500;
		ns->margin_ms = 150;
		ns->poll_ms = 300;
		ns->request_ms = 1000;
		ns->try_ms = 400;
		d->net.attempt_ms = 200;
	}
	ns->audit_ms = 2 * ns->lease_ms;
	if (net_random(&d->net, 4) == 0) {
		/* Room for little: what does not fit is refused. */
		d->limits.doubts_max = 8;
		/* Of wishes that hinder us, each has one. */
		d->limits.observations_max = random_shares(d) ? 8 : 1;
		d->limits.locks_max = 3;
		d->limits.requests_max = 10;
	}
	if (d->net.n_hosts == 1) {
		ns->sole_writer = true;
		ns->no_foreign_waiters = true;
		ns->keeps_idle = true;
		ns->idle_ms = net_random(&d->net, 2 * ns->lease_ms);
	}
	if (d->seed % 3 == 0) {
		/* Listings wait for each other. */
		ns->list_capacity = 5;
		d->net.store.scan_page = 2;
		d->net.store.scan_milliunits = 500;
	}
	for (i = 0; i < d->net.n_hosts; i++) {
		struct net_host *h = &d->net.hosts[i];

		/* As far apart as the drift allows, or less. */
		h->rate_ppm = (int32_t)net_random(&d->net, 10001) - 5000;
		h->latency_ms = 1 + net_random(&d->net, 10);
		h->spread_ms = net_random(&d->net, 30);
	}
}

/* ---- what befalls requests and hosts ---------------------------------- */

static void
random_fault(struct driver *d)
{
	static const int codes[] = { DDBLOCK_E_THROTTLED,
		DDBLOCK_E_UNREACHABLE, DDBLOCK_E_ACCESS_DENIED };
	struct fault f = {
		.host = (unsigned)net_random(&d->net, d->net.n_hosts),
		.kind = (enum operation_kind)net_random(&d->net,
		    OPERATION_SESSION_CLOSE + 1),
		.nth = 1 + (unsigned)net_random(&d->net, 3),
		.count = 1 + (unsigned)net_random(&d->net, 2),
		.fault = (enum fault_kind)net_random(&d->net,
		    FAULT_UNPROCESSED) + 1,
		.ms = net_random(&d->net, 2 * d->namespaces[0].lease_ms),
		.code = codes[net_random(&d->net, 3)],
	};

	if (d->net.n_faults == NET_FAULTS_MAX)
		return;
	if (net_random(&d->net, 2) == 0)
		f.retry_ms = 1 + net_random(&d->net,
		    d->namespaces[0].request_ms);
	if (f.fault == FAULT_UNPROCESSED)
		f.ms = 1;
	/* Kind 0 meets anything; READ_MANY has no meaning for the others. */
	net_add_fault(&d->net, &f);
}

static void
random_disaster(struct driver *d)
{
	unsigned host = (unsigned)net_random(&d->net, d->net.n_hosts);
	uint64_t ms = net_random(&d->net, 2 * d->namespaces[0].lease_ms);

	if (d->hosts[host].core == NULL) {
		driver_say(d, host, "booted");
		driver_boot(d, host);
		return;
	}
	if (!random_is_awake(d, host))
		return;
	if (d->hosts[host].stopping) {
		driver_kill(d, host);
		return;
	}
	switch (net_random(&d->net, 6)) {
	case 0:
		driver_kill(d, host);
		break;
	case 3:
		driver_stop(d, host, net_random(&d->net, 2) == 0);
		break;
	case 1:
		driver_pause(d, host, ms);
		break;
	case 2:
		driver_down(d, host, ms);
		break;
	default:
		driver_cut(d, host, ms);
		break;
	}
}

/* Somebody cleans up by hand, what he should not. */
static void
random_vandal(struct driver *d)
{
	struct model_session *m = d->net.store.sessions;
	const char *key = random_key(d);
	uint64_t skip = net_random(&d->net, 6);

	if (net_random(&d->net, 2) == 0) {
		if (model_find_lock(&d->net.store, 0, key) == NULL)
			return;
		driver_say(d, A, "sees a lock deleted by hand");
		model_delete_lock(&d->net.store, 0, key);
		return;
	}
	while (m != NULL && skip-- > 0)
		m = m->next;
	if (m == NULL || !m->exists || m->dead)
		return;
	driver_say(d, A, "sees a session deleted by hand");
	model_delete_session(&d->net.store, m->name);
}

/* ---- what clients do -------------------------------------------------- */

static bool
random_waits(const struct driver *d, unsigned client, const char *key)
{
	const struct judge_request *r;

	for (r = d->judge.requests; r != NULL; r = r->next)
		if (r->client == client && strcmp(r->key, key) == 0)
			return true;
	return false;
}

static void
random_use(struct driver *d, unsigned client, const char *key,
    uint64_t wait_ms)
{
	static const uint32_t limits[] = { 0, 1, 2, 2, 2, 3 };
	uint64_t use = random_shares(d) ? net_random(&d->net, 5) : 0;

	if (use < 2)
		driver_acquire(d, client, key, wait_ms);
	else if (use < 3)
		driver_share(d, client, key, 0, wait_ms);
	else
		driver_share(d, client, key,
		    limits[net_random(&d->net, 6)], wait_ms);
}

static void
random_acquire(struct driver *d, unsigned client, const char *key)
{
	uint64_t wait_ms = 0;

	if (random_waits(d, client, key))
		return;
	switch (net_random(&d->net, 4)) {
	case 0:
		break;
	case 1:
		wait_ms = net_random(&d->net, d->namespaces[0].lease_ms);
		break;
	default:
		wait_ms = DRIVER_FOREVER;
		break;
	}
	random_use(d, client, key, wait_ms);
}

static void
random_client(struct driver *d)
{
	unsigned client = 1 + (unsigned)net_random(&d->net, RANDOM_CLIENTS);
	const char *key = random_key(d);

	if (client > d->n_clients) {
		(void)driver_connect(d,
		    (unsigned)net_random(&d->net, d->net.n_hosts));
		client = d->n_clients;
	}
	if (!random_is_awake(d, d->clients[client].host))
		return;
	/* The place of a client that has gone is taken by another. */
	if (!d->clients[client].connected)
		d->clients[client].connected = true;
	if (driver_holds(d, client, key)) {
		if (net_random(&d->net, 4) == 0)
			driver_renew(d, client, key);
		else if (net_random(&d->net, 8) == 0)
			driver_disconnect(d, client);
		else
			driver_release(d, client, key);
		return;
	}
	switch (net_random(&d->net, 14)) {
	case 12:
		driver_drain(d, client);
		break;
	case 13:
		driver_list(d, client, "");
		break;
	case 0:
		if (net_random(&d->net, 2) == 0) {
			driver_drain(d, client);
			driver_run(d, net_random(&d->net, 1000));
		}
		/* Its host may have died meanwhile, and it with it. */
		if (d->clients[client].connected)
			driver_disconnect(d, client);
		break;
	case 1:
		if (random_waits(d, client, key))
			driver_cancel(d, client, key);
		break;
	case 2:
		driver_get(d, client, key);
		break;
	default:
		random_acquire(d, client, key);
		break;
	}
}

/* ---- a seed ----------------------------------------------------------- */

/* Faults end, everybody goes; then one client of each host wants each key, and
 * all of them get it. */
static void
random_settle(struct driver *d)
{
	uint64_t lease_ms = d->namespaces[0].lease_ms;
	unsigned i, c;
	size_t k;

	d->net.n_faults = 0;
	for (i = 0; i < d->net.n_hosts; i++) {
		d->net.hosts[i].cut_until = d->now;
		d->net.hosts[i].down_until = d->now;
		d->net.hosts[i].paused_until = d->now;
		if (d->hosts[i].stopping)
			driver_kill(d, i);
		if (d->hosts[i].core == NULL)
			driver_boot(d, i);
	}
	driver_run(d, 1);
	for (c = 1; c <= d->n_clients; c++)
		if (d->clients[c].connected)
			driver_disconnect(d, c);
	for (i = 0; i < d->net.n_hosts; i++) {
		c = driver_connect(d, i);
		for (k = 0; k < RANDOM_N_KEYS; k++)
			random_use(d, c, random_keys[k], DRIVER_FOREVER);
	}
	for (k = 0; k < 6 * lease_ms / 20; k++) {
		driver_run(d, 20);
		for (c = d->n_clients + 1 - d->net.n_hosts; c <= d->n_clients;
		     c++)
			for (i = 0; i < RANDOM_N_KEYS; i++)
				if (driver_holds(d, c, random_keys[i]))
					driver_release(d, c, random_keys[i]);
	}
	if (d->judge.requests != NULL)
		driver_fail(d, "c%u is not served", d->judge.requests->client);
	/* What is late has landed, and was looked for. */
	driver_run(d, 40000 + 2 * lease_ms);
	driver_expect_clean(d);
}

static void
random_run(uint64_t seed, bool print)
{
	/* One host in eight has the store for itself. */
	struct driver *d = driver_new(seed, seed % 8 == 4 ? 1 : RANDOM_HOSTS);
	bool vandal = seed % 8 == 0;
	unsigned i;

	random_settings(d);
	driver_start(d);
	for (i = 0; i < RANDOM_STEPS; i++) {
		driver_run(d, net_random(&d->net,
		    d->namespaces[0].lease_ms / 10));
		if (net_random(&d->net, 6) == 0)
			random_fault(d);
		if (net_random(&d->net, 30) == 0)
			random_disaster(d);
		if (vandal && net_random(&d->net, 50) == 0)
			random_vandal(d);
		random_client(d);
	}
	random_settle(d);
	if (print)
		trace_print(&d->trace);
	driver_free(d);
}

static uint64_t random_first = 1, random_last = RANDOM_SEEDS;

START_TEST(test_random)
{
	uint64_t seed;

	for (seed = random_first; seed <= random_last; seed++)
		random_run(seed, random_first == random_last);
}
END_TEST

int
main(int argc, char **argv)
{
	const TTest *const tests[] = {
		test_random,
		NULL,
	};

	if (argc > 1)
		random_first = random_last = strtoull(argv[1], NULL, 10);
	if (argc > 2)
		random_last = strtoull(argv[2], NULL, 10);
	return suite_run("random", tests);
}

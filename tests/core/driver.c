/*
 * The loop: always the earliest of what the network and the cores' timers
 * have to do. What happens at one moment happens in a fixed order: arrivals,
 * answers, repetitions, then timers by host.
 */
#include "driver.h"

#include <check.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "core/timing.h"

/* So many steps at one moment are a loop without end. */
#define DRIVER_STEPS_MAX 20000

const char *const driver_host_names[NET_HOSTS_MAX] = { "A", "B", "C", "D" };

void
driver_fail(struct driver *d, const char *format, ...)
{
	char text[4096];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	trace_print(&d->trace);
	ck_abort_msg("at %" PRIu64 " (seed %" PRIu64 "): %s", d->now, d->seed,
	    text);
	abort();
}

static void
driver_judge_failed(void *arg, const char *what)
{
	driver_fail(arg, "%s", what);
}

void
driver_say(struct driver *d, unsigned host, const char *what)
{
	trace_add(&d->trace, TRACE_SCRIPT, d->now, driver_host_names[host],
	    "%s", what);
}

/* ---- operations in the trace ------------------------------------------ */

static const char *const driver_operation_words[] = {
	[OPERATION_READ] = "read",
	[OPERATION_READ_MANY] = "read-many",
	[OPERATION_ACQUIRE] = "acquire",
	[OPERATION_RELEASE] = "release",
	[OPERATION_EXTEND] = "extend",
	[OPERATION_UPDATE] = "update",
	[OPERATION_WANT] = "want",
	[OPERATION_UNWANT] = "unwant",
	[OPERATION_BREAK] = "break",
	[OPERATION_SCAN] = "scan",
	[OPERATION_SESSION_OPEN] = "open",
	[OPERATION_SESSION_BEAT] = "beat",
	[OPERATION_SESSION_READ] = "look",
	[OPERATION_SESSION_KILL] = "kill",
	[OPERATION_SESSION_BURY] = "bury",
	[OPERATION_SESSION_CLOSE] = "close",
};

/* Exclusive use goes without saying. */
void
driver_describe_use(enum lock_mode mode, uint64_t limit, char *text,
    size_t size)
{
	if (mode != LOCK_MODE_SHARED)
		text[0] = '\0';
	else if (limit == 0)
		(void)snprintf(text, size, " shared");
	else
		(void)snprintf(text, size, " shared by %" PRIu64, limit);
}

/* Those whom it takes out, and whom no living host stands behind. */
static void
driver_describe_dead(const struct model_store *s, const struct operation *op,
    char *text, size_t size)
{
	const struct holder *holders = op->n_dead > 0 ? op->dead : op->holders;
	size_t i, length = 0, n = op->n_dead + op->n_holders;
	const struct model_session *m;

	text[0] = '\0';
	for (i = 0; i < n; i++) {
		m = model_find_session(s, holders[i].session);
		if (m != NULL && m->host >= 0 && !m->dead)
			continue;
		length += (size_t)snprintf(text + length, size - length,
		    "%s%s", length == 0 ? " from " : ", ",
		    m == NULL ? "?" : m->name);
		if (length >= size)
			return;
	}
}

void
driver_describe(struct driver *d, const struct operation *op, char *text,
    size_t size)
{
	const char *word = driver_operation_words[op->kind];
	const struct model_store *s = &d->net.store;
	int length = (int)op->key.length;
	char use[32], dead[64];

	switch (op->kind) {
	case OPERATION_READ_MANY:
		(void)snprintf(text, size, "%s %zu", word, op->n_keys);
		break;
	case OPERATION_SCAN:
		(void)snprintf(text, size, "%s %.*s", word,
		    (int)op->prefix.length, op->prefix.bytes);
		break;
	case OPERATION_ACQUIRE:
	case OPERATION_RELEASE:
		driver_describe_use(op->mode, op->limit, use, sizeof(use));
		driver_describe_dead(s, op, dead, sizeof(dead));
		(void)snprintf(text, size, "%s %.*s%s%s", word, length,
		    op->key.bytes, use, dead);
		break;
	case OPERATION_UNWANT:
	case OPERATION_WANT:
		driver_describe_use(op->mode, 0, use, sizeof(use));
		(void)snprintf(text, size, "%s %.*s%s %s", word, length,
		    op->key.bytes, use, model_session_name(s, op->session));
		break;
	case OPERATION_READ:
	case OPERATION_EXTEND:
	case OPERATION_UPDATE:
	case OPERATION_BREAK:
		(void)snprintf(text, size, "%s %.*s", word, length,
		    op->key.bytes);
		break;
	default:
		(void)snprintf(text, size, "%s %s", word,
		    model_session_name(s, op->session));
		break;
	}
}

static enum trace_kind
driver_trace_kind(const struct operation *op)
{
	return op->kind == OPERATION_SESSION_BEAT ? TRACE_BEAT : TRACE_STORE;
}

static void
driver_submit(struct driver *d, unsigned host, struct core_submit *submit)
{
	struct operation *op = &submit->operation;
	char text[128], name[MODEL_NAME_MAX];
	uint64_t boot_ms = net_boot_ms(&d->net, host, d->now);

	if (op->kind == OPERATION_SESSION_OPEN) {
		(void)snprintf(name, sizeof(name), "%s%u",
		    driver_host_names[host], ++d->net.hosts[host].sessions);
		(void)model_name_session(&d->net.store, op->session, name,
		    (int)host);
	}
	driver_describe(d, op, text, sizeof(text));
	trace_add(&d->trace, driver_trace_kind(op), d->now,
	    driver_host_names[host], "> %s", text);
	if (op->deadline_ms <= boot_ms)
		driver_fail(d, "%s: a deadline in the past", text);
	if (op->submitted_ms != boot_ms)
		driver_fail(d, "%s: submitted at another time", text);
	net_submit(&d->net, host, op, d->now);
}

static void
driver_outcome(void *arg, unsigned host, struct operation *op,
    const struct outcome *outcome)
{
	static const char *const words[] = {
		[OUTCOME_DONE] = "done",
		[OUTCOME_CONFLICT] = "conflict",
		[OUTCOME_UNKNOWN] = "unknown",
		[OUTCOME_REFUSED] = "refused",
	};
	struct driver *d = arg;
	struct core_event ev = { .type = CORE_STORED };
	char text[128];

	driver_describe(d, op, text, sizeof(text));
	trace_add(&d->trace, driver_trace_kind(op), d->now,
	    driver_host_names[host], "< %s %s%s%s", text, words[outcome->kind],
	    outcome->kind == OUTCOME_REFUSED ? " " : "",
	    outcome->kind == OUTCOME_REFUSED ? error_word(outcome->code) : "");
	ev.stored.operation = op;
	ev.stored.outcome = outcome;
	if (driver_step(d, host, &ev) < 0)
		driver_fail(d, "an outcome was not taken");
}

static void
driver_late(void *arg, unsigned host, const struct operation *op,
    enum outcome_kind kind)
{
	struct driver *d = arg;
	char text[128];

	driver_describe(d, op, text, sizeof(text));
	trace_add(&d->trace, TRACE_LATE, d->now, driver_host_names[host],
	    "* %s lands late%s", text, kind == OUTCOME_DONE ? "" :
	    ", in vain");
}

/* ---- actions ---------------------------------------------------------- */

static void
driver_notice(struct driver *d, unsigned host, const struct core_notice *n)
{
	struct judge_hold *h = judge_find_id(&d->judge, host, n->hold);
	const char *name = driver_host_names[host];

	if (h == NULL || h->client != n->client)
		driver_fail(d, "a notice about hold %" PRIu64
		    ", which client %" PRIu64 " has not", n->hold, n->client);
	switch (n->kind) {
	case CORE_IN_DANGER:
		trace_add(&d->trace, TRACE_NOTICE, d->now, name,
		    "c%u danger %s remaining %" PRIu32 " %s", h->client,
		    h->key, n->remaining_ms, error_word(n->cause));
		break;
	case CORE_PROLONGED:
	case CORE_SAFE:
		trace_add(&d->trace, TRACE_NOTICE, d->now, name, "c%u safe %s "
		    "remaining %" PRIu32, h->client, h->key, n->remaining_ms);
		judge_renewed(&d->judge, host, n->hold, n->until_ms);
		break;
	case CORE_LOST:
		trace_add(&d->trace, TRACE_NOTICE, d->now, name,
		    "c%u lost %s %s", h->client, h->key,
		    core_loss_name(n->loss));
		judge_lost(&d->judge, d->now, host, n->hold);
		break;
	case CORE_UNTOLD:
		driver_say(d, host, "untold");
		break;
	}
}

static void
driver_renewed(struct driver *d, unsigned host, const struct core_renewed *r)
{
	trace_add(&d->trace, TRACE_BEAT, d->now, driver_host_names[host],
	    "renewed remaining %" PRIu64, r->remaining_ms);
	if (r->until_ms !=
	    net_boot_ms(&d->net, host, d->now) + r->remaining_ms)
		driver_fail(d, "until and remaining disagree");
	judge_renewed_all(&d->judge, host, r->namespace_index, r->until_ms);
}

static void
driver_act(struct driver *d, unsigned host, struct core_action *a)
{
	switch (a->type) {
	case CORE_REPLY:
		driver_tell_reply(d, host, (struct core_reply *)a);
		break;
	case CORE_ROWS:
		driver_tell_rows(d, host, (struct core_rows *)a);
		break;
	case CORE_NOTICE:
		driver_notice(d, host, (struct core_notice *)a);
		break;
	case CORE_RENEWED:
		driver_renewed(d, host, (struct core_renewed *)a);
		break;
	case CORE_SUBMIT:
		driver_submit(d, host, (struct core_submit *)a);
		break;
	default:;	/* the others */
	}
}

int
driver_step(struct driver *d, unsigned host, struct core_event *ev)
{
	struct driver_host *h = &d->hosts[host];
	struct core_update update;
	struct core_action *a, *next;
	int r;

	if (h->stepped_at != d->now) {
		h->stepped_at = d->now;
		h->steps = 0;
	}
	if (++h->steps > DRIVER_STEPS_MAX)
		driver_fail(d, "%s runs in a circle", driver_host_names[host]);
	ev->now_ms = net_boot_ms(&d->net, host, d->now);
	r = core_step(h->core, ev, &update);
	/* Submitting leaves an action to the store, so look ahead first. */
	for (a = update.actions; a != NULL; a = next) {
		next = a->next;
		driver_act(d, host, a);
	}
	h->next_ms = update.next_ms;
	h->stopped = update.stopped;
	return r;
}

/* ---- time ------------------------------------------------------------- */

static uint64_t
driver_timer_at(const struct driver *d, unsigned host)
{
	const struct driver_host *h = &d->hosts[host];
	uint64_t at, paused_until = d->net.hosts[host].paused_until;

	if (h->core == NULL || h->next_ms == CORE_FOREVER)
		return NET_NEVER;
	at = net_real_ms(&d->net, host, h->next_ms);
	if (at < d->now)
		at = d->now;
	return at > paused_until ? at : paused_until;
}

static uint64_t
driver_next(const struct driver *d)
{
	uint64_t at = net_next(&d->net);
	unsigned i;

	for (i = 0; i < d->net.n_hosts; i++)
		if (driver_timer_at(d, i) < at)
			at = driver_timer_at(d, i);
	return at < d->now ? d->now : at;
}

static void
driver_fire(struct driver *d)
{
	struct core_event ev = { .type = CORE_TIMER };
	unsigned i;

	if (net_next(&d->net) <= d->now) {
		net_fire(&d->net, d->now);
		return;
	}
	for (i = 0; i < d->net.n_hosts; i++) {
		if (driver_timer_at(d, i) <= d->now) {
			if (driver_step(d, i, &ev) < 0)
				driver_fail(d, "a timer was not taken");
			return;
		}
	}
}

void
driver_run_until(struct driver *d, uint64_t real_ms)
{
	for (;;) {
		uint64_t at;

		driver_turn_pages(d);
		at = driver_next(d);
		if (at > real_ms)
			break;
		if (at > d->now)
			judge_moment(&d->judge, d->now);
		d->now = at;
		driver_fire(d);
	}
	judge_moment(&d->judge, d->now);
	d->now = real_ms;
}

void
driver_run(struct driver *d, uint64_t ms)
{
	driver_run_until(d, d->now + ms);
}

/* ---- life ------------------------------------------------------------- */

static void
driver_default_namespace(struct core_namespace *ns, const char *name)
{
	*ns = (struct core_namespace){
		.name = name,
		.lease_ms = 20000,
		.heartbeat_ms = 5000,
		.danger_ms = 10000,
		.margin_ms = 1000,
		.drift_ppm = 10000,
		.poll_ms = 1000,
		.request_ms = 5000, .try_ms = 1000,
		.audit_ms = 60000,
		.handover_max = 100,
	};
}

struct driver *
driver_new(uint64_t seed, unsigned n_hosts)
{
	struct driver *d = calloc(1, sizeof(*d));

	if (d == NULL)
		abort();
	d->seed = seed;
	net_init(&d->net, n_hosts, seed);
	d->net.outcome = driver_outcome;
	d->net.late = driver_late;
	d->net.arg = d;
	d->judge.net = &d->net;
	d->judge.namespaces = d->namespaces;
	d->judge.fail = driver_judge_failed;
	d->judge.arg = d;
	d->n_namespaces = 1;
	driver_default_namespace(&d->namespaces[0], "default");
	driver_default_namespace(&d->namespaces[1], "other");
	d->limits = (struct core_limits){ .clients_max = 1000,
		.requests_per_client_max = 100, .holds_per_client_max = 1000,
		.watches_per_client_max = 100, .watches_max = 1000,
		.locks_max = 1000, .requests_max = 10000,
		.observations_max = 100, .doubts_max = 100 };
	return d;
}

void
driver_boot(struct driver *d, unsigned host)
{
	struct core_config config = {
		.namespaces = d->namespaces,
		.n_namespaces = d->n_namespaces,
		.limits = d->limits,
		.host = driver_host_names[host],
	};
	struct core_event ev = { .type = CORE_TIMER };
	uint64_t seed[4];
	size_t i;

	for (i = 0; i < 4; i++)
		seed[i] = net_random(&d->net, UINT64_MAX);
	if (core_new(&config, seed, net_boot_ms(&d->net, host, d->now),
	    &d->hosts[host].core) < 0)
		driver_fail(d, "no core");
	d->judge.alive[host] = true;
	d->net.hosts[host].paused_until = 0;
	(void)driver_step(d, host, &ev);
}

/* All hosts, with their sessions open: the scenario begins at 1000. */
void
driver_start(struct driver *d)
{
	unsigned i;

	for (i = 0; i < d->net.n_hosts; i++)
		driver_boot(d, i);
	driver_run_until(d, 1000);
	driver_skip(d);
}

void
driver_free(struct driver *d)
{
	unsigned i;

	for (i = 0; i < d->net.n_hosts; i++)
		core_free(d->hosts[i].core);
	net_done(&d->net);
	judge_done(&d->judge);
	trace_done(&d->trace);
	free(d);
}

/* ---- what befalls hosts ----------------------------------------------- */

void
driver_kill(struct driver *d, unsigned host)
{
	struct model_session *m;
	unsigned c;

	driver_say(d, host, "killed");
	for (m = d->net.store.sessions; m != NULL; m = m->next)
		if (m->host == (int)host)
			m->host = -1;	/* nobody's, from now on */
	net_forget_host(&d->net, host);
	core_free(d->hosts[host].core);
	d->hosts[host] = (struct driver_host){ .core = NULL };
	judge_host_died(&d->judge, host);
	for (c = 1; c <= d->n_clients; c++)
		if (d->clients[c].host == host)
			d->clients[c].connected = false;
}

void
driver_pause(struct driver *d, unsigned host, uint64_t ms)
{
	driver_say(d, host, "paused");
	d->net.hosts[host].paused_until = d->now + ms;
}

void
driver_cut(struct driver *d, unsigned host, uint64_t ms)
{
	driver_say(d, host, "cut off");
	d->net.hosts[host].cut_from = d->now;
	d->net.hosts[host].cut_until = d->now + ms;
}

void
driver_down(struct driver *d, unsigned host, uint64_t ms)
{
	driver_say(d, host, "finds the store down");
	d->net.hosts[host].down_from = d->now;
	d->net.hosts[host].down_until = d->now + ms;
}

void
driver_stop(struct driver *d, unsigned host, bool release)
{
	struct core_event ev = { .type = release ? CORE_STOP_RELEASE :
		CORE_STOP };

	driver_say(d, host, release ? "stop, release" : "stop");
	d->hosts[host].stopping = true;
	(void)driver_step(d, host, &ev);
}

void
driver_fault(struct driver *d, unsigned host, enum operation_kind kind,
    enum fault_kind what, uint64_t ms)
{
	struct fault fault = { .host = host, .kind = kind, .fault = what,
		.ms = ms };

	net_add_fault(&d->net, &fault);
}

/* ---- questions -------------------------------------------------------- */

unsigned
driver_count(const struct driver *d, unsigned host, enum operation_kind kind)
{
	return d->net.hosts[host].submitted[kind];
}

bool
driver_holds(const struct driver *d, unsigned client, const char *key)
{
	const struct judge_hold *h = judge_find(&d->judge, client, key);

	return h != NULL && h->state == JUDGE_VALID;
}

const struct judge_hold *
driver_hold(struct driver *d, unsigned client, const char *key)
{
	const struct judge_hold *h = judge_find(&d->judge, client, key);

	if (h == NULL)
		driver_fail(d, "c%u never held %s", client, key);
	return h;
}

struct model_lock *
driver_lock(struct driver *d, const char *key)
{
	struct model_lock *l = model_find_lock(&d->net.store, 0, key);

	if (l == NULL)
		driver_fail(d, "the store has no %s", key);
	return l;
}

void
driver_skip(struct driver *d)
{
	d->mark = d->trace.n_lines;
}

void
driver_expect(struct driver *d, unsigned kinds, const char *lines)
{
	char *diff;

	if (!trace_equals(&d->trace, d->mark, kinds, lines, &diff)) {
		char text[3072];

		(void)snprintf(text, sizeof(text), "%s", diff);
		free(diff);
		driver_fail(d, "the trace differs:\n%s", text);
	}
	driver_skip(d);
}

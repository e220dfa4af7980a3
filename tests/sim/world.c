/*
 * The world's clock and its loop: the next alarm rings, the judge listens, and
 * it is over when the plan's time is, or with the first finding.
 */
#include "world_state.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char *const world_words[] = {
	"ask", "told", "beat", "store", "fault", "script", "table",
};

unsigned
world_trace_kinds(const char *words)
{
	unsigned kinds = 0;

	while (*words != '\0') {
		size_t n = strcspn(words, ",");
		size_t i;

		for (i = 0; i < sizeof(world_words) / sizeof(char *); i++)
			if (strlen(world_words[i]) == n &&
			    strncmp(world_words[i], words, n) == 0)
				break;
		if (n == 3 && strncmp(words, "all", n) == 0)
			kinds |= WORLD_TRACE_ALL;
		else if (i < sizeof(world_words) / sizeof(char *))
			kinds |= 1u << i;
		else
			return 0;
		words += n;
		if (*words == ',')
			words++;
	}
	return kinds;
}

void *
world_alloc(size_t size)
{
	void *p = calloc(1, size);

	if (p == NULL) {
		(void)fprintf(stderr, "ddblock-sim: out of memory\n");
		exit(1);
	}
	return p;
}

/* ---- alarms ----------------------------------------------------------- */

void
world_add_alarm(struct world *w, struct alarm *a, alarm_fn *ring)
{
	if (heap_reserve(&w->heap) < 0) {
		(void)fprintf(stderr, "ddblock-sim: out of memory\n");
		exit(1);
	}
	/* The heap wants a kind; it does not matter which. */
	a->timer = (struct timer){ .kind = TIMER_SESSION };
	a->ring = ring;
}

void
world_remove_alarm(struct world *w, struct alarm *a)
{
	heap_release(&w->heap, &a->timer);
}

void
world_set(struct world *w, struct alarm *a, uint64_t at)
{
	if (at == WORLD_NEVER)
		heap_unset(&w->heap, &a->timer);
	else
		heap_set(&w->heap, &a->timer, at < w->now ? w->now : at);
}

void
world_unset(struct world *w, struct alarm *a)
{
	heap_unset(&w->heap, &a->timer);
}

/* The finaliser of splitmix64. */
static uint64_t
world_mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

uint64_t
world_chance(const struct world *w, unsigned stream, uint64_t number,
    uint64_t limit)
{
	return world_mix(world_mix(world_mix(w->plan->seed) + stream) +
	    number) % limit;
}

/* ---- what is seen ----------------------------------------------------- */

static void
world_guilty(struct world *w, const struct judge_finding *f)
{
	if (w->guilty)
		return;
	w->guilty = true;
	w->over = true;
	w->finding = *f;
}

void
world_tell(struct world *w, const struct fact *f)
{
	struct fact now = *f;

	if (w->over || w->judge == NULL)
		return;
	now.at_ms = w->now;
	if (!judge_fact(w->judge, &now))
		world_guilty(w, judge_finding(w->judge));
}

void
world_find(struct world *w, const char *invariant, const char *format, ...)
{
	struct judge_finding f = { .at_ms = w->now };
	va_list arguments;

	(void)snprintf(f.invariant, sizeof(f.invariant), "%s", invariant);
	va_start(arguments, format);
	(void)vsnprintf(f.text, sizeof(f.text), format, arguments);
	va_end(arguments);
	world_guilty(w, &f);
}

void
world_trace(struct world *w, enum world_trace kind, const char *host,
    const char *format, ...)
{
	FILE *to = w->options->trace;
	va_list arguments;

	if (to == NULL || (w->options->trace_kinds & kind) == 0)
		return;
	/* When all have left, renewals only fill pages. */
	if (kind == WORLD_TRACE_BEAT && w->is_end)
		return;
	if (kind != WORLD_TRACE_ALL && (w->now < w->plan->trace_from_ms ||
	    w->now > w->plan->trace_to_ms))
		return;
	(void)fprintf(to, "%4" PRIu64 ".%03" PRIu64 " %s ", w->now / 1000,
	    w->now % 1000, host);
	va_start(arguments, format);
	(void)vfprintf(to, format, arguments);
	va_end(arguments);
	(void)fputc('\n', to);
}

/* ---- the plan --------------------------------------------------------- */

static void
world_next_step(struct world *w)
{
	world_set(w, &w->script, w->step < w->plan->n_steps ?
	    w->plan->steps[w->step].at_ms : WORLD_NEVER);
}

static void
world_on_step(struct world *w, struct alarm *a)
{
	const struct plan_step *s = &w->plan->steps[w->step++];

	(void)a;
	/* Faults end when it is quiet; what clients do goes on. */
	if (w->now < w->plan->quiet_ms || !plan_is_fault(s))
		script_perform(w, s);
	world_next_step(w);
}

/* The world becomes a good one: everybody is up and hears everybody. */
static void
world_on_quiet(struct world *w, struct alarm *a)
{
	struct fact f = { .kind = FACT_QUIET };

	/* What sleeps wakes by itself. */
	for (unsigned i = 0; i < PLAN_MACHINES_MAX; i++) {
		if (host_is_paused(&w->hosts[i])) {
			uint64_t at = w->hosts[i].paused_until + 1;

			world_set(w, &w->end, w->end.timer.at_ms + at -
			    w->now);
			world_set(w, a, at);
			return;
		}
	}
	for (unsigned i = 0; i < PLAN_MACHINES_MAX; i++)
		w->hosts[i].stores_left = 0;
	w->is_quiet = true;
	w->table_cut_until = w->throttled_until = 0;
	starve_disarm();
	for (unsigned i = 0; i < PLAN_MACHINES_MAX; i++) {
		struct host *h = &w->hosts[i];

		if (!plan_has_machine(w->plan, i))
			continue;
		h->cut_until = h->down_until = 0;
		h->n_faults = 0;
		if (h->stopping && h->core != NULL)
			host_die(h);
		if (h->core == NULL)
			host_boot(h);
		else
			host_drain(h, false);
	}
	world_trace(w, WORLD_TRACE_SCRIPT, "-", "quiet");
	world_tell(w, &f);
}

/* Everybody goes. What is left then is a leak. */
static void
world_on_end(struct world *w, struct alarm *a)
{
	uint64_t lease_ms = 0;

	if (w->is_end) {
		w->over = true;
		return;
	}
	w->is_end = true;
	world_trace(w, WORLD_TRACE_SCRIPT, "-", "all clients leave");
	survivor_end_all(w);
	for (unsigned i = 1; i <= PLAN_CLIENTS_MAX; i++)
		if (w->customers[i].id != 0)
			customer_close(&w->customers[i]);
	for (unsigned i = 0; i < w->plan->n_peers; i++)
		peer_leave(&w->hosts[PLAN_PEER_FIRST + i]);
	/* A lost session closes, doubts are looked at, audits pass. */
	for (uint32_t i = 0; i < w->plan->n_namespaces; i++)
		if (w->namespaces[i].lease_ms > lease_ms)
			lease_ms = w->namespaces[i].lease_ms;
	world_set(w, a, w->now + 2 * lease_ms + 40000 +
	    2 * w->plan->ns.audit_ms);
}

/* ---- the end ---------------------------------------------------------- */

static void
world_check_host(struct world *w, struct host *h)
{
	struct core_namespace_view v;
	struct core_hold_view hold;
	struct core_waiter_view waiter;
	uint64_t boot_ms = host_boot_ms(h);

	if (h->core == NULL)
		return;
	for (uint32_t i = 0; i < w->plan->n_namespaces; i++) {
		core_view_namespace(h->core, i, boot_ms, &v);
		if (v.held > 0 || v.waiting > 0)
			world_find(w, "5", "%s counts %u holds and %u waiters "
			    "of nobody", h->name, v.held, v.waiting);
		/* A lock is remembered for what may still land, and for
		 * nothing else. */
		if (v.locks > v.n_in_doubt && w->plan->ns.idle_ms == 0)
			world_find(w, "5", "%s remembers %u locks for %u "
			    "doubts", h->name, v.locks, v.n_in_doubt);
	}
	if (core_next_hold(h->core, 0, boot_ms, &hold))
		world_find(w, "5", "%s still has a hold", h->name);
	if (core_next_waiter(h->core, 0, boot_ms, &waiter))
		world_find(w, "5", "%s still has a waiter", h->name);
}

void
world_loop(struct world *w)
{
	struct timer *t;

	while (!w->over && (t = heap_first(&w->heap)) != NULL) {
		struct alarm *a = (struct alarm *)(void *)t;

		w->now = t->at_ms;
		heap_unset(&w->heap, t);
		a->ring(w, a);
	}
}

/* The shortest that a host ever has. */
static uint64_t
world_least_poll_ms(const struct plan *p, uint64_t poll_ms)
{
	for (size_t i = 0; i < p->n_steps; i++)
		if (p->steps[i].poll_ms > 0 && p->steps[i].poll_ms < poll_ms)
			poll_ms = p->steps[i].poll_ms;
	return poll_ms;
}

static struct judge_rules
world_rules(const struct plan *p)
{
	struct core_namespace n, old;
	uint64_t request_ms, try_ms;
	struct judge_rules rules;

	plan_namespace(p, p->bridge, &n);
	plan_namespace(p, 0, &old);
	request_ms = n.request_ms > old.request_ms ? n.request_ms :
	    old.request_ms;
	try_ms = n.try_ms > old.try_ms ? n.try_ms : old.try_ms;
	rules = (struct judge_rules){
		.lease_ms = n.lease_ms, .danger_ms = n.danger_ms,
		.margin_ms = n.margin_ms, .idle_ms = n.idle_ms,
		.keeps_idle = n.keeps_idle,
		.lateness_ms = p->lateness_ms,
		.handover_max = n.handover_max,
		.line_max = n.line_max,
		.sessions_max = p->n_namespaces,
		.retention_s = p->retention_s,
		.requests_per_client_max =
		    p->limits.requests_per_client_max,
		.holds_per_client_max = p->limits.holds_per_client_max,
		.all_may_resume =
		    p->limits.clients_max >= 2 * PLAN_CLIENTS_MAX,
		.drift_ppm = n.drift_ppm, .poll_ms = n.poll_ms,
		.poll_least_ms = world_least_poll_ms(p, n.poll_ms),
		.request_ms = request_ms, .try_ms = try_ms,
		.audit_ms = n.audit_ms,
		/* Look at the record, at its session, kill, take; and each
		 * of these after an alarm. */
		.slack_ms = 2 * request_ms +
		    8 * (p->latency_max_ms + p->lateness_ms + 1),
		.sees_table = true,
		.bridge = p->bridge,
		.old = { old.lease_ms, old.danger_ms, old.margin_ms },
	};
	for (uint32_t i = 0; i < p->n_namespaces; i++) {
		const struct plan_namespace *of = &p->namespaces[i];

		rules.foreign[i].is = of->format != FORMAT_NATIVE;
		rules.foreign[i].tokens = of->format == FORMAT_JS_OPEN ||
		    (of->format == FORMAT_DLOCK && of->fencing);
		if (of->skew_ms > rules.skew_ms)
			rules.skew_ms = of->skew_ms;
	}
	return rules;
}

static void
world_init(struct world *w, const struct plan *p,
    const struct world_options *options)
{
	struct judge_rules rules = world_rules(p);

	w->plan = p;
	w->options = options;
	w->judge = judge_new(&rules, p->n_namespaces);
	if (w->judge == NULL)
		exit(1);
	w->act = customer_act;
	w->refuse = customer_refused;
	w->serve = network_serve;
	w->journal_bytes = WORLD_JOURNAL_BYTES;
	w->n_hosts = PLAN_MACHINES_MAX;
	w->hosts = world_alloc(PLAN_MACHINES_MAX * sizeof(*w->hosts));
	table_init(w);
	world_add_alarm(w, &w->script, world_on_step);
	world_add_alarm(w, &w->quiet, world_on_quiet);
	world_add_alarm(w, &w->end, world_on_end);
	for (unsigned i = 0; i < PLAN_MACHINES_MAX; i++)
		if (plan_has_machine(p, i))
			host_init(w, i);
	for (unsigned i = 0; i < p->n_hosts; i++)
		if (!p->hosts[i].absent)
			host_boot(&w->hosts[i]);
	world_next_step(w);
	world_set(w, &w->quiet, p->quiet_ms);
	world_set(w, &w->end, p->end_ms);
}

static void
world_done(struct world *w)
{
	customer_done(w);
	survivor_done(w);
	for (unsigned i = 0; i < PLAN_MACHINES_MAX; i++)
		if (plan_has_machine(w->plan, i))
			host_done(&w->hosts[i]);
	network_done(w);
	post_done(w);
	world_remove_alarm(w, &w->script);
	world_remove_alarm(w, &w->quiet);
	world_remove_alarm(w, &w->end);
	heap_done(&w->heap);
	table_done(w);
	free(w->hosts);
	judge_free(w->judge);
}

/* What the plan says of the numbers. */
static void
world_expect_number(struct world *w, const char *what, uint64_t n,
    uint32_t expected)
{
	if (expected != PLAN_WHATEVER && n != expected)
		world_find(w, "expect", "%s are %" PRIu64 " and not %" PRIu32,
		    what, n, expected);
}

static void
world_expect(struct world *w, const struct judge_counts *counts)
{
	const struct plan_expect *e = &w->plan->expect;

	world_expect_number(w, "losses", counts->losses, e->losses);
	world_expect_number(w, "grants", counts->grants, e->grants);
	world_expect_number(w, "changes", counts->changes, e->changes);
}

void
world_run(const struct plan *p, const struct world_options *options,
    struct world_result *ret)
{
	struct world *w = world_alloc(sizeof(*w));
	struct world_options quiet = *options;
	bool foreign = p->namespaces[0].format != FORMAT_NATIVE;

	/* What the native format reaches is counted by itself. */
	quiet.coverage = NULL;
	starve_disarm();
	world_init(w, p, foreign ? &quiet : options);
	world_loop(w);
	if (!w->guilty) {
		w->over = false;
		for (unsigned i = 0; i < p->n_hosts; i++)
			world_check_host(w, &w->hosts[i]);
	}
	if (!w->guilty && !judge_end(w->judge, w->now))
		world_guilty(w, judge_finding(w->judge));
	*ret = (struct world_result){ .guilty = false };
	judge_count(w->judge, &ret->counts);
	world_expect(w, &ret->counts);
	ret->guilty = w->guilty;
	ret->finding = w->finding;
	w->history.grants = ret->counts.grants;
	if (options->coverage != NULL && !w->guilty && foreign)
		coverage_add_foreign(options->coverage, p, &w->history,
		    &ret->counts);
	else if (options->coverage != NULL && !w->guilty)
		coverage_add_history(options->coverage, p, &w->history);
	world_done(w);
	free(w);
}

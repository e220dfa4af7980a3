/*
 * What a day shows, figure by figure: lines for people, or one line of JSON
 * with the same names.
 */
#include "fleet_state.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#define REPORT_MONTH_MS (UINT64_C(30) * 24 * 60 * 60 * 1000)

struct report {
	FILE *to;
	bool json;
	const char *before;	/* the next figure */
};

__attribute__((format(printf, 4, 5)))
static void
report_put(struct report *r, int decimals, double value, const char *format,
    ...)
{
	char name[64];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(name, sizeof(name), format, arguments);
	va_end(arguments);
	/* The names of operations have more than one word. */
	for (char *p = name; *p != '\0'; p++)
		if (*p == ' ')
			*p = '_';
	if (r->json)
		(void)fprintf(r->to, "%s\"%s\":%.*f", r->before, name,
		    decimals, value);
	else
		(void)fprintf(r->to, "%-32s %14.*f\n", name, decimals, value);
	r->before = ",";
}

/* ---- times ------------------------------------------------------------ */

void
fleet_times_add(struct fleet_times *t, uint64_t ms)
{
	if (t->n == t->size) {
		t->size = 2 * t->size + 64;
		t->ms = realloc(t->ms, t->size * sizeof(*t->ms));
		if (t->ms == NULL) {
			(void)fprintf(stderr, "ddblock-sim: out of memory\n");
			exit(1);
		}
	}
	t->ms[t->n++] = ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX;
}

static int
report_compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Of sorted times the one that @percent of them do not exceed. */
static double
report_at(const struct fleet_times *t, unsigned percent)
{
	size_t rank = (t->n * percent + 99) / 100;

	return t->n == 0 ? 0 : t->ms[rank == 0 ? 0 : rank - 1];
}

static void
report_times(struct report *r, const struct fleet_times *t, const char *name)
{
	if (t->n > 0)
		qsort(t->ms, t->n, sizeof(*t->ms), report_compare);
	report_put(r, 0, (double)t->n, "%s.count", name);
	report_put(r, 0, report_at(t, 50), "%s.median_ms", name);
	report_put(r, 0, report_at(t, 99), "%s.p99_ms", name);
	report_put(r, 0, report_at(t, 100), "%s.max_ms", name);
}

/* ---- requests and units ----------------------------------------------- */

static double
report_units(uint64_t milliunits)
{
	return (double)milliunits / 1000;
}

static void
report_kind(struct report *r, const struct fleet_kind *k, const char *name)
{
	report_put(r, 0, (double)k->requests, "%s.requests", name);
	report_put(r, 0, (double)k->throttled, "%s.throttled", name);
	report_put(r, 0, report_units(k->used[FLEET_READS]), "%s.read_units",
	    name);
	report_put(r, 0, report_units(k->used[FLEET_WRITES]),
	    "%s.write_units", name);
}

static void
report_kinds(struct report *r, const struct fleet *f)
{
	const struct fleet_kind *kinds = f->figures.kinds;
	struct fleet_kind all = { 0 };

	for (unsigned i = 0; i < FLEET_KINDS; i++) {
		all.requests += kinds[i].requests;
		all.throttled += kinds[i].throttled;
		for (unsigned k = 0; k < FLEET_WAYS; k++)
			all.used[k] += kinds[i].used[k];
	}
	report_kind(r, &all, "all");
	for (unsigned i = 0; i < FLEET_KINDS; i++)
		if (kinds[i].requests > 0)
			report_kind(r, &kinds[i], i == PLAN_ANY ? "other" :
			    operation_kind_name((enum operation_kind)i));
}

static void
report_hottest(struct report *r, const struct fleet *f)
{
	static const char *const words[] = { "read", "write" };
	const struct fleet_partition *hot = fleet_capacity_hottest(f);
	size_t n = f->capacity.n_seconds;

	for (unsigned i = 0; i < FLEET_WAYS; i++) {
		uint64_t worst = 0;

		for (size_t k = 0; k < n; k++)
			if (hot->seconds[i][k] > worst)
				worst = hot->seconds[i][k];
		report_put(r, 1, report_units(hot->used[i]) / (double)n,
		    "hottest.%s_units_s", words[i]);
		report_put(r, 0, report_units(worst),
		    "hottest.%s_units_worst_s", words[i]);
	}
}

/* A host that holds locks or none, and waits for none, only beats. */
static void
report_rest(struct report *r, const struct fleet *f)
{
	const struct fleet_kind *beats =
	    &f->figures.kinds[OPERATION_SESSION_BEAT];

	report_put(r, 0, report_units(beats->used[FLEET_WRITES]) *
	    (double)REPORT_MONTH_MS / (double)f->figures.host_ms,
	    "rest.write_units_month");
}

static void
report_shares(struct report *r, const struct fleet *f)
{
	uint32_t least = UINT32_MAX, most = 0;

	for (unsigned i = 0; i < f->options->n_hosts; i++) {
		uint32_t n = f->host_grants[i];

		least = n < least ? n : least;
		most = n > most ? n : most;
	}
	report_put(r, 0, (double)f->figures.grants, "grants");
	report_put(r, 0, least, "grants.least_of_host");
	report_put(r, 0, most, "grants.most_of_host");
}

void
fleet_report(struct fleet *f, FILE *to)
{
	const struct fleet_options *o = f->options;
	struct fleet_figures *g = &f->figures;
	struct report r = { .to = to, .json = o->json, .before = "," };

	(void)fprintf(to, o->json ? "{\"day\":\"%s\"" : "day %s\n", o->day);
	report_put(&r, 0, o->n_hosts, "hosts");
	report_put(&r, 0, (double)o->seed, "seed");
	report_put(&r, 0, (double)(f->end_ms - f->begin_ms) / 60000,
	    "minutes");
	report_put(&r, 0, (double)f->plan.ns.poll_ms, "poll_ms");
	report_put(&r, 0, (double)f->plan.ns.lease_ms, "lease_ms");
	report_kinds(&r, f);
	report_hottest(&r, f);
	report_shares(&r, f);
	report_put(&r, 0, (double)g->refusals, "refusals");
	report_put(&r, 0, (double)g->errors, "errors");
	report_put(&r, 0, (double)g->losses, "losses");
	report_put(&r, 0, (double)g->restarts, "restarts");
	report_put(&r, 0, (double)g->deaths, "deaths");
	report_put(&r, 0, (double)g->most_marks, "waiter_marks_most");
	report_times(&r, &g->handovers, "handover");
	report_times(&r, &g->takeovers, "takeover");
	report_times(&r, &g->waits, "wait");
	report_rest(&r, f);
	if (o->json)
		(void)fprintf(to, "}\n");
}

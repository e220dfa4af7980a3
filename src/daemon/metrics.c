/*
 * The text of all metrics, piece by piece.
 *
 * A position is a family, a namespace, and an item of that: a prefix or a kind
 * of operation. What belongs together, as the buckets of a histogram, is in one
 * piece. Between pieces the loop may have gone on, so the text is no snapshot;
 * each counter still only rises.
 */
#include <config.h>	/* the build's */

#include "daemon/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/openmetrics.h"
#include "ipc/connection/proc_file.h"
#include "ipc/protocol.h"
#include "store/store.h"

#define METRICS_STEPS_MAX 64	/* places that one piece looks at */
#define METRICS_NAMED_MAX 32

/* Of what a family has samples (metrics.def). */
enum metrics_source {
	METRICS_DAEMON = 1,
	METRICS_HINTS,
	METRICS_NAMESPACE,
	METRICS_SESSION,
	METRICS_TRAFFIC,
	METRICS_FIGURES,	/* of a namespace, by prefix */
	METRICS_OPERATIONS,	/* of a namespace, by kind of operation */
};

enum metrics_id {
#define VALUE(name, ...) METRICS_ID_##name,
#define FAMILY(name, ...) METRICS_ID_##name,
#include "daemon/metrics.def"
	METRICS_IDS,
};

/* What there is to know of the daemon. */
struct metrics_daemon {
	struct server_figures server;
	struct server_hints hints;
};

/* What a sample is made from; members that its source has no use for are zero.
 */
struct metrics_place {
	const struct metrics_view *view;
	const struct openmetrics_family *family;
	struct metrics_daemon daemon;
	uint32_t namespace_index;
	uint32_t item;
	struct core_namespace_view ns;
	struct store_status store;
	struct openmetrics_labels labels;
	struct buffer *to;
};

/* ---- what is counted -------------------------------------------------- */

void
metrics_start(struct metrics *m)
{
	m->started_wall_ms = clock_wall_ms();
}

void
metrics_outcome(struct metrics *m, const struct operation *operation,
    const struct outcome *outcome, uint64_t now_ms)
{
	struct metrics_operations *o =
	    &m->operations[operation->namespace_index];
	const bool failed = outcome->kind == OUTCOME_UNKNOWN ||
	    outcome->kind == OUTCOME_REFUSED;

	o->outcomes[operation->kind][outcome->kind]++;
	histogram_add(&o->took[operation->kind], HISTOGRAM_REQUESTS,
	    now_ms > operation->submitted_ms ?
	    now_ms - operation->submitted_ms : 0);
	if (failed && outcome->code <= 0 && outcome->code > -ERROR_CODES_MAX)
		o->errors[-outcome->code]++;
}

void
metrics_lag(struct metrics *m, uint64_t due_ms, uint64_t now_ms)
{
	histogram_add(&m->lag, HISTOGRAM_REQUESTS,
	    now_ms > due_ms ? now_ms - due_ms : 0);
}

void
metrics_refused(struct metrics *m, int code)
{
	if (code <= 0 && code > -ERROR_CODES_MAX)
		m->refused[-code]++;
}

/* ---- writers ---------------------------------------------------------- */

static void
metrics_sample(struct metrics_place *p, uint64_t value)
{
	openmetrics_sample(p->to, p->family, &p->labels, value);
}

/* A sample with one label more. */
static void
metrics_sample_of(struct metrics_place *p, const char *label,
    const char *word, uint64_t value)
{
	struct openmetrics_labels labels = p->labels;

	openmetrics_label(&labels, label, word);
	openmetrics_sample(p->to, p->family, &labels, value);
}

/* One for each error that was seen. */
static void
metrics_samples_of_codes(struct metrics_place *p,
    const uint64_t counts[ERROR_CODES_MAX])
{
	for (int i = 1; i < ERROR_CODES_MAX; i++) {
		if (counts[i] > 0)
			metrics_sample_of(p, "code", error_word(-i),
			    counts[i]);
	}
}

static void
metrics_write_build(struct metrics_place *p)
{
	metrics_sample_of(p, "version", PACKAGE_VERSION, 1);
}

static void
metrics_write_lag(struct metrics_place *p)
{
	openmetrics_histogram(p->to, p->family, &p->labels,
	    &p->view->metrics->lag);
}

static void
metrics_write_requests(struct metrics_place *p)
{
	for (unsigned i = 0; i < VERBS; i++)
		metrics_sample_of(p, "verb", protocol_verb(i)->word,
		    server_requests(p->view->server, i));
}

static void
metrics_write_refused(struct metrics_place *p)
{
	metrics_samples_of_codes(p, p->view->metrics->refused);
}

static void
metrics_write_memory(struct metrics_place *p)
{
	metrics_sample_of(p, "account", "locks",
	    core_view_memory(p->view->core, CORE_ALL_USERS));
	metrics_sample_of(p, "account", "lines",
	    p->daemon.server.queued_bytes);
}

/* Not for a client that is not shown all there is. */
static void
metrics_write_users(struct metrics_place *p)
{
	const uint64_t all = UINT64_MAX >> (64 - p->view->n_namespaces);
	struct server_user_memory users[SERVER_USERS_MAX];
	uint64_t others = p->daemon.server.queued_bytes +
	    core_view_memory(p->view->core, CORE_ALL_USERS);
	char name[METRICS_NAMED_MAX];
	size_t n;

	if ((p->view->namespaces & all) != all)
		return;
	n = server_view_users(p->view->server, users);
	for (size_t i = 0; i < n; i++) {
		others -= users[i].bytes < others ? users[i].bytes : others;
		(void)snprintf(name, sizeof(name), "%ju",
		    (uintmax_t)users[i].uid);
		metrics_sample_of(p, "user", name, users[i].bytes);
	}
	metrics_sample_of(p, "user", "others", others);
}

static void
metrics_write_namespace(struct metrics_place *p)
{
	openmetrics_label(&p->labels, "store", p->store.kind);
	openmetrics_label(&p->labels, "scope", p->store.scope);
	openmetrics_label(&p->labels, "format", p->store.format);
	openmetrics_label(&p->labels, "where", p->store.where);
	metrics_sample(p, 1);
}

static const struct core_figures *
metrics_figures(const struct metrics_place *p)
{
	return &p->ns.figures[p->item];
}

static void
metrics_write_grants(struct metrics_place *p)
{
	metrics_sample(p, metrics_figures(p)->granted);
}

/* All reasons: what is 0 may be 1 the next time, which is a change. */
static void
metrics_write_losses(struct metrics_place *p)
{
	for (int i = 1; i < CORE_LOSSES; i++)
		metrics_sample_of(p, "reason",
		    core_loss_name((enum core_loss)i),
		    metrics_figures(p)->lost[i]);
}

static void
metrics_write_dangers(struct metrics_place *p)
{
	metrics_sample(p, metrics_figures(p)->endangered);
}

static void
metrics_write_failures(struct metrics_place *p)
{
	metrics_samples_of_codes(p, metrics_figures(p)->failed);
}

static void
metrics_write_waits(struct metrics_place *p)
{
	openmetrics_histogram(p->to, p->family, &p->labels,
	    &metrics_figures(p)->waited);
}

static void
metrics_write_hold_times(struct metrics_place *p)
{
	openmetrics_histogram(p->to, p->family, &p->labels,
	    &metrics_figures(p)->held);
}

static const struct metrics_operations *
metrics_operations(const struct metrics_place *p)
{
	return &p->view->metrics->operations[p->namespace_index];
}

/* Was any of its kind asked? */
static bool
metrics_was_asked(const struct metrics_operations *o, uint32_t kind)
{
	uint64_t n = 0;

	for (int i = 1; i < OUTCOME_KINDS; i++)
		n += o->outcomes[kind][i];
	return n > 0;
}

static void
metrics_write_operations(struct metrics_place *p)
{
	const struct metrics_operations *o = metrics_operations(p);

	if (!metrics_was_asked(o, p->item))
		return;
	for (int i = 1; i < OUTCOME_KINDS; i++)
		metrics_sample_of(p, "outcome",
		    outcome_kind_name((enum outcome_kind)i),
		    o->outcomes[p->item][i]);
}

static void
metrics_write_operation_times(struct metrics_place *p)
{
	const struct metrics_operations *o = metrics_operations(p);

	if (metrics_was_asked(o, p->item))
		openmetrics_histogram(p->to, p->family, &p->labels,
		    &o->took[p->item]);
}

static void
metrics_write_errors(struct metrics_place *p)
{
	metrics_samples_of_codes(p, metrics_operations(p)->errors);
}

static void
metrics_write_trouble(struct metrics_place *p)
{
	const int code = p->ns.cause != 0 ? p->ns.cause : p->store.last_error;

	if (code != 0)
		metrics_sample_of(p, "code", error_word(code), 1);
}

static void
metrics_write_consumed(struct metrics_place *p)
{
	metrics_sample_of(p, "kind", "read",
	    p->store.traffic.read_milliunits);
	metrics_sample_of(p, "kind", "write",
	    p->store.traffic.write_milliunits);
}

/* ---- the families ----------------------------------------------------- */

static const struct metrics_family {
	struct openmetrics_family family;
	enum metrics_source source;
	void (*write)(struct metrics_place *);	/* NULL: metrics_value() */
} metrics_families[] = {
#define VALUE(name, kind, unit, source, value, help)                           \
	{ { #name, OPENMETRICS_##kind, OPENMETRICS_##unit, 0, help },          \
	    METRICS_##source, NULL },
#define FAMILY(name, kind, unit, scale, source, writer, labels, help)          \
	{ { #name, OPENMETRICS_##kind, OPENMETRICS_##unit, HISTOGRAM_##scale,  \
	      help },                                                          \
	    METRICS_##source, metrics_write_##writer },
#include "daemon/metrics.def"
};

/* The second number, of pages. */
static uint64_t
metrics_resident_bytes(void)
{
	char text[PROC_FILE_MAX], *end;

	if (!proc_file_read("/proc/self/statm", text))
		return 0;
	(void)strtoull(text, &end, 10);
	return (uint64_t)strtoull(end, NULL, 10) *
	    (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t
metrics_value(enum metrics_id id, const struct metrics_place *p)
{
	const struct metrics_daemon *d = &p->daemon;
	const struct core_namespace_view *v = &p->ns;
	const struct store_status *s = &p->store;

	switch (id) {
#define VALUE(name, kind, unit, source, value, help)                           \
	case METRICS_ID_##name:                                                \
		return value;
#define FAMILY(name, ...) case METRICS_ID_##name:
#include "daemon/metrics.def"
	case METRICS_IDS:
		break;
	}
	return 0;
}

/* ---- facts ------------------------------------------------------------ */

/* False: there are no hints. */
static bool
metrics_look_at_daemon(struct metrics_place *p, enum metrics_source source)
{
	struct metrics_daemon *d = &p->daemon;
	const struct metrics_view *v = p->view;

	server_view_figures(v->server, &d->server);
	return source == METRICS_DAEMON || v->hints(v->arg, &d->hints);
}

/* False: there is nothing of that. */
static bool
metrics_look_at_namespace(struct metrics_place *p, enum metrics_source source)
{
	const struct metrics_view *v = p->view;

	core_view_namespace(v->core, p->namespace_index, clock_boot_ms(),
	    &p->ns);
	store_view_status(v->stores[p->namespace_index], &p->store);
	openmetrics_label(&p->labels, "namespace", p->ns.name);
	if (source == METRICS_FIGURES)
		openmetrics_label(&p->labels, "prefix",
		    metrics_figures(p)->prefix);
	if (source == METRICS_OPERATIONS)
		openmetrics_label(&p->labels, "operation",
		    operation_kind_name((enum operation_kind)p->item));
	return (source != METRICS_TRAFFIC || p->store.has_traffic) &&
	    (source != METRICS_SESSION || (p->ns.format == NULL &&
	    p->ns.open));
}

static bool
metrics_is_daemon(enum metrics_source source)
{
	return source == METRICS_DAEMON || source == METRICS_HINTS;
}

/* ---- the text --------------------------------------------------------- */

static void
metrics_write_place(struct metrics_place *p, enum metrics_id id)
{
	const struct metrics_family *f = &metrics_families[id];
	const bool known = metrics_is_daemon(f->source) ?
	    metrics_look_at_daemon(p, f->source) :
	    metrics_look_at_namespace(p, f->source);

	if (known && f->write != NULL)
		f->write(p);
	else if (known)
		metrics_sample(p, metrics_value(id, p));
}

/* How many items a namespace has, from 0 on. */
static uint32_t
metrics_n_items(const struct metrics_view *v, enum metrics_source source,
    uint32_t namespace_index)
{
	struct core_namespace_view ns;

	if (source == METRICS_OPERATIONS)
		return OPERATION_KINDS;
	if (source != METRICS_FIGURES)
		return 1;
	core_view_namespace(v->core, namespace_index, clock_boot_ms(), &ns);
	return ns.n_figures;
}

bool
metrics_write(const struct metrics_view *v, uint64_t *position,
    struct buffer *to)
{
	uint32_t id = (uint32_t)(*position >> 48);
	uint32_t ns = (uint32_t)(*position >> 32) & UINT16_MAX;
	uint32_t item = (uint32_t)*position;
	const size_t before = to->length;

	for (int i = 0; i < METRICS_STEPS_MAX && to->length == before; i++) {
		const struct metrics_family *f = &metrics_families[id];
		struct metrics_place place = {
			.view = v, .family = &f->family,
			.namespace_index = ns, .item = item, .to = to,
		};

		if (id == METRICS_IDS) {
			(void)buffer_append_text(to, OPENMETRICS_END);
			return false;
		}
		if (ns == 0 && item == 0)
			openmetrics_begin(to, &f->family);
		if (metrics_is_daemon(f->source) || (ns < v->n_namespaces &&
		    (v->namespaces >> ns & 1) != 0))
			metrics_write_place(&place, id);
		if (!metrics_is_daemon(f->source) && ns < v->n_namespaces &&
		    ++item < metrics_n_items(v, f->source, ns))
			continue;
		item = 0;
		if (metrics_is_daemon(f->source) || ++ns >= v->n_namespaces) {
			ns = 0;
			id++;
		}
	}
	*position = (uint64_t)id << 48 | (uint64_t)ns << 32 | item;
	return true;
}

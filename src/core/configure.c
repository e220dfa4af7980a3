/*
 * Other settings while the core runs. What they mean for what is under way:
 *
 *   poll            who waits for another host's lock looks again within the
 *                   new time; who stands back does so as it began
 *   request, try    from the next operation or request on
 *   audit           the next round begins within the new time
 *   handover_max    from the next hand-over on; a block of tokens that is asked
 *                   for keeps its size
 *   idle            what is kept idle now is kept no longer than that
 *   list_capacity, request_rate, refresh_rate
 *                   from the next page, request or renewal on
 *   limits          what is above stays, and nothing is added to it
 *
 * All other times of a namespace are the timeline of a lease, which other hosts
 * count by, or facts of its store: they do not change.
 */
#include "core/configure.h"

#include <stdlib.h>
#include <string.h>

#include "core/client/client.h"
#include "core/figures.h"
#include "core/namespace.h"
#include "core/rate.h"
#include "core/reads/reads.h"
#include "core/timing.h"
#include "ddblock.h"

/* ---- making namespaces ------------------------------------------------ */

static int
namespace_init(struct core *core, uint32_t index,
    const struct core_namespace *settings)
{
	struct namespace *ns = &core->namespaces[index];
	const char *setting;
	char text[OUTCOME_TEXT_MAX];

	ns->core = core;
	ns->index = index;
	ns->settings = *settings;
	namespace_set_format(ns);
	ns->settings.hints = settings->hints && ns->has_sessions;
	ns->settings.name = strdup(settings->name);
	ns->settings.format = NULL;
	ns->settings.metrics_prefixes = NULL;	/* figures.c has them */
	if (settings->format != NULL)
		ns->settings.format = strdup(settings->format);
	if (ns->settings.name == NULL ||
	    (settings->format != NULL && ns->settings.format == NULL) ||
	    figures_init(ns, settings->metrics_prefixes) < 0 ||
	    session_init(core, ns) < 0 || lock_init(ns) < 0 ||
	    reads_new(core, ns) < 0)
		return DDBLOCK_E_NOMEM;
	return timing_check(settings, &setting, text, sizeof(text));
}

static int
namespace_cross(struct core *core, struct namespace *ns)
{
	uint32_t bridge = ns->settings.bridge;

	if (bridge == 0)
		return 0;
	if (bridge > core->n_namespaces || bridge - 1 == ns->index ||
	    !ns->has_sessions || !core->namespaces[bridge - 1].renews_records)
		return DDBLOCK_E_BAD_REQUEST;
	namespace_set_bridge(ns, &core->namespaces[bridge - 1]);
	return 0;
}

int
configure_namespaces(struct core *core, const struct core_config *config)
{
	uint32_t first = core->n_namespaces;
	int code = 0;

	for (uint32_t i = first; code == 0 && i < config->n_namespaces; i++) {
		core->n_namespaces++;
		code = namespace_init(core, i, &config->namespaces[i]);
	}
	for (uint32_t i = first; code == 0 && i < core->n_namespaces; i++)
		code = namespace_cross(core, &core->namespaces[i]);
	return code;
}

void
configure_free_namespace(struct core *core, struct namespace *ns)
{
	lock_free_all(core, ns);
	observe_free_all(ns);
	session_free_all(ns);
	reads_free(ns);
	rate_free_all(ns);
	figures_done(ns);
	free((void *)(uintptr_t)ns->settings.name);
	free((void *)(uintptr_t)ns->settings.format);
}

/* Nobody has heard of it yet: it has its first timers, and nothing else. */
static void
namespace_unmake(struct core *core, struct namespace *ns)
{
	heap_unset(&core->heap, &ns->timer);
	reads_unset(core, ns);
	configure_free_namespace(core, ns);
	memset(ns, 0, sizeof(*ns));
}

/* ---- what may change -------------------------------------------------- */

static bool
namespace_has_timeline(const struct core_namespace *a,
    const struct core_namespace *b)
{
	return a->lease_ms == b->lease_ms &&
	    a->heartbeat_ms == b->heartbeat_ms &&
	    a->danger_ms == b->danger_ms && a->margin_ms == b->margin_ms &&
	    a->drift_ppm == b->drift_ppm;
}

static bool
namespace_has_store(const struct core_namespace *a,
    const struct core_namespace *b)
{
	return a->sole_writer == b->sole_writer &&
	    a->no_foreign_waiters == b->no_foreign_waiters &&
	    a->keeps_idle == b->keeps_idle && a->life == b->life &&
	    a->bridge == b->bridge &&
	    /* What it lacks over its bridge was added here. */
	    (a->lacks & b->lacks) == b->lacks;
}

static int
configure_check(const struct core *core, const struct core_config *config)
{
	const char *setting;
	char text[OUTCOME_TEXT_MAX];

	if (core->stopping)
		return DDBLOCK_E_SHUTTING_DOWN;
	if (config->n_namespaces < core->n_namespaces ||
	    config->n_namespaces > CORE_NAMESPACES_MAX)
		return DDBLOCK_E_BAD_REQUEST;
	for (uint32_t i = 0; i < core->n_namespaces; i++) {
		const struct core_namespace *is =
		    &core->namespaces[i].settings;
		const struct core_namespace *to = &config->namespaces[i];

		if (strcmp(is->name, to->name) != 0 ||
		    !namespace_has_timeline(is, to) ||
		    !namespace_has_store(is, to))
			return DDBLOCK_E_BAD_REQUEST;
		if (timing_check(to, &setting, text, sizeof(text)) < 0)
			return DDBLOCK_E_BAD_REQUEST;
	}
	return 0;
}

/* ---- the change ------------------------------------------------------- */

static void
namespace_change(struct namespace *ns, const struct core_namespace *to)
{
	struct core_namespace *t = &ns->settings;

	t->poll_ms = to->poll_ms;
	t->request_ms = to->request_ms;
	t->try_ms = to->try_ms;
	t->audit_ms = to->audit_ms;
	t->handover_max = to->handover_max;
	t->line_max = to->line_max;
	t->idle_ms = to->idle_ms;
	t->list_capacity = to->list_capacity;
	t->request_rate = to->request_rate;
	t->refresh_rate = to->refresh_rate;
	t->removed = to->removed;
}

/* What was begun by the old times goes by the new ones. */
static void
namespace_pace(struct core *core, struct namespace *ns)
{
	observe_pace(core, ns);
	client_pace(core, ns);
	lock_pace_namespace(core, ns);
	reads_pace(core, ns);
}

static uint32_t
configure_bound(uint32_t limit, uint32_t there_are)
{
	return there_are > limit ? there_are : limit;
}

void
configure_settle_bounds(struct core *core)
{
	const struct core_limits *limits = &core->limits;
	struct bounds *b = &core->bounds;

	b->clients = configure_bound(limits->clients_max,
	    HASH_COUNT(core->clients));
	b->watches = configure_bound(limits->watches_max,
	    (uint32_t)core->shares.has[SHARE_WATCHES]);
	b->locks = configure_bound(limits->locks_max, core->n_locks);
	b->above = b->clients > limits->clients_max ||
	    b->watches > limits->watches_max || b->locks > limits->locks_max;
}

int
configure(struct core *core, const struct core_config *config)
{
	uint32_t n = core->n_namespaces;
	int code = configure_check(core, config);

	if (code == 0)
		code = configure_namespaces(core, config);
	if (code < 0) {
		while (core->n_namespaces > n)
			namespace_unmake(core,
			    &core->namespaces[--core->n_namespaces]);
		return code;
	}
	core->limits = config->limits;
	configure_settle_bounds(core);
	for (uint32_t i = 0; i < n; i++)
		namespace_change(&core->namespaces[i], &config->namespaces[i]);
	client_refuse_drained(core);
	for (uint32_t i = 0; i < n; i++)
		namespace_pace(core, &core->namespaces[i]);
	return 0;
}

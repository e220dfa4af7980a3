/*
 * The core's outside: making one, and stepping it.
 *
 * A step first runs every timer that is due, then the event, then the timers
 * that the event made due. So a lease that ended while the host slept is lost
 * before the late answer that would have saved it is looked at. What either
 * makes due of requests for several locks is done before the next of them, and
 * nothing overtakes it meanwhile (client/multi.c).
 */
#include "core/core.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/action.h"
#include "core/reads/reads.h"
#include "core/timing.h"
#include "ddblock.h"

static const struct lease_events core_lease_events = {
	.lost = lock_lease_lost,
	.record_lost = lock_record_lost,
	.record_due = lock_record_due,
	.tell = notice_lease,
	.renewed = notice_own,
	.answer = renew_answer,
	.outage = notice_outage,
	.opened = wait_opened,
	.refused = wait_refused,
	.closed = lock_session_closed,
	.unblocked = lock_unblocked,
	.observed = wait_observed,
	.doubted = lock_doubted,
	.is_live = lock_has_live,
};

static const struct lock_events core_lock_events = {
	.granted = wait_granted,
	.learnt = wait_review,
	.answered = request_answered,
	.updated = renew_updated,
	.downgraded = downgrade_told,
	.lost = hold_lost,
	.ask_several = multi_ask,
	.check = hold_check,
	.tokens_lacking = bridge_tokens_lacking,
	.tokens_known = bridge_tokens_known,
	.wants_look = watch_wants_look,
	.seen = watch_seen,
	.unseen = watch_failed,
	.touched = watch_touch,
};

static const struct client_events core_client_events = {
	.left = watch_left,
};

/* ---- making and freeing ----------------------------------------------- */

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
	ns->settings.name = strdup(settings->name);
	ns->settings.format = NULL;
	if (settings->format != NULL)
		ns->settings.format = strdup(settings->format);
	if (ns->settings.name == NULL ||
	    (settings->format != NULL && ns->settings.format == NULL) ||
	    session_init(core, ns) < 0 || lock_init(ns) < 0 ||
	    reads_new(core, ns) < 0)
		return DDBLOCK_E_NOMEM;
	return timing_check(settings, &setting, text, sizeof(text));
}

/* What is held in two records can only be what both can express; and what is
 * kept in one of them would not be in the other. */
static int
namespace_cross(const struct core *core, struct namespace *ns)
{
	uint32_t bridge = ns->settings.bridge;
	const struct core_namespace *old;

	if (bridge == 0)
		return 0;
	if (bridge > core->n_namespaces || bridge - 1 == ns->index ||
	    !namespace_has_sessions(ns))
		return DDBLOCK_E_BAD_REQUEST;
	if (!namespace_renews_records(namespace_bridge(ns)))
		return DDBLOCK_E_BAD_REQUEST;
	old = &namespace_bridge(ns)->settings;
	ns->settings.lacks |= (old->lacks & ~(unsigned)CORE_LACKS_TOKENS) |
	    CORE_LACKS_DATA | CORE_LACKS_ATTRIBUTES;
	return 0;
}

int
core_new(const struct core_config *config, const uint64_t seed[4],
    uint64_t now_ms, struct core **ret)
{
	struct core *core = calloc(1, sizeof(*core));
	int code = 0;

	if (core == NULL)
		return DDBLOCK_E_NOMEM;
	core->limits = config->limits;
	core->now_ms = now_ms;
	core->actions_end = &core->actions;
	core->lease_events = &core_lease_events;
	core->lock_events = &core_lock_events;
	core->client_events = &core_client_events;
	random_init(&core->random, seed);
	core->host = strdup(config->host);
	core->namespaces =
	    calloc(config->n_namespaces, sizeof(*core->namespaces));
	if (core->host == NULL || core->namespaces == NULL ||
	    client_init(core) < 0)
		code = DDBLOCK_E_NOMEM;
	for (uint32_t i = 0; code == 0 && i < config->n_namespaces; i++) {
		core->n_namespaces++;
		code = namespace_init(core, i, &config->namespaces[i]);
	}
	for (uint32_t i = 0; code == 0 && i < core->n_namespaces; i++)
		code = namespace_cross(core, &core->namespaces[i]);
	if (code < 0) {
		core_free(core);
		return code;
	}
	*ret = core;
	return 0;
}

static void
core_free_namespace(struct core *core, struct namespace *ns)
{
	lock_free_all(core, ns);
	observe_free_all(ns);
	session_free_all(ns);
	reads_free(ns);
	free((void *)(uintptr_t)ns->settings.name);
	free((void *)(uintptr_t)ns->settings.format);
}

/* The caller is done with the last step's actions. */
static void
core_forget(struct core *core)
{
	struct core_action *a = core->actions;

	notice_forget(a);
	while (a != NULL) {
		struct core_action *next = a->next;

		a->next = NULL;
		a = next;
	}
	core->actions = NULL;
	core->actions_end = &core->actions;
	client_forget(core);
}

void
core_free(struct core *core)
{
	struct timer *t;

	if (core == NULL)
		return;
	core_forget(core);
	/* So that no timer refers to what was freed before another. */
	while ((t = heap_first(&core->heap)) != NULL)
		heap_unset(&core->heap, t);
	watch_free_all(core);
	client_free_all(core);
	for (uint32_t i = 0; i < core->n_namespaces; i++)
		core_free_namespace(core, &core->namespaces[i]);
	freelist_done(&core->submissions);
	heap_done(&core->heap);
	free(core->namespaces);
	free(core->host);
	free(core);
}

/* ---- events ----------------------------------------------------------- */

static void
core_dispatch_timer(struct core *core, struct timer *t)
{
	static void (*const run[])(struct core *, struct timer *) = {
		[TIMER_SESSION] = lease_timer,
		[TIMER_NAMESPACE] = session_open_timer,
		[TIMER_AUDIT] = audit_timer,
		[TIMER_LOCK] = lock_timer,
		[TIMER_REQUEST] = request_timer,
		[TIMER_OBSERVATION] = observe_timer,
		[TIMER_DOUBT] = doubt_timer,
		[TIMER_LISTING] = listing_timer,
		[TIMER_WATCHES] = watch_poll_timer,
		[TIMER_LINGER] = linger_timer,
		[TIMER_TERMS] = terms_timer,
	};

	heap_unset(&core->heap, t);
	run[t->kind](core, t);
}

static void
core_run_timer(struct core *core, struct timer *t)
{
	core_dispatch_timer(core, t);
	multi_run(core);
}

/* Leases come first: of the timers that are due, those of sessions decide
 * what the others still may do. */
static void
core_run_sessions(struct core *core)
{
	for (uint32_t i = 0; i < core->n_namespaces; i++) {
		struct lease *s, *next;

		DL_FOREACH_SAFE(core->namespaces[i].sessions, s, next)
		{
			if (s->timer.position != 0 &&
			    s->timer.at_ms <= core->now_ms)
				core_run_timer(core, &s->timer);
		}
	}
}

static void
core_run_timers(struct core *core)
{
	struct timer *t;

	core_run_sessions(core);
	while ((t = heap_first(&core->heap)) != NULL &&
	    t->at_ms <= core->now_ms)
		core_run_timer(core, t);
}

static void
core_stored(struct core *core, const struct operation *o,
    const struct outcome *outcome)
{
	const struct core_submit *submit = CONTAINER_OF(
	    (uintptr_t)o, struct core_submit, operation);

	switch ((enum core_about)submit->about) {
	case CORE_ABOUT_SESSION:
		session_stored(core, submit->owner, outcome);
		return;
	case CORE_ABOUT_OBSERVATION:
		observe_stored(core, submit->owner, outcome);
		return;
	case CORE_ABOUT_LOCK:
		lock_stored(core, submit->owner, outcome);
		return;
	case CORE_ABOUT_AUDIT:
		audit_stored(core, submit->owner, outcome);
		return;
	case CORE_ABOUT_LISTING:
		listing_stored(core, submit->owner, outcome);
		return;
	case CORE_ABOUT_BREAK:
		break_stored(core, submit->owner, outcome);
		return;
	case CORE_ABOUT_WATCHES:
		watch_poll_stored(core, submit->owner, outcome);
		return;
	case CORE_ABOUT_TOGETHER:
		multi_stored(core, submit->owner, outcome);
		return;
	}
}

/* No new grants: who waits is told so, and what is unused is closed. */
static void
core_stop(struct core *core, bool release)
{
	core->stopping = true;
	core->stop_released = release;
	client_refuse_waiting(core);
	for (uint32_t i = 0; i < core->n_namespaces; i++) {
		struct namespace *ns = &core->namespaces[i];

		heap_unset(&core->heap, &ns->timer);
		client_stop_leases(core, ns);
	}
}

/* Who answers what. */
static int
core_serve(struct core *core, struct request *r,
    const struct core_request *ask)
{
	switch (ask->verb) {
	case CORE_ACQUIRE:
		return admit_acquire(core, r, ask);
	case CORE_CANCEL:
		return wait_cancel(core, r, ask->target);
	case CORE_RELEASE:
		return release_ask(core, r, ask);
	case CORE_RENEW:
		return renew_ask(core, r, ask);
	case CORE_DOWNGRADE:
		return downgrade_ask(core, r, ask);
	case CORE_GET:
	case CORE_LIST:
		return listing_ask(core, r, ask);
	case CORE_BREAK:
		return break_ask(core, r, ask);
	case CORE_WATCH:
		return watch_ask(core, r, ask);
	case CORE_UNWATCH:
		return watch_unask(core, r, ask);
	case CORE_RESUME:
		return linger_resume(core, r, ask);
	}
	return DDBLOCK_E_BAD_REQUEST;
}

static int
core_request(struct core *core, const struct core_request *ask)
{
	struct request *r;
	int code = request_admit(core, ask, &r);

	if (code < 0)
		return code;
	code = core_serve(core, r, ask);
	if (code < 0)
		request_refuse(core, r);
	return code;
}

static int
core_event(struct core *core, const struct core_event *event)
{
	switch (event->type) {
	case CORE_REQUEST:
		return core_request(core, &event->request);
	case CORE_DRAIN:
		client_drain(core, event->client);
		return 0;
	case CORE_GONE:
		client_gone(core, event->client);
		return 0;
	case CORE_CUT:
		client_cut_off(core, event->client);
		return 0;
	case CORE_HEARD:
		client_heard(core, event->client);
		return 0;
	case CORE_ENDED:
		process_ended(core, event->ended.client,
		    event->ended.process);
		return 0;
	case CORE_STORED:
		core_stored(core, event->stored.operation,
		    event->stored.outcome);
		return 0;
	case CORE_CONTINUE:
		listing_continue(core, event->more.client,
		    event->more.request);
		return 0;
	case CORE_STOP:
	case CORE_STOP_RELEASE:
		core_stop(core, event->type == CORE_STOP_RELEASE);
		return 0;
	case CORE_TIMER:
		return 0;
	}
	return DDBLOCK_E_BAD_REQUEST;
}

/* Sessions are few; each lock is checked when something happens to it. What
 * has a bound is within it. */
static void
core_check(const struct core *core)
{
	assert(HASH_COUNT(core->clients) <= core->limits.clients_max);
	assert(core->n_locks <= core->limits.locks_max);
	assert(core->n_watches <= core->limits.watches_max);
	assert(core->touched == NULL);
	assert(core->due_multis == NULL);
	assert(core->n_observations <= core->limits.observations_max);
	for (uint32_t i = 0; i < core->n_namespaces; i++) {
		const struct namespace *ns = &core->namespaces[i];
		const struct lease *s;

		assert(ns->n_doubts <= ns->n_doubts_made);
		assert(ns->n_doubts_made <= core->limits.doubts_max);
		DL_FOREACH(ns->sessions, s)
		{
			lease_check(core, s);
		}
	}
}

/*
 * Is there nothing left to do for this namespace before the daemon ends? A
 * session that is being opened never held anything: whether it comes to be or
 * not, nobody will ask for it.
 */
static bool
namespace_is_settled(const struct namespace *ns)
{
	const struct lease *s;

	DL_FOREACH(ns->sessions, s)
	{
		if (s->state != LEASE_OPENING)
			return false;
	}
	DL_FOREACH(ns->record_leases, s)
	{
		if (s->state != LEASE_OPENING)
			return false;
	}
	return fail_closed_is_settled(ns);
}

static bool
core_is_stopped(const struct core *core)
{
	if (!core->stopping || core->n_breaking > 0)
		return false;
	for (uint32_t i = 0; i < core->n_namespaces; i++) {
		if (!namespace_is_settled(&core->namespaces[i]))
			return false;
	}
	return true;
}

int
core_step(struct core *core, const struct core_event *event,
    struct core_update *ret_update)
{
	struct timer *first;
	int code;

	core_forget(core);
	if (event->now_ms > core->now_ms)
		core->now_ms = event->now_ms;
	core_run_timers(core);
	code = core_event(core, event);
	multi_run(core);
	core_run_timers(core);
	watch_tell(core);
	core_check(core);

	ret_update->stopped = core_is_stopped(core);
	if (ret_update->stopped)
		client_stop(core);
	first = heap_first(&core->heap);
	ret_update->actions = core->actions;
	ret_update->next_ms = first == NULL ? CORE_FOREVER : first->at_ms;
	return code;
}

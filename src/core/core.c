/*
 * The core's outside: making one, and stepping it.
 *
 * A step first runs every timer that is due, then the event, then the timers
 * that the event made due. So a lease that ended while the host slept is lost
 * before the late answer that would have saved it is looked at. What either
 * makes due of requests for several locks is done before the next of them, and
 * nothing overtakes it meanwhile (joint.c).
 */
#include "core/core.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/internal.h"
#include "core/timing.h"
#include "ddblock.h"

#define NAMESPACE_TIMERS 4	/* to open, of audit, turns and looks */

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
	ns->timer.kind = TIMER_NAMESPACE;
	ns->audit.timer.kind = TIMER_AUDIT;
	ns->turns.timer.kind = TIMER_LISTING;
	ns->looks.timer.kind = TIMER_WATCHES;
	ns->audit.started_ms = core->now_ms + settings->audit_ms;
	ns->audit.round = 1;
	if (ns->settings.name == NULL ||
	    (settings->format != NULL && ns->settings.format == NULL) ||
	    hash_init(&ns->locks, lock_hash) < 0)
		return DDBLOCK_E_NOMEM;
	for (int i = 0; i < NAMESPACE_TIMERS; i++) {
		if (heap_reserve(&core->heap) < 0)
			return DDBLOCK_E_NOMEM;
	}
	heap_set(&core->heap, &ns->timer, core->now_ms);
	heap_set(&core->heap, &ns->audit.timer, ns->audit.started_ms);
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
	    ns->settings.life != LOCK_LIFE_SESSION)
		return DDBLOCK_E_BAD_REQUEST;
	old = &core->namespaces[bridge - 1].settings;
	if (old->life != LOCK_LIFE_RECORD && old->life != LOCK_LIFE_DEADLINE)
		return DDBLOCK_E_BAD_REQUEST;
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
	random_init(&core->random, seed);
	core->host = strdup(config->host);
	core->namespaces =
	    calloc(config->n_namespaces, sizeof(*core->namespaces));
	if (core->host == NULL || core->namespaces == NULL ||
	    hash_init(&core->holds_by_id, hold_hash) < 0)
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
core_free_requests(struct core *core, struct request *first)
{
	while (first != NULL) {
		struct request *next = first->client_next;

		if (first->listing != NULL)
			first->listing->busy = false;
		if (first->breaking != NULL)
			first->breaking->busy = false;
		request_free(core, first);
		first = next;
	}
}

static void
core_free_clients(struct core *core)
{
	struct hold *h, *next_hold;
	struct client *c, *next;

	HASH_CLEAR(hh, core->waiting);
	HASH_CLEAR(hh, core->watches);
	DL_FOREACH_SAFE2(core->holds, h, next_hold, next)
	{
		hold_free(core, h);
	}
	hash_done(&core->holds_by_id);
	HASH_ITER(hh, core->clients, c, next)
	{
		core_free_requests(core, c->requests);
		linger_free(core, c->linger);
		HASH_DEL(core->clients, c);
		free(c);
	}
	core_free_requests(core, core->abandoned);
}

/* Everything goes, whatever it is in the middle of. */
static void
core_free_lock(struct core *core, struct lock *l)
{
	struct grant *g, *next;

	LL_FOREACH_SAFE(l->grants, g, next)
	{
		grant_free(g);
	}
	submission_drop(core, l);
	record_forget_sight(l);
	doubt_free_all(core, l);
	watch_free_all(l);
	free(l->leftovers);
	free(l->version);
	free(l);
}

static void
core_free_namespace(struct core *core, struct namespace *ns)
{
	struct lock *l, *next_lock;
	struct observation *o, *next_observation;
	struct session *s, *next;

	for (l = lock_next(ns, NULL); l != NULL; l = next_lock) {
		next_lock = lock_next(ns, l);
		core_free_lock(core, l);
	}
	hash_done(&ns->locks);
	HASH_ITER(hh, ns->observations, o, next_observation)
	{
		HASH_DEL(ns->observations, o);
		free(o);
	}
	DL_FOREACH_SAFE(ns->sessions, s, next)
	{
		free(s);
	}
	DL_FOREACH_SAFE(ns->refreshed, s, next)
	{
		free(s->owner);
		free(s);
	}
	free((void *)(uintptr_t)ns->settings.name);
	free((void *)(uintptr_t)ns->settings.format);
}

void
core_free(struct core *core)
{
	struct timer *t;

	if (core == NULL)
		return;
	action_forget(core);
	/* So that no timer refers to what was freed before another. */
	while ((t = heap_first(&core->heap)) != NULL)
		heap_unset(&core->heap, t);
	joint_free_all(core);
	core_free_clients(core);
	for (uint32_t i = 0; i < core->n_namespaces; i++)
		core_free_namespace(core, &core->namespaces[i]);
	freelist_done(&core->requests);
	freelist_done(&core->submissions);
	heap_done(&core->heap);
	free(core->namespaces);
	free(core->host);
	free(core);
}

static void
core_dispatch_timer(struct core *core, struct timer *t)
{
	heap_unset(&core->heap, t);
	switch (t->kind) {
	case TIMER_SESSION:
		session_timer(core, CONTAINER_OF(t, struct session, timer));
		return;
	case TIMER_NAMESPACE:
		session_open_timer(core,
		    CONTAINER_OF(t, struct namespace, timer));
		return;
	case TIMER_AUDIT:
		audit_timer(core,
		    CONTAINER_OF(t, struct namespace, audit.timer));
		return;
	case TIMER_LOCK:
		lock_timer(core, CONTAINER_OF(t, struct lock, timer));
		return;
	case TIMER_REQUEST:
		queue_timer(core, CONTAINER_OF(t, struct request, timer));
		return;
	case TIMER_OBSERVATION:
		observe_timer(core,
		    CONTAINER_OF(t, struct observation, timer));
		return;
	case TIMER_DOUBT:
		doubt_timer(core, CONTAINER_OF(t, struct doubt, timer));
		return;
	case TIMER_LISTING:
		listing_timer(core,
		    CONTAINER_OF(t, struct namespace, turns.timer));
		return;
	case TIMER_WATCHES:
		looks_timer(core,
		    CONTAINER_OF(t, struct namespace, looks.timer));
		return;
	case TIMER_LINGER:
		linger_timer(core, CONTAINER_OF(t, struct linger, timer));
		return;
	case TIMER_TERMS:
		terms_timer(core, CONTAINER_OF(t, struct terms, timer));
		return;
	}
}

static void
core_run_timer(struct core *core, struct timer *t)
{
	core_dispatch_timer(core, t);
	joint_run(core);
}

/* Leases come first: of the timers that are due, those of sessions decide
 * what the others still may do. */
static void
core_run_sessions(struct core *core)
{
	for (uint32_t i = 0; i < core->n_namespaces; i++) {
		struct session *s, *next;

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
		transfer_stored(core, submit->owner, outcome);
		return;
	case CORE_ABOUT_AUDIT:
		audit_stored(core, submit->owner, outcome);
		return;
	case CORE_ABOUT_LISTING:
		listing_stored(core, submit->owner, outcome);
		return;
	case CORE_ABOUT_BREAK:
		breaking_stored(core, submit->owner, outcome);
		return;
	case CORE_ABOUT_WATCHES:
		looks_stored(core, submit->owner, outcome);
		return;
	case CORE_ABOUT_TOGETHER:
		together_stored(core, submit->owner, outcome);
		return;
	}
}

static void
core_more(struct core *core, uint64_t client, uint64_t request)
{
	struct client *c = client_find(core, client);
	struct request *r;

	if (c == NULL)
		return;
	DL_FOREACH2(c->requests, r, client_next)
	{
		if (r->reply.request == request && r->listing != NULL)
			break;
	}
	if (r != NULL)
		listing_continue(core, r);
}

/* But for what a client left to its lease: nobody is there who could heed. */
static void
core_stop_holds(struct core *core, struct grant *g)
{
	struct hold *h, *next;

	DL_FOREACH_SAFE2(g->holds, h, next, grant_next)
	{
		if (!terms_are_left(h))
			grant_lose_hold(core, h, CORE_LOSS_SHUTDOWN);
	}
}

static void
core_stop_grants(struct core *core, struct session *s, bool release)
{
	struct grant *g, *next;

	DL_FOREACH_SAFE2(s->grants, g, next, session_next)
	{
		struct lock *l = g->lock;

		if (release)
			core_stop_holds(core, g);
		lock_advance(core, l);
	}
}

/* No new grants: who waits is told so, and what is unused is closed. */
static void
core_stop(struct core *core, bool release)
{
	core->stopping = true;
	core->stop_released = release;
	while (core->waiting != NULL) {
		struct lock *l = core->waiting->lock;

		request_reply(core, core->waiting, DDBLOCK_E_SHUTTING_DOWN, 0,
		    NULL);
		/* One for several keys may be between two locks. */
		if (l != NULL)
			lock_advance(core, l);
	}
	for (uint32_t i = 0; i < core->n_namespaces; i++) {
		struct namespace *ns = &core->namespaces[i];
		struct session *s, *next;

		heap_unset(&core->heap, &ns->timer);
		DL_FOREACH_SAFE(ns->sessions, s, next)
		{
			core_stop_grants(core, s, release);
			session_unused(core, s);
		}
		DL_FOREACH_SAFE(ns->refreshed, s, next)
		{
			core_stop_grants(core, s, release);
		}
	}
}

static int
core_event(struct core *core, const struct core_event *event)
{
	switch (event->type) {
	case CORE_REQUEST:
		return client_request(core, &event->request);
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
		core_more(core, event->more.client, event->more.request);
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
	assert(core->due_joints == NULL);
	assert(core->n_observations <= core->limits.observations_max);
	for (uint32_t i = 0; i < core->n_namespaces; i++) {
		const struct namespace *ns = &core->namespaces[i];
		const struct session *s;

		assert(ns->n_doubts <= ns->n_doubts_made);
		assert(ns->n_doubts_made <= core->limits.doubts_max);
		DL_FOREACH(ns->sessions, s)
		{
			session_check(core, s);
		}
	}
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

	action_forget(core);
	if (event->now_ms > core->now_ms)
		core->now_ms = event->now_ms;
	core_run_timers(core);
	code = core_event(core, event);
	joint_run(core);
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

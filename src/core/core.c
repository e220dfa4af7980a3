/*
 * The core's outside: making one, and stepping it.
 *
 * A step first runs the timers that are due, then the event, then the timers
 * that the event made due. So a lease that ended while the host slept is lost
 * before the late answer that would have saved it is looked at. Of those of
 * requests and locks, which protect nobody, a step runs some (per_step_max),
 * and the next step comes at once. Work that either makes due for requests for
 * several locks is done before the next of them, and nothing overtakes it
 * meanwhile (client/multi.c).
 */
#include "core/core.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/action.h"
#include "core/configure.h"
#include "core/reads/reads.h"
#include "ddblock.h"

static const struct lease_events core_lease_events = {
	.lost = lock_lease_lost,
	.record_lost = lock_record_lost,
	.record_due = lock_record_due,
	.tell = notice_lease,
	.renewed = notice_own,
	.answer = renew_answer,
	.outage = notice_outage,
	.opened = wake_opened,
	.refused = wake_refused,
	.closed = lock_session_closed,
	.unblocked = lock_unblocked,
	.observed = wait_observed,
	.proven = lock_lease_proven,
	.stale = lock_stale,
	.read_in_doubt = lock_read_in_doubt,
	.is_live = lock_has_live,
	.key = lock_key_of_in_doubt,
};

static const struct lock_events core_lock_events = {
	.granted = wait_granted,
	.learnt = wait_review,
	.answered = request_answered,
	.updated = renew_updated,
	.downgraded = downgrade_told,
	.lost = hold_lost,
	.ask_multi = multi_ask,
	.check = hold_check,
	.tokens_lacking = bridge_tokens_lacking,
	.tokens_known = bridge_tokens_known,
	.wants_read = watch_wants_read,
	.seen = watch_seen,
	.unseen = watch_failed,
	.touched = watch_touch,
	.hinted = watch_hinted,
};

static const struct client_events core_client_events = {
	.unwatch = watch_leave,
};

/* ---- making and freeing ----------------------------------------------- */

int
core_new(const struct core_config *config,
    const uint64_t seed[CORE_SEED_WORDS], uint64_t now_ms, struct core **ret)
{
	struct core *core = calloc(1, sizeof(*core));
	int code = 0;

	if (core == NULL)
		return DDBLOCK_E_NOMEM;
	core->limits = config->limits;
	configure_settle_bounds(core);
	core->now_ms = now_ms;
	core->actions_end = &core->actions;
	heap_init(&core->heap);
	heap_init(&core->later);
	core->lease_events = &core_lease_events;
	core->lock_events = &core_lock_events;
	core->client_events = &core_client_events;
	random_init(&core->random, seed);
	/* Names are shown, and tell what they were made from. */
	core->hash_key = (struct siphash_key){ { seed[4], seed[5] } };
	core->host = strdup(config->host);
	/* They do not move when there are more. */
	core->namespaces =
	    calloc(CORE_NAMESPACES_MAX, sizeof(*core->namespaces));
	if (core->host == NULL || core->namespaces == NULL ||
	    client_init(core) < 0)
		code = DDBLOCK_E_NOMEM;
	if (code == 0)
		code = configure_namespaces(core, config);
	if (code < 0) {
		core_free(core);
		return code;
	}
	*ret = core;
	return 0;
}

static void
core_unset_all(struct heap *h)
{
	struct timer *t;

	while ((t = heap_first(h)) != NULL)
		heap_unset(h, t);
}

/* The caller is done with the last step's actions. */
static void
core_forget(struct core *core)
{
	if (core->actions != NULL)
		action_forget_all(core);
	client_forget(core);
}

void
core_free(struct core *core)
{
	if (core == NULL)
		return;
	/* What it left stays. */
	core->saving.journal = NULL;
	core_forget(core);
	/* So that no timer refers to what was freed before another. */
	core_unset_all(&core->heap);
	core_unset_all(&core->later);
	watch_free_all(core);
	listing_forget_all(core);
	client_free_all(core);
	for (uint32_t i = 0; i < core->n_namespaces; i++)
		configure_free_namespace(core, &core->namespaces[i]);
	freelist_done(&core->submissions);
	saving_done(&core->saving);
	heap_done(&core->heap);
	heap_done(&core->later);
	free(core->namespaces);
	free(core->host);
	free(core);
}

/* ---- events ----------------------------------------------------------- */

static void
core_dispatch_timer(struct core *core, struct heap *h, struct timer *t)
{
	static void (*const run[])(struct core *, struct timer *) = {
		[TIMER_SESSION] = lease_timer,
		[TIMER_NAMESPACE] = session_open_timer,
		[TIMER_AUDIT] = audit_timer,
		[TIMER_LOCK] = lock_timer,
		[TIMER_REQUEST] = request_timer,
		[TIMER_OBSERVATION] = observe_timer,
		[TIMER_IN_DOUBT] = in_doubt_timer,
		[TIMER_LISTING] = listing_timer,
		[TIMER_WATCHES] = watch_poll_timer,
		[TIMER_LINGER] = linger_timer,
		[TIMER_TERMS] = terms_timer,
	};

	heap_unset(h, t);
	run[t->kind](core, t);
}

static void
core_run_timer(struct core *core, struct heap *h, struct timer *t)
{
	core_dispatch_timer(core, h, t);
	if (core->due_multis != NULL)
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
				core_run_timer(core, &core->heap, &s->timer);
		}
	}
}

static bool
core_is_due(const struct core *core, const struct heap *h)
{
	return h->first_ms <= core->now_ms;
}

/* Of the later ones this step may yet run @n_later. Each may make one due that
 * comes before all of them. */
static void
core_run_timers(struct core *core, uint32_t *n_later)
{
	if (core_is_due(core, &core->heap))
		core_run_sessions(core);
	for (;;) {
		struct heap *h = &core->heap;

		if (!core_is_due(core, h)) {
			h = &core->later;
			if (*n_later == 0 || !core_is_due(core, h))
				return;
			(*n_later)--;
		}
		core_run_timer(core, h, heap_first(h));
	}
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
	case CORE_ABOUT_RAISE:
		raise_stored(core, submit->owner, outcome);
		return;
	case CORE_ABOUT_WATCHES:
		watch_poll_stored(core, submit->owner, outcome);
		return;
	case CORE_ABOUT_MULTI:
		multi_stored(core, submit->owner, outcome);
		return;
	}
}

/* No new grants: waiters are told so, and unused sessions are closed. */
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

/* As long as it is so: what is held is held on, and its sessions live. */
static void
core_drain(struct core *core, uint64_t namespaces, bool drained)
{
	for (uint32_t i = 0; i < core->n_namespaces; i++) {
		struct namespace *ns = &core->namespaces[i];

		if ((namespaces >> i & 1) != 0)
			ns->drained = drained;
	}
	client_refuse_drained(core);
	for (uint32_t i = 0; i < core->n_namespaces; i++)
		lock_pace_namespace(core, &core->namespaces[i]);
}

/* The room that answers each request. */
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
	case CORE_RAISE:
		return raise_ask(core, r, ask);
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
	struct request *r = NULL;
	int code = request_admit(core, ask, &r);

	if (code < 0 || r == NULL || !share_admit(core, r, ask))
		return code;
	code = core_serve(core, r, ask);
	if (code < 0)
		request_refuse(core, r);
	return code;
}

static void
core_came_back(struct core *core, const struct core_event *event)
{
	client_seal_all(core, event);
	client_came_back(core, event);
	for (uint32_t i = 0; i < core->n_namespaces; i++)
		session_all_tell(core, &core->namespaces[i]);
}

static int
core_event(struct core *core, const struct core_event *event)
{
	switch (event->type) {
	case CORE_REQUEST:
		return core_request(core, &event->request);
	case CORE_HALF_CLOSED:
		client_drain(core, event->client);
		return 0;
	case CORE_GONE:
		return client_gone(core, event->client);
	case CORE_CUT:
		return client_cut_off(core, event->client);
	case CORE_LEAVES:
		return client_leaves(core, event->client);
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
	case CORE_DRAIN:
	case CORE_UNDRAIN:
		core_drain(core, event->namespaces,
		    event->type == CORE_DRAIN);
		return 0;
	case CORE_CONFIGURE:
		return configure(core, event->config);
	case CORE_CAME_BACK:
		core_came_back(core, event);
		return 0;
	case CORE_LIMITED:
		share_set_limits(core, event->limited.client,
		    event->limited.limits);
		return 0;
	case CORE_HINTED:
		lock_hinted(core, &event->hinted);
		return 0;
	case CORE_STRANGER:
		observe_stranger(core, &core->namespaces[
		    event->stranger.namespace_index],
		    event->stranger.session);
		return 0;
	case CORE_TIMER:
		return 0;
	}
	return DDBLOCK_E_BAD_REQUEST;
}

/* Each room says what must be true after a step; and the lock room of a lock,
 * when something happened to it. */
static void
core_check(const struct core *core)
{
	assert(core->n_locks <= core->bounds.locks);
	lease_check(core);
	client_check(core);
	reads_check(core);
}

/*
 * Is there nothing left to do for this namespace before the daemon ends? A
 * session that is being opened never held anything: whether it opens or not, it
 * will not be used.
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

/* At once, if not all of it was done. */
static uint64_t
core_next_ms(const struct core *core)
{
	uint64_t next_ms;

	if (core->telling != NULL || core->drains != NULL ||
	    core->resumes != NULL || core->n_waking > 0)
		return core->now_ms;
	next_ms = core->heap.first_ms < core->later.first_ms ?
	    core->heap.first_ms : core->later.first_ms;
	return core->owed != NULL && core->owed_at_ms < next_ms ?
	    core->owed_at_ms : next_ms;
}

int
core_step(struct core *core, const struct core_event *event,
    struct core_update *ret_update)
{
	uint32_t n_later = core->limits.per_step_max;
	int code;

	core_forget(core);
	if (event->now_ms > core->now_ms)
		core->now_ms = event->now_ms;
	core_run_timers(core, &n_later);
	code = core_event(core, event);
	if (core->due_multis != NULL)
		multi_run(core);
	core_run_timers(core, &n_later);
	if (core->n_waking > 0)
		wake_some(core, &n_later);
	if (core->drains != NULL)
		client_drain_some(core, &n_later);
	if (core->resumes != NULL)
		resume_some(core, &n_later);
	if (core->touched != NULL || core->telling != NULL)
		watch_tell(core);
	if (core->owed != NULL)
		follow_tell(core);
	core_check(core);
	if (core->bounds.above)
		configure_settle_bounds(core);

	ret_update->stopped = core_is_stopped(core);
	if (ret_update->stopped)
		client_stop(core);
	ret_update->actions = core->actions;
	ret_update->next_ms = core_next_ms(core);
	return code;
}

/*
 * Our own sessions: one item in the store per namespace, whose beat renews
 * every lock of this host at once (lease.c says when).
 *
 *              open done           no renewal in time, or killed
 *     OPENING -----------> VALID ------------------------> LOST
 *        |                   |                               |
 *        | not done:         | stopping or retiring,         | one margin
 *        | a new name        | and nothing is held           | later
 *        v                   +----------> CLOSING <----------+
 *     (freed)                                | closed, or its item is gone
 *                                            v
 *                                         (freed)
 *
 *  1. A lost session is never valid again: a new one has a new name.
 *  2. A lost session is closed one margin later, not at once: the gap belongs
 *     to the holders, which were just told.
 *  3. One operation of a session is under way at a time.
 */
#include "core/lease/room.h"

#include <assert.h>
#include <stdlib.h>

#include "ddblock.h"

#define SESSION_SOON_MS 100

static const struct lease_kind session_kind;

struct session *
session_of(struct lease *l)
{
	assert(!lease_is_of_record(l));
	return (struct session *)l;
}

struct lease *
session_find(const struct namespace *ns, struct ident id)
{
	struct lease *l;

	DL_FOREACH(ns->sessions, l)
	{
		if (ident_equal(l->id, id))
			return l;
	}
	return NULL;
}

static void
session_submit(struct core *core, struct lease *s, enum operation_kind kind,
    uint64_t deadline_ms)
{
	struct core_submit *submit = &session_of(s)->submit;

	assert(!s->busy);
	submit->operation = (struct operation){
		.user = USER_NONE,
		.session = s->id,
		.beat = s->beat,
		/* A session that has never been beaten has a bound, too. */
		.beat_below =
		    s->unproven ? session_of(s)->beats.most + 1 : 0,
		.lease_ms = s->ns->settings.lease_ms,
		.again_ms = kind != OPERATION_SESSION_CLOSE ?
		    s->ns->settings.heartbeat_ms / 2 : 0,
	};
	s->busy = true;
	action_submit(core, submit, s->ns, kind, deadline_ms,
	    CORE_ABOUT_SESSION, s);
}

/* The first one opens with the first step. */
int
session_init(struct core *core, struct namespace *ns)
{
	ns->timer.kind = TIMER_NAMESPACE;
	if (heap_reserve(&core->heap) < 0)
		return DDBLOCK_E_NOMEM;
	heap_set(&core->heap, &ns->timer, core->now_ms);
	return 0;
}

/*
 * When to try again what ended in @code. Silence does not say when it is over,
 * and a try that met it has taken its time: soon. A refusal lasts until someone
 * does something about it: later each time, but as often as any host renews.
 */
static uint64_t
session_open_delay_ms(struct core *core, const struct namespace *ns, int code)
{
	uint32_t doublings = ns->open_failures < 3 ? ns->open_failures : 3;
	uint64_t delay_ms = (uint64_t)RETRY_MS << doublings;
	uint64_t most_ms = ns->settings.heartbeat_ms;

	if (!namespace_code_is_definite(code))
		most_ms /= 4;
	if (most_ms < SESSION_SOON_MS)
		most_ms = SESSION_SOON_MS;
	if (most_ms < delay_ms)
		delay_ms = most_ms;
	return random_jitter(&core->random, delay_ms);
}

static void
session_open_later(struct core *core, struct namespace *ns, int code)
{
	if (core->stopping)
		return;
	ns->open_at_ms =
	    core->now_ms + session_open_delay_ms(core, ns, code);
	ns->open_failures++;
	heap_set(&core->heap, &ns->timer, ns->open_at_ms);
}

/* NULL: no memory. It has no name yet. */
struct lease *
session_new(struct core *core, struct namespace *ns)
{
	struct lease *s = calloc(1, sizeof(struct session));

	if (s == NULL || heap_reserve(&core->heap) < 0) {
		free(s);
		return NULL;
	}
	s->kind = &session_kind;
	s->ns = ns;
	s->timer.kind = TIMER_SESSION;
	DL_PREPEND(ns->sessions, s);
	return s;
}

/*
 * Open a new session for @ns. Its name is new for each operation: had an
 * older open landed unseen, observers may have counted from its first send.
 */
static void
session_start(struct core *core, struct namespace *ns)
{
	struct lease *s;

	assert(ns->session == NULL);
	heap_unset(&core->heap, &ns->timer);
	if (core->stopping || !ns->has_sessions)
		return;
	s = session_new(core, ns);
	if (s == NULL) {
		session_open_later(core, ns, DDBLOCK_E_NOMEM);
		return;
	}
	lease_enter(s, LEASE_OPENING, 0);
	s->id = random_ident(&core->random);
	ns->session = s;
	session_submit(core, s, OPERATION_SESSION_OPEN,
	    core->now_ms + ns->settings.request_ms);
}

void
session_open_timer(struct core *core, struct timer *timer)
{
	struct namespace *ns = CONTAINER_OF(timer, struct namespace, timer);

	if (ns->session == NULL)
		session_start(core, ns);
}

/* Nothing refers to it any more. */
static void
session_free(struct core *core, struct lease *s)
{
	struct namespace *ns = s->ns;

	assert(!s->busy);
	assert(s->grants == NULL && s->renewals == NULL);
	saved_end(core, &s->saved);
	if (ns->session == s)
		ns->session = NULL;
	DL_DELETE(ns->sessions, s);
	heap_release(&core->heap, &s->timer);
	free(s);
}

/* Grants are for another from now on. */
static void
session_replace(struct core *core, struct namespace *ns)
{
	ns->session = NULL;
	ns->open_failures = 0;
	core->lease_events->outage(core, ns, true);
	session_start(core, ns);
}

/* It was inherited, and is another's: its holds end here, and nothing of it is
 * written. */
static void
session_disown(struct core *core, struct lease *s)
{
	struct namespace *ns = s->ns;
	bool is_present = ns->session == s;

	lease_enter(s, LEASE_LOST, s->sent_ms);
	core->lease_events->answer(core, s, DDBLOCK_E_LOCK_LOST);
	core->lease_events->lost(core, s, CORE_LOSS_STOLEN);
	session_free(core, s);
	if (is_present)
		session_replace(core, ns);
}

/* Every hold of this session ends now; its clients are told. */
static void
session_lose(struct core *core, struct lease *s, enum core_loss loss)
{
	struct namespace *ns = s->ns;

	assert(s->state == LEASE_VALID);
	lease_enter(s, LEASE_LOST, s->sent_ms);
	saved_touch(core, &s->saved, SAVED_SESSION);
	s->close_at_ms = core->now_ms + ns->settings.margin_ms;
	core->lease_events->answer(core, s, DDBLOCK_E_LOCK_LOST);
	core->lease_events->lost(core, s, loss);
	assert(s->grants == NULL);
	lease_schedule(core, s);
	if (ns->session == s)
		session_replace(core, ns);
}

/* Renew it now. */
static void
session_beat(struct core *core, struct lease *s)
{
	/* Repeated until the very end: a renewal that is acknowledged late
	 * still counts from its send. */
	session_submit(core, s, OPERATION_SESSION_BEAT, lease_until_ms(s));
}

static void
session_expire(struct core *core, struct lease *s)
{
	session_lose(core, s, CORE_LOSS_EXPIRED);
}

/* The end of a session that is unused, or whose holders' gap is over. */
static void
session_close(struct core *core, struct lease *s)
{
	lease_enter(s, LEASE_CLOSING, s->sent_ms);
	saved_touch(core, &s->saved, SAVED_SESSION);
	session_submit(core, s, OPERATION_SESSION_CLOSE,
	    core->now_ms + s->ns->settings.request_ms);
}

/* Close an unused session: when stopping, or retired. */
static void
session_unused(struct core *core, struct lease *s)
{
	/* While a client has something fail-closed, stopping waits for that. */
	bool awaited = !s->retiring && s->ns->closed != NULL &&
	    !core->stop_released;

	if ((!core->stopping && !s->retiring) || s->grants != NULL || s->busy ||
	    s->state != LEASE_VALID || s->unproven || awaited)
		return;
	session_close(core, s);
}

static void
session_became_valid(struct core *core, struct lease *s,
    const struct outcome *o)
{
	struct namespace *ns = s->ns;

	lease_enter(s, LEASE_VALID, o->sent_ms);
	saved_touch(core, &s->saved, SAVED_SESSION);
	s->beat = o->session.beat;
	s->beat_at_ms = s->sent_ms + ns->settings.heartbeat_ms;
	ns->open_failures = 0;
	if (core->now_ms >= lease_until_ms(s)) {
		session_lose(core, s, CORE_LOSS_EXPIRED);
		return;
	}
	lease_schedule(core, s);
	if (s == ns->session && !s->danger)
		core->lease_events->outage(core, ns, false);
	session_unused(core, s);
	core->lease_events->opened(core, ns);
}

static void
session_opened(struct core *core, struct lease *s, const struct outcome *o)
{
	struct namespace *ns = s->ns;

	if (o->kind == OUTCOME_DONE && o->session.exists && !o->session.dead) {
		session_became_valid(core, s, o);
		return;
	}
	session_free(core, s);
	session_open_later(core, ns, o->code);
	/* A definite answer: no waiter should wait for a session that will not
	 * come. */
	if (o->kind == OUTCOME_REFUSED && namespace_code_is_definite(o->code))
		core->lease_events->refused(core, ns, o->code);
}

/*
 * CORE_RENEWED is about all holds of a namespace. While an older session still
 * has some, or where each has another lease beside, it is told of its own.
 */
static bool
session_is_alone(const struct lease *renewed)
{
	const struct lease *s;

	DL_FOREACH(renewed->ns->sessions, s)
	{
		if (s != renewed && s->state == LEASE_VALID &&
		    s->grants != NULL)
			return false;
	}
	return true;
}

/* The beat shows that no other process has it: it is as good as our own. */
static void
session_prove(struct core *core, struct lease *s)
{
	struct session_beats *beats = &session_of(s)->beats;

	s->unproven = false;
	for (size_t i = 0; i < SESSION_BEATS_MAX; i++) {
		if (beats->own[i] > beats->most)
			beats->most = beats->own[i];
		beats->own[i] = 0;
	}
	core->lease_events->proven(core, s);
	if (s == s->ns->session)
		core->lease_events->opened(core, s->ns);
}

/* Its holders are told how long it is good now. */
static void
session_tell(struct core *core, struct lease *s)
{
	struct core_renewed *renewed = &session_of(s)->renewed;
	bool danger = core->now_ms >= s->sent_ms + s->ns->settings.danger_ms;
	bool alone = session_is_alone(s);

	if (s->ns->bridge != NULL) {
		lease_say_each(core, s, danger);
		return;
	}
	if (alone) {
		renewed->namespace_index = s->ns->index;
		renewed->until_ms = lease_until_ms(s);
		renewed->remaining_ms = renewed->until_ms - core->now_ms;
		action_add(core, &renewed->action, CORE_RENEWED);
	}
	if (!alone || (s->danger && !danger))
		lease_say(core, s, danger ? CORE_IN_DANGER : CORE_SAFE);
	if (!alone || s->warned)
		lease_say_own(core, s, !alone);
}

static void
session_renewed(struct core *core, struct lease *s, const struct outcome *o)
{
	assert(o->sent_ms <= core->now_ms);
	s->cause = 0;
	s->text[0] = '\0';
	s->beat = o->session.beat;
	if (o->sent_ms > s->sent_ms)
		lease_enter(s, s->state, o->sent_ms);
	s->beat_at_ms = s->sent_ms + s->ns->settings.heartbeat_ms;
	saved_touch(core, &s->saved, SAVED_SESSION);
	if (core->now_ms >= lease_until_ms(s))
		return; /* the timer says so */
	if (s->unproven)
		session_prove(core, s);
	s->was_danger = s->danger;
	session_tell(core, s);
	core->lease_events->answer(core, s, 0);
}

/* What was renewed last may not have been told, nor that a danger is over. */
static void
lease_say_again(struct core *core, struct lease *l)
{
	bool danger = core->now_ms >= l->sent_ms + l->ns->settings.danger_ms;

	if (l->state != LEASE_VALID)
		return;
	if (!lease_is_of_record(l))
		session_tell(core, l);
	if (l->was_danger || lease_is_of_record(l))
		lease_say(core, l, danger ? CORE_IN_DANGER : CORE_SAFE);
	lease_say_own(core, l, true);
}

void
session_all_tell(struct core *core, struct namespace *ns)
{
	struct lease *l;

	DL_FOREACH(ns->sessions, l)
	{
		lease_say_again(core, l);
	}
	DL_FOREACH(ns->record_leases, l)
	{
		lease_say_again(core, l);
	}
}

static void
session_beaten(struct core *core, struct lease *s, const struct outcome *o)
{
	if (s->state != LEASE_VALID)
		return; /* too late: lost is final */
	if (o->kind == OUTCOME_DONE) {
		session_renewed(core, s, o);
		return;
	}
	if (o->kind == OUTCOME_CONFLICT &&
	    (!o->session.exists || o->session.dead)) {
		session_lose(core, s, CORE_LOSS_EXPIRED);
		return;
	}
	if (o->kind == OUTCOME_CONFLICT && s->unproven &&
	    !session_beat_is_own(session_of(s), o->session.beat)) {
		core->lease_events->stale(core, s->ns, s->id);
		session_disown(core, s);
		return;
	}
	/* An earlier beat of ours landed late and is higher: go above it. */
	if (o->kind == OUTCOME_CONFLICT && o->session.beat > s->beat)
		s->beat = o->session.beat;
	saved_touch(core, &s->saved, SAVED_SESSION);
	/* It is our own, as is known now: who waits for a renewal waits for the
	 * next one, which is sent at once. */
	if (o->kind == OUTCOME_CONFLICT && s->unproven) {
		s->beat_at_ms = core->now_ms;
		return;
	}
	lease_trouble(core, s, o);
}

/* Closed: whatever of it is still in the store is anybody's to take. */
static void
session_closed(struct core *core, struct lease *s, const struct outcome *o)
{
	struct namespace *ns = s->ns;
	struct ident id = s->id;

	if (o->kind == OUTCOME_REFUSED || o->kind == OUTCOME_UNKNOWN) {
		/* It has no holds, and waiters for its end only have to wait
		 * for a lease anyway: no reason to keep it. */
		if (core->stopping && (!s->unproven || ns->closed == NULL)) {
			session_free(core, s);
			return;
		}
		s->close_at_ms = core->now_ms +
		    random_jitter(&core->random, ns->settings.heartbeat_ms);
		return;
	}
	/* What kept it from that was a beat of our own. */
	if (o->kind == OUTCOME_CONFLICT && s->unproven && o->session.exists &&
	    !o->session.dead &&
	    session_beat_is_own(session_of(s), o->session.beat)) {
		s->close_at_ms = core->now_ms;
		return;
	}
	if (s->unproven)
		session_prove_closed(core, s, o);
	session_free(core, s);
	if (o->kind != OUTCOME_DONE)
		return;
	if (ns->n_in_doubt > 0)
		core->lease_events->closed(core, ns, id);
	observe_closed(core, ns, id);
}

void
session_stored(struct core *core, struct lease *s, const struct outcome *o)
{
	enum operation_kind kind = session_of(s)->submit.operation.kind;
	struct namespace *ns = s->ns;
	struct ident id = s->id;

	assert(s->busy);
	s->busy = false;
	namespace_trouble(ns, o);
	if (kind == OPERATION_SESSION_OPEN)
		session_opened(core, s, o);
	else if (kind == OPERATION_SESSION_BEAT)
		session_beaten(core, s, o);
	else
		session_closed(core, s, o);

	s = session_find(ns, id);
	if (s == NULL)
		return;
	lease_schedule(core, s);
	session_unused(core, s);
}

/* Grants go to a new session from now on; this one ends with its holds. */
static void
session_retire(struct core *core, struct lease *s)
{
	struct namespace *ns = s->ns;

	if (s->retiring || s->state != LEASE_VALID)
		return;
	s->retiring = true;
	saved_touch(core, &s->saved, SAVED_SESSION);
	if (ns->session == s) {
		ns->session = NULL;
		/* What is being taken over is followed in the first step. */
		if (s->unproven)
			heap_set(&core->heap, &ns->timer, core->now_ms);
		else
			session_start(core, ns);
	}
	session_unused(core, s);
}

void
session_all_unused(struct core *core, struct namespace *ns)
{
	struct lease *s, *next;

	DL_FOREACH_SAFE(ns->sessions, s, next)
	{
		session_unused(core, s);
	}
}

/* One more write of this session is in doubt, or one less. */
void
session_count_in_doubt(struct core *core, struct namespace *ns, struct ident id,
    int more)
{
	struct lease *s = session_find(ns, id);

	if (s == NULL)
		return;
	if (more < 0) {
		session_of(s)->n_in_doubt--;
		return;
	}
	session_of(s)->n_in_doubt++;
	if (session_of(s)->n_in_doubt > core->limits.in_doubt_max / 4)
		session_retire(core, s);
}

void
session_free_all(struct namespace *ns)
{
	struct lease *l, *next;

	DL_FOREACH_SAFE(ns->sessions, l, next)
	{
		free(l);
	}
	DL_FOREACH_SAFE(ns->record_leases, l, next)
	{
		record_lease_free(l);
	}
}

static const struct lease_kind session_kind = {
	.renew = session_beat,
	.expire = session_expire,
	.close = session_close,
	.unused = session_unused,
};

/*
 * Our own sessions: one item in the store per namespace, whose beat renews
 * every lock of this host at once.
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
 *  1. The lease counts from the send of the renewal whose effect the answer
 *     shows, never from an answer (timing.h).
 *  2. A VALID session is inside its lease: its end is found by the timer,
 *     before any event of the same moment is looked at.
 *  3. LOST is final. A new session has a new name.
 *  4. A lost session is closed one margin later, not at once: the gap belongs
 *     to the holders, who were just told.
 *  5. One operation of a session is under way at a time.
 */
#include "core/internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/timing.h"
#include "ddblock.h"

#define SESSION_SOON_MS 100

uint64_t
session_until_ms(const struct session *s)
{
	const struct core_namespace *t = &s->ns->settings;

	return s->sent_ms + t->lease_ms - t->margin_ms;
}

bool
session_is_good(const struct core *core, const struct session *s)
{
	return s != NULL && s->state == SESSION_VALID &&
	    core->now_ms < session_until_ms(s);
}

struct session *
session_find(const struct namespace *ns, struct ident id)
{
	struct session *s;

	DL_FOREACH(ns->sessions, s)
	{
		if (ident_equal(s->id, id))
			return s;
	}
	return NULL;
}

static void
session_submit(struct core *core, struct session *s, enum operation_kind kind,
    uint64_t deadline_ms)
{
	struct operation *o = &s->submit.operation;

	assert(!s->busy);
	*o = (struct operation){
		.session = s->id,
		.beat = s->beat,
		.lease_ms = s->ns->settings.lease_ms,
		.again_ms = kind != OPERATION_SESSION_CLOSE ?
		    s->ns->settings.heartbeat_ms / 2 : 0,
	};
	s->busy = true;
	action_submit(core, &s->submit, s->ns, kind, deadline_ms,
	    CORE_ABOUT_SESSION, s);
}

/* @tried: it was, to its deadline, so that what was in the way may be over. */
static uint64_t
session_open_delay_ms(struct core *core, const struct namespace *ns,
    bool tried)
{
	uint32_t doublings = ns->open_failures < 3 ? ns->open_failures : 3;
	uint64_t delay_ms = (uint64_t)RETRY_MS << doublings;
	uint64_t soon_ms = ns->settings.heartbeat_ms / 4;

	if (soon_ms < SESSION_SOON_MS)
		soon_ms = SESSION_SOON_MS;
	if (tried && soon_ms < delay_ms)
		delay_ms = soon_ms;
	return random_jitter(&core->random, delay_ms);
}

static void
session_open_later(struct core *core, struct namespace *ns, bool tried)
{
	if (core->stopping)
		return;
	ns->open_at_ms =
	    core->now_ms + session_open_delay_ms(core, ns, tried);
	ns->open_failures++;
	heap_set(&core->heap, &ns->timer, ns->open_at_ms);
}

/*
 * Open a new session for @ns. Its name is new for each operation: had an
 * older open landed unseen, observers may have counted from its first send.
 */
void
session_start(struct core *core, struct namespace *ns)
{
	struct session *s;

	assert(ns->session == NULL);
	heap_unset(&core->heap, &ns->timer);
	if (core->stopping || ns->settings.life != LOCK_LIFE_SESSION)
		return;
	s = calloc(1, sizeof(*s));
	if (s == NULL || heap_reserve(&core->heap) < 0) {
		free(s);
		session_open_later(core, ns, false);
		return;
	}
	s->ns = ns;
	s->timer.kind = TIMER_SESSION;
	s->state = SESSION_OPENING;
	s->id = random_ident(&core->random);
	DL_PREPEND(ns->sessions, s);
	ns->session = s;
	session_submit(core, s, OPERATION_SESSION_OPEN,
	    core->now_ms + ns->settings.request_ms);
}

void
session_open_timer(struct core *core, struct namespace *ns)
{
	if (ns->session == NULL)
		session_start(core, ns);
}

/* Nothing refers to it any more. */
void
session_free(struct core *core, struct session *s)
{
	struct namespace *ns = s->ns;

	assert(!s->busy);
	assert(s->grants == NULL && s->renewals == NULL);
	if (ns->session == s)
		ns->session = NULL;
	DL_DELETE(ns->sessions, s);
	heap_release(&core->heap, &s->timer);
	free(s);
}

/* When it is to be looked at next. */
void
session_schedule(struct core *core, struct session *s)
{
	uint64_t at_ms;

	switch (s->state) {
	case SESSION_OPENING:
		return;
	case SESSION_VALID:
		at_ms = session_until_ms(s);
		if (!s->danger &&
		    s->sent_ms + s->ns->settings.danger_ms < at_ms)
			at_ms = s->sent_ms + s->ns->settings.danger_ms;
		if (!s->busy && !s->due && s->beat_at_ms < at_ms)
			at_ms = s->beat_at_ms;
		break;
	case SESSION_LOST:
	case SESSION_CLOSING:
		if (s->busy || s->lock != NULL)
			return;
		at_ms = s->close_at_ms;
		break;
	default:
		assert(false);
		return;
	}
	heap_set(&core->heap, &s->timer, at_ms);
}

/* Every hold of this session ends now; its clients are told. */
static void
session_lose(struct core *core, struct session *s, enum core_loss loss)
{
	struct namespace *ns = s->ns;
	assert(s->state == SESSION_VALID);
	s->state = SESSION_LOST;
	s->close_at_ms = core->now_ms + ns->settings.margin_ms;
	renew_answer(core, s, DDBLOCK_E_LOCK_LOST);
	while (s->grants != NULL)
		lock_lose(core, s->grants->lock, s, loss);
	session_schedule(core, s);
	if (ns->session == s) {
		ns->session = NULL;
		ns->open_failures = 0;
		closed_say(core, ns, true);
		session_start(core, ns);
	}
}

/* Each hold is told its deadline, and whether there is reason to worry. */
void
session_say(struct core *core, struct session *s, enum core_notice_kind kind)
{
	struct grant *g;
	struct hold *h;

	s->danger = kind == CORE_IN_DANGER;
	if (s == s->ns->session)
		closed_say(core, s->ns, s->danger);
	DL_FOREACH2(s->grants, g, session_next)
	{
		DL_FOREACH2(g->holds, h, grant_next)
		{
			if (terms_are_common(h))
				action_notice(core, h, kind);
		}
	}
}

/* The same for those who are warned at a time of their own. */
void
session_say_own(struct core *core, struct session *s, bool all)
{
	struct grant *g;
	struct hold *h;

	s->warned = false;
	DL_FOREACH2(s->grants, g, session_next)
	{
		DL_FOREACH2(g->holds, h, grant_next)
		{
			terms_renewed(core, h, all);
		}
	}
}

/* Renew it now. */
void
session_beat(struct core *core, struct session *s)
{
	if (s->lock != NULL) {
		refresh_timer(core, s);
		return;
	}
	/* Repeated until the very end: a renewal that is acknowledged late
	 * still counts from its send. */
	session_submit(core, s, OPERATION_SESSION_BEAT, session_until_ms(s));
}

/* The end of a session whose holders have had their gap, or that is unused. */
static void
session_close(struct core *core, struct session *s)
{
	s->state = SESSION_CLOSING;
	session_submit(core, s, OPERATION_SESSION_CLOSE,
	    core->now_ms + s->ns->settings.request_ms);
}

static void
session_expire(struct core *core, struct session *s)
{
	if (s->lock != NULL)
		refresh_lose(core, s);
	else
		session_lose(core, s, CORE_LOSS_EXPIRED);
}

void
session_timer(struct core *core, struct session *s)
{
	const struct core_namespace *t = &s->ns->settings;

	if (s->state == SESSION_VALID) {
		if (core->now_ms >= session_until_ms(s)) {
			session_expire(core, s);
			return;
		}
		if (!s->danger && core->now_ms >= s->sent_ms + t->danger_ms)
			session_say(core, s, CORE_IN_DANGER);
		if (!s->busy && !s->due && core->now_ms >= s->beat_at_ms)
			session_beat(core, s);
	} else if (!s->busy && core->now_ms >= s->close_at_ms) {
		session_close(core, s);
	}
	session_schedule(core, s);
}

static void
session_became_valid(struct core *core, struct session *s,
    const struct outcome *o)
{
	struct namespace *ns = s->ns;
	struct request *r, *next;

	s->state = SESSION_VALID;
	s->sent_ms = o->sent_ms;
	s->beat = o->session.beat;
	s->beat_at_ms = s->sent_ms + ns->settings.heartbeat_ms;
	ns->open_failures = 0;
	if (core->now_ms >= session_until_ms(s)) {
		session_lose(core, s, CORE_LOSS_EXPIRED);
		return;
	}
	session_schedule(core, s);
	if (s == ns->session && !s->danger)
		closed_say(core, ns, false);
	session_unused(core, s);
	/* Those who wait could not ask before there was a session. */
	HASH_ITER(hh, core->waiting, r, next)
	{
		/* One for several keys may be between two locks. */
		if (r->ns == ns && r->lock != NULL &&
		    r->lock->grants == NULL && r->lock->queue == r)
			lock_advance(core, r->lock);
	}
}

static void
session_opened(struct core *core, struct session *s, const struct outcome *o)
{
	struct namespace *ns = s->ns;
	struct request *r, *next;
	bool tried = core->now_ms >= s->submit.operation.deadline_ms;

	if (o->kind == OUTCOME_DONE && o->session.exists && !o->session.dead) {
		session_became_valid(core, s, o);
		return;
	}
	session_free(core, s);
	session_open_later(core, ns, tried);
	if (o->kind != OUTCOME_REFUSED || !namespace_code_is_definite(o->code))
		return;
	/* A definite answer: nobody should wait for what will not come. */
	HASH_ITER(hh, core->waiting, r, next)
	{
		struct lock *l = r->lock;

		if (r->ns != ns || l == NULL || l->grants != NULL)
			continue;
		request_reply(core, r, o->code, 0, ns->text);
		lock_advance(core, l);
	}
}

/*
 * CORE_RENEWED is about all holds of a namespace. While an older session still
 * has some, or where each has another lease beside, it is told of its own.
 */
static bool
session_is_alone(const struct session *renewed)
{
	const struct session *s;

	DL_FOREACH(renewed->ns->sessions, s)
	{
		if (s != renewed && s->state == SESSION_VALID &&
		    s->grants != NULL)
			return false;
	}
	return true;
}

static void
session_renewed(struct core *core, struct session *s, const struct outcome *o)
{
	const struct core_namespace *t = &s->ns->settings;
	bool alone, danger;

	assert(o->sent_ms <= core->now_ms);
	s->cause = 0;
	s->text[0] = '\0';
	s->beat = o->session.beat;
	if (o->sent_ms > s->sent_ms)
		s->sent_ms = o->sent_ms;
	s->beat_at_ms = s->sent_ms + t->heartbeat_ms;
	if (core->now_ms >= session_until_ms(s))
		return; /* the timer says so */
	danger = core->now_ms >= s->sent_ms + t->danger_ms;
	if (s->ns->settings.bridge != 0) {
		refresh_say(core, s, danger);
		renew_answer(core, s, 0);
		return;
	}
	alone = session_is_alone(s);
	if (alone) {
		s->renewed.namespace_index = s->ns->index;
		s->renewed.until_ms = session_until_ms(s);
		s->renewed.remaining_ms = s->renewed.until_ms - core->now_ms;
		action_add(core, &s->renewed.action, CORE_RENEWED);
	}
	if (!alone || (s->danger && !danger))
		session_say(core, s, danger ? CORE_IN_DANGER : CORE_SAFE);
	if (!alone || s->warned)
		session_say_own(core, s, !alone);
	renew_answer(core, s, 0);
}

/* It was not renewed: who asked for that is told, and it is tried again. */
void
session_trouble(struct core *core, struct session *s, const struct outcome *o)
{
	uint64_t retry_ms = s->ns->settings.heartbeat_ms / 4;
	int code = o->code != 0 ? o->code : DDBLOCK_E_UNREACHABLE;

	if (!o->from_memory) {
		s->cause = code;
		(void)snprintf(s->text, sizeof(s->text), "%s", o->text);
	}
	renew_answer(core, s, code);
	s->beat_at_ms = core->now_ms +
	    random_jitter(&core->random, retry_ms < 1 ? 1 : retry_ms);
}

static void
session_beaten(struct core *core, struct session *s, const struct outcome *o)
{
	if (s->state != SESSION_VALID)
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
	/* An earlier beat of ours landed late and is higher: go above it. */
	if (o->kind == OUTCOME_CONFLICT && o->session.beat > s->beat)
		s->beat = o->session.beat;
	session_trouble(core, s, o);
}

/* Closed: whatever of it is still in the store is anybody's to take. */
static void
session_closed(struct core *core, struct session *s, const struct outcome *o)
{
	struct namespace *ns = s->ns;
	struct ident id = s->id;

	if (o->kind == OUTCOME_REFUSED || o->kind == OUTCOME_UNKNOWN) {
		/* It holds nothing, and nobody has to wait for its end but
		 * those who wait for a lease anyway: no reason to stay. */
		if (core->stopping) {
			session_free(core, s);
			return;
		}
		s->close_at_ms = core->now_ms +
		    random_jitter(&core->random, ns->settings.heartbeat_ms);
		return;
	}
	session_free(core, s);
	if (o->kind == OUTCOME_DONE) {
		doubt_session_closed(core, ns, id);
		observe_closed(core, ns, id);
	}
}

void
session_stored(struct core *core, struct session *s, const struct outcome *o)
{
	enum operation_kind kind = s->submit.operation.kind;
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
	session_schedule(core, s);
	session_unused(core, s);
}

/* Grants go to a new session from now on; this one ends with its holds. */
void
session_retire(struct core *core, struct session *s)
{
	struct namespace *ns = s->ns;

	if (s->retiring || s->state != SESSION_VALID)
		return;
	s->retiring = true;
	if (ns->session == s) {
		ns->session = NULL;
		session_start(core, ns);
	}
	session_unused(core, s);
}

/* Close a session that nothing needs: when stopping, or retired. */
void
session_unused(struct core *core, struct session *s)
{
	/* While a client has something fail-closed, stopping waits for that. */
	bool awaited = !s->retiring && s->ns->closed != NULL &&
	    !core->stop_released;

	if (s->lock != NULL) {
		if (s->grants == NULL)
			refresh_end(core, s);
		return;
	}
	if ((!core->stopping && !s->retiring) || s->grants != NULL || s->busy ||
	    s->state != SESSION_VALID || awaited)
		return;
	session_close(core, s);
}

void
session_check(const struct core *core, const struct session *s)
{
	const struct core_namespace *t = &s->ns->settings;

	assert(s->state >= SESSION_OPENING && s->state <= SESSION_CLOSING);
	assert(s->state != SESSION_VALID ||
	    core->now_ms < session_until_ms(s));
	assert(s->state != SESSION_VALID ||
	    s->danger == (core->now_ms >= s->sent_ms + t->danger_ms));
	assert(s->state == SESSION_VALID || s->renewals == NULL);
	assert((s->grants == NULL) == (s->n_grants == 0));
}

/*
 * Other hosts' sessions, watched from outside: when may one be declared dead?
 * (observe_pace.c says when to look.)
 *
 *  1. A session whose beat did not move for a lease, stretched by the drift,
 *     counted from when this host first HAD that beat in hand, is dead as soon
 *     as the kill is acknowledged; the kill's condition is that very beat.
 *  2. Until then none of its locks is taken. Dead is for ever.
 *  3. An absent item proves nothing: an open may be on its way, or it was
 *  deleted by hand. It is waited for like a beat, then buried: a dead item is
 *     put in its place, so that no late open can bring it to life.
 *  4. What was seen outlives the request that caused the look, so a newcomer
 *     need not wait again. The table is bounded; those without a waiter go
 *     first.
 */
#include "core/lease/room.h"

#include <assert.h>
#include <stdlib.h>

#include "core/timing.h"

uint64_t
observe_end_ms(const struct observation *o)
{
	/* A deadline of the record's own. */
	if (o->ns->has_deadlines)
		return o->lease_ms < CORE_FOREVER - o->since_ms ?
		    o->since_ms + o->lease_ms : CORE_FOREVER;
	return o->since_ms +
	    timing_observe_ms(o->lease_ms, o->ns->settings.drift_ppm);
}

/* What stands in a table may have been chosen, too. */
static uint32_t
observe_hash(const struct namespace *ns, struct ident id)
{
	return (uint32_t)siphash(&ns->core->hash_key, &id, sizeof(id));
}

struct observation *
observe_find(const struct namespace *ns, struct ident id)
{
	struct observation *o;

	HASH_FIND_BYHASHVALUE(hh, ns->observations, &id, sizeof(id),
	    observe_hash(ns, id), o);
	return o;
}

struct observation *
observe_holder(const struct namespace *ns, struct key key,
    const struct holder *h)
{
	struct observation *o;

	if (ns->has_sessions)
		return observe_find(ns, h->session);
	o = observe_find_record(ns, key);
	return o != NULL && ident_equal(o->holder, h->session) ? o : NULL;
}

void
observe_free(struct core *core, struct observation *o)
{
	assert(o->blocked == NULL && !o->busy);
	HASH_DEL(o->ns->observations, o);
	heap_release(&core->heap, &o->timer);
	core->n_observations--;
	free(o);
}

/* Make room: forget the oldest without a waiter. The hash keeps its elements in
 * the order of their making. */
static bool
observe_evict(struct core *core)
{
	for (uint32_t i = 0; i < core->n_namespaces; i++) {
		struct observation *o, *next;

		HASH_ITER(hh, core->namespaces[i].observations, o, next)
		{
			if (o->blocked != NULL || o->busy)
				continue;
			observe_free(core, o);
			return true;
		}
	}
	return false;
}

struct observation *
observe_new(struct core *core, struct namespace *ns, struct ident id)
{
	bool full = core->n_observations >= core->limits.observations_max;
	struct observation *o;

	if (full && !observe_evict(core))
		return NULL;
	o = calloc(1, sizeof(*o));
	if (o == NULL || heap_reserve(&core->heap) < 0) {
		free(o);
		return NULL;
	}
	o->ns = ns;
	o->id = id;
	/* The one that had to go may be asked for next: that has time. */
	o->crowded = full;
	o->read_at_ms = core->now_ms + (full ? ns->settings.poll_ms : 0);
	o->timer.kind = TIMER_OBSERVATION;
	HASH_ADD_BYHASHVALUE(hh, ns->observations, id, sizeof(o->id),
	    observe_hash(ns, id), o);
	if (o->hh.tbl == NULL) {
		heap_release(&core->heap, &o->timer);
		free(o);
		return NULL;
	}
	core->n_observations++;
	return o;
}

/* Do reads alone prove nothing? */
bool
observe_lacks_mark(const struct observation *o)
{
	return o->ns->has_versions && ident_is_none(o->mark);
}

/* Has it not moved for so long that it may be killed? */
static bool
observe_is_stale(const struct core *core, const struct observation *o)
{
	return (o->state == OBSERVATION_ALIVE ||
		   o->state == OBSERVATION_ABSENT) &&
	    !observe_lacks_mark(o) && core->now_ms >= observe_end_ms(o);
}

/* Have all that wait for it time? */
bool
observe_is_patient(const struct observation *o)
{
	return o->blocked != NULL && o->n_prompt == 0;
}

/* Was it not looked at for so long that it may well have moved since? Most
 * sessions live, and a kill that fails costs more than another look. (Looks
 * that were sent and not answered say nothing about that.) */
static bool
observe_is_old(const struct core *core, const struct observation *o)
{
	return (o->neglected || observe_is_patient(o)) &&
	    o->looked_ms < observe_end_ms(o) &&
	    core->now_ms > o->looked_ms + 2 * o->ns->settings.poll_ms;
}

/* May what it holds be taken? */
bool
observe_is_over(const struct core *core, const struct observation *o)
{
	return o->ns->has_sessions ?
	    o->state == OBSERVATION_DEAD : observe_is_stale(core, o);
}

/* Is it known when its lease ends, if it is not seen to move? Not without
 * reads. */
static bool
observe_knows_end(const struct observation *o)
{
	return o->state != OBSERVATION_NEW && !observe_lacks_mark(o) &&
	    (o->state == OBSERVATION_DEAD || o->blocked != NULL);
}

void
observe_tell(const struct core *core, const struct observation *o,
    uint64_t now_ms, struct observed *ret)
{
	*ret = (struct observed){ .seen = false };
	if (o == NULL || o->state == OBSERVATION_NEW)
		return;
	ret->seen = true;
	ret->beat = o->beat;
	ret->since_ms = o->since_ms;
	ret->dead = observe_is_over(core, o);
	ret->silent = ret->dead || observe_is_stale(core, o);
	ret->ends = observe_knows_end(o);
	ret->end_ms =
	    o->state == OBSERVATION_DEAD ? now_ms : observe_end_ms(o);
}

/* The core goes away. */
void
observe_free_all(struct namespace *ns)
{
	struct observation *o, *next;

	HASH_ITER(hh, ns->observations, o, next)
	{
		HASH_DEL(ns->observations, o);
		free(o);
	}
}

void
observe_schedule(struct core *core, struct observation *o)
{
	bool own = !o->ns->has_sessions;
	uint64_t at_ms = own ? observe_end_ms(o) : o->read_at_ms;

	if (o->busy || o->state == OBSERVATION_DEAD || observe_lacks_mark(o) ||
	    (o->blocked == NULL && !o->curious)) {
		heap_unset(&core->heap, &o->timer);
		return;
	}
	/* And once exactly when a takeover first becomes possible. */
	if (o->state != OBSERVATION_NEW && !observe_is_patient(o) &&
	    observe_end_ms(o) < at_ms && observe_end_ms(o) > core->now_ms)
		at_ms = observe_end_ms(o);
	heap_set(&core->heap, &o->timer, at_ms);
}

/* Once, also without a waiter. */
static void
observe_look(struct core *core, struct observation *o)
{
	o->curious = true;
	o->read_at_ms = core->now_ms;
	observe_schedule(core, o);
}

/*
 * Does it look alive, for a view? If that was not looked at for a lease, or not
 * since its beat had to move, it is now, for the next time; and an observation
 * older than a lease proves nothing against it.
 */
bool
observe_lives(struct core *core, struct observation *o)
{
	bool old = core->now_ms >= o->looked_ms + o->lease_ms;

	if (o->state != OBSERVATION_ALIVE)
		return o->state == OBSERVATION_NEW;
	if (o->looked_ms >= observe_end_ms(o) && !old)
		return false;
	if (!o->busy && (old || core->now_ms >= observe_end_ms(o)))
		observe_look(core, o);
	return true;
}

/* Look once, unless that was done a moment ago: it may be the one of many that
 * has died. If it is @crowding a record that others share, and the last look
 * showed that its time was up, a kill takes the place of all further looks. */
void
observe_glance(struct core *core, struct observation *o, bool crowding)
{
	if (o->busy || o->state == OBSERVATION_NEW ||
	    o->state == OBSERVATION_DEAD ||
	    !o->ns->has_sessions ||
	    core->now_ms < o->looked_ms + o->ns->settings.poll_ms)
		return;
	o->crowding = crowding;
	observe_look(core, o);
}

/* Somebody says that he is this session, and cannot be believed: if it was not
 * read for a poll, it is now. */
void
observe_stranger(struct core *core, struct namespace *ns, struct ident id)
{
	struct observation *o = ns->has_sessions &&
	    session_find(ns, id) == NULL ? observe(core, ns, id, 0) : NULL;

	if (o != NULL)
		observe_glance(core, o, false);
}

bool
observe_ends_before(const struct observation *a, const struct observation *b)
{
	return observe_end_ms(a) < observe_end_ms(b);
}

/* Is the end of this session known, or about to be asked for? */
bool
observe_is_near_end(const struct core *core, const struct observation *o)
{
	enum operation_kind kind = o->submit.operation.kind;

	return o->state == OBSERVATION_DEAD || observe_is_stale(core, o) ||
	    (o->busy && (kind == OPERATION_SESSION_KILL ||
			    kind == OPERATION_SESSION_BURY));
}

struct observation *
observe(struct core *core, struct namespace *ns, struct ident id,
    uint64_t lease_ms)
{
	struct observation *o = observe_find(ns, id);

	if (o == NULL)
		o = observe_new(core, ns, id);
	if (o == NULL)
		return NULL;
	if (lease_ms > o->lease_ms)
		o->lease_ms = lease_ms;
	if (o->state == OBSERVATION_NEW && !o->busy) {
		o->curious = true;
		if (!o->crowded)
			o->read_at_ms = core->now_ms;
	}
	observe_schedule(core, o);
	return o;
}

/* The next look is the one in pace. */
static void
observe_hurry(struct core *core, struct observation *o)
{
	o->read_at_ms = observe_next_ms(core, o, o->ns->settings.poll_ms);
}

void
observe_block(struct core *core, struct blocked *b, struct observation *o,
    uint64_t patience_ms)
{
	assert(b->on == NULL);
	b->patience_ms = patience_ms;
	if (o->n_prompt == 0)
		o->neglected = true;
	b->on = o;
	DL_APPEND2(o->blocked, b, previous, next);
	if (b->patience_ms == 0) {
		/* All others were patient until now. */
		if (o->n_prompt++ == 0 &&
		    o->read_at_ms > core->now_ms + o->ns->settings.poll_ms)
			observe_hurry(core, o);
	} else {
		o->patience_ms = b->patience_ms;
	}
	/* Long seen and not looked at since: look, or kill, at once. */
	if (observe_is_stale(core, o) && !observe_is_patient(o) &&
	    o->read_at_ms > core->now_ms)
		o->read_at_ms = core->now_ms;
	observe_schedule(core, o);
}

void
observe_unblock(struct blocked *b)
{
	if (b->on == NULL)
		return;
	DL_DELETE2(b->on->blocked, b, previous, next);
	if (b->patience_ms == 0)
		b->on->n_prompt--;
	b->on = NULL;
}

static void
observe_submit(struct core *core, struct observation *o,
    enum operation_kind kind)
{
	assert(!o->busy);
	o->submit.operation = (struct operation){
		.user = USER_NONE,
		.session = o->id,
		.beat = o->beat,
		.lease_ms = o->lease_ms,
	};
	o->busy = true;
	o->curious = o->crowding = false;
	action_submit(core, &o->submit, o->ns, kind,
	    core->now_ms + o->ns->settings.request_ms, CORE_ABOUT_OBSERVATION,
	    o);
}

/* Waiters for this session may go on. */
static void
observe_release(struct core *core, struct observation *o)
{
	bool busy = o->busy;

	heap_unset(&core->heap, &o->timer);
	o->busy = true; /* what the locks do next must not evict it */
	while (o->blocked != NULL) {
		struct blocked *b = o->blocked;

		observe_unblock(b);
		core->lease_events->unblocked(core, b);
	}
	o->busy = busy;
}

static void
observe_died(struct core *core, struct observation *o)
{
	o->state = OBSERVATION_DEAD;
	observe_release(core, o);
}

void
observe_timer(struct core *core, struct timer *timer)
{
	struct observation *o = CONTAINER_OF(timer, struct observation, timer);

	if (o->busy || o->state == OBSERVATION_DEAD || observe_lacks_mark(o) ||
	    (o->blocked == NULL && !o->curious))
		return;
	if (!o->ns->has_sessions) {
		observe_release(core, o);
		return;
	}
	if (!observe_is_stale(core, o) || observe_is_old(core, o) ||
	    (o->blocked == NULL &&
		!(o->crowding && o->looked_ms >= observe_end_ms(o))))
		observe_submit(core, o, OPERATION_SESSION_READ);
	else if (o->state == OBSERVATION_ALIVE)
		observe_submit(core, o, OPERATION_SESSION_KILL);
	else
		observe_submit(core, o, OPERATION_SESSION_BURY);
}

/* Take note of what the item says now. */
static void
observe_saw(struct core *core, struct observation *o,
    const struct session_record *record)
{
	observe_keep_pace(core, o, record);
	o->looked_ms = core->now_ms;
	o->neglected = false;
	if (o->state == OBSERVATION_NEW)
		o->since_ms = core->now_ms;
	if (record->exists && record->dead) {
		observe_died(core, o);
		return;
	}
	if (!record->exists) {
		if (o->state != OBSERVATION_ABSENT)
			o->since_ms = core->now_ms;
		o->state = OBSERVATION_ABSENT;
		return;
	}
	if (o->state != OBSERVATION_ALIVE || o->beat != record->beat)
		o->since_ms = core->now_ms;
	o->state = OBSERVATION_ALIVE;
	o->beat = record->beat;
	if (record->lease_ms > o->lease_ms)
		o->lease_ms = record->lease_ms;
}

/* Tries on these locks wait only while a takeover is near. */
static void
observe_review(struct core *core, struct observation *o)
{
	struct blocked *b, *after;

	DL_FOREACH_SAFE2(o->blocked, b, after, next)
	{
		core->lease_events->observed(core, b);
	}
}

void
observe_stored(struct core *core, struct observation *o,
    const struct outcome *outcome)
{
	enum operation_kind kind = o->submit.operation.kind;
	uint64_t poll_ms;

	assert(o->busy);
	o->busy = false;
	namespace_trouble(o->ns, outcome);
	/* It was ours, and closed since the look was sent. */
	if (o->state == OBSERVATION_DEAD)
		return;
	poll_ms = random_jitter(&core->random, o->ns->settings.poll_ms);
	if (outcome->kind == OUTCOME_CONFLICT)
		observe_saw(core, o, &outcome->session);
	else if (outcome->kind == OUTCOME_DONE) {
		if (kind == OPERATION_SESSION_READ)
			observe_saw(core, o, &outcome->session);
		else
			observe_died(core, o);
	}
	/* Otherwise the next look settles it: the kill may have happened. */
	o->read_at_ms = observe_next_ms(core, o, poll_ms);
	if (kind == OPERATION_SESSION_READ && observe_is_stale(core, o))
		o->read_at_ms = core->now_ms;
	observe_schedule(core, o);
	observe_review(core, o);
}

/* Our own session @id was closed: it is as dead as a killed one. */
void
observe_closed(struct core *core, struct namespace *ns, struct ident id)
{
	struct observation *o = observe_find(ns, id);

	if (o != NULL && o->state != OBSERVATION_DEAD)
		observe_died(core, o);
}

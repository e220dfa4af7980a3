/*
 * What the answer to a lock's operation means (submission.c sends them).
 */
#include "core/lock/room.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

#define OUTCOME_TOO_LOW							\
	"the token of its record was given before: was the table "	\
	"restored from a backup? \"ddblock raise-tokens\" repairs that"

/* As a lock keeps it. */
int16_t
outcome_cause(const struct outcome *o)
{
	return (int16_t)outcome_code(o);
}

/* Does a client here have it, which ends by itself, or is a release on its
 * way, which will be asked again? */
static bool
outcome_is_used(const struct core *core, const struct lock *l)
{
	const struct grant *g;

	LL_FOREACH(l->grants, g)
	{
		if (grant_is_taken(core, g) || g->state == GRANT_RELEASING)
			return true;
	}
	return false;
}

/* No waiter can have the lock, because of @code: the answer to what was sent at
 * @submitted_ms. Those that asked later, the last in line, are tried again. */
static void
outcome_fail(struct core *core, struct lock *l, int code, const char *text,
    uint64_t submitted_ms)
{
	while (l->queue != NULL && l->queue->asked_ms <= submitted_ms)
		core->lock_events->answered(core, l->queue, code, 0, text);
	if (l->queue == NULL)
		return;
	l->cause = 0;
	l->hold_off_ms = core->now_ms;
}

/*
 * The store could not say. After a definite answer waiters need not wait any
 * longer, unless another operation is going on.
 */
void
outcome_failed(struct core *core, struct lock *l, const struct outcome *o,
    uint64_t submitted_ms)
{
	bool definite = o->kind == OUTCOME_REFUSED &&
	    namespace_code_is_definite(o->code);

	l->cause = outcome_cause(o);
	lock_hold_off(core, l, lock_poll_ms(l));
	if (definite && !outcome_is_used(core, l))
		outcome_fail(core, l, o->code, o->text, submitted_ms);
}

/* It is kept for a while (grant_idle()), which a look does not prolong. */
static bool
outcome_finds_idle(const struct lock *l)
{
	const struct grant *g;

	if (l->ns->settings.idle_ms == 0 || l->queue != NULL)
		return false;
	LL_FOREACH(l->grants, g)
	{
		if (g->state == GRANT_HELD && g->uses == NULL)
			return true;
	}
	return false;
}

void
outcome_seen(struct core *core, struct lock *l, const struct outcome *o,
    uint64_t submitted_ms)
{
	record_seen(core, l, &o->lock, submitted_ms);
	if (!outcome_finds_idle(l))
		l->due_ms = l->line != NULL ? line_due_ms(core, l) :
		    core->now_ms +
		    random_jitter(&core->random, lock_poll_ms(l));
}

/* Its tokens may have been given before, and it cannot have others: it shares
 * the lock with hosts that have those, or nothing may end it but its holder. */
static bool
outcome_is_too_low(const struct grant *g, const struct lock_record *record)
{
	return (g->fail_closed || (g->mode == LOCK_MODE_SHARED &&
	    record->n_holders > 1)) && !grant_has_token(g);
}

/* No client is told of it: give it back. */
static void
outcome_give_back(struct core *core, struct grant *g, const struct holder *me,
    const struct outcome *o, uint64_t submitted_ms)
{
	struct lock *l = g->lock;

	if (g->fail_closed) {
		grant_enter(core, g, GRANT_RELEASING, NULL);
		return;
	}
	grant_enter(core, g, GRANT_NONE, NULL);
	outcome_seen(core, l, o, submitted_ms);
	record_orphan(core, l, me, &o->lock);
}

/* The grant @me is in the record, and its tokens are ours. */
void
outcome_granted(struct core *core, struct grant *g, const struct holder *me,
    const struct outcome *o, uint64_t submitted_ms)
{
	struct lock *l = g->lock;

	if (l->ns->renews_records && g->lease != NULL)
		record_lease_begin(core, g->lease, &o->lock);
	if (!grant_is_good(core, g) ||
	    !grant_take_new_tokens(g, &o->lock)) {
		outcome_give_back(core, g, me, o, submitted_ms);
		return;
	}
	if (outcome_is_too_low(g, &o->lock)) {
		outcome_fail(core, l, DDBLOCK_E_BAD_RECORD, OUTCOME_TOO_LOW,
		    submitted_ms);
		outcome_give_back(core, g, me, o, submitted_ms);
		return;
	}
	grant_enter(core, g, GRANT_HELD, g->lease);
	g->passed = false;
	g->stays = ident_equal(o->lock.kept, g->id);
	/* Just written: this round of the audit need not read it. */
	g->audit_round = l->ns->audit_round;
	l->run = 0;
	l->run_started_ms = (uint32_t)core->now_ms;
	l->stand_back = false;
	l->hold_off_ms = 0;
	l->due_ms = core->now_ms + l->ns->settings.idle_ms;
	record_seen(core, l, &o->lock, submitted_ms);
	l->wanted = l->ns->settings.hints && l->line != NULL;
	l->deaf_ms = (uint32_t)core->now_ms;
}

/*
 * Does the answer show a free record that this acquire did not know? Then it is
 * asked for again at once, or not before our turn: in a format whose acquires
 * name the version that they follow, where each time another client has held
 * it; and where the line has moved, or there is one.
 */
static bool
outcome_is_news(const struct lock *l, const struct submission *s,
    const struct outcome *o)
{
	if (o->kind != OUTCOME_CONFLICT || l->view != VIEW_FREE)
		return false;
	if (l->ns->has_sessions)
		return l->line != NULL && (l->hindered ||
		    l->line->place == 0 ||
		    line_place(l, s->holder.session) !=
		    s->submit.operation.place);
	return (s->version == NULL) != (l->version == NULL) ||
	    (l->version != NULL && strcmp(s->version, l->version) != 0);
}

/* Another host has it, and perhaps no client there: it is asked for it. A
 * waiter in no line hears of the release as a watcher does. */
static void
outcome_want(struct core *core, struct lock *l,
    const struct lock_record *record)
{
	if (lock_record_is_kept(record) && l->queue != NULL &&
	    kept_is_brief(core, l, l->queue))
		hint_send(core, l->ns, lock_key(l), CORE_HINT_WATCHING,
		    record->holders[0].session);
	hint_wanted(core, l, record);
}

static void
outcome_acquired(struct core *core, struct grant *g, struct submission *s,
    const struct outcome *o)
{
	uint64_t submitted_ms = s->submit.operation.submitted_ms;
	struct lock *l = g->lock;

	if (l->hint == HINT_FOLLOWED)
		hint_answered(core, l, o->kind);
	if (o->kind == OUTCOME_DONE) {
		if (l->ns->renews_records && g->lease != NULL)
			record_lease_count_from(g->lease, o->sent_ms);
		outcome_granted(core, g, &s->holder, o, submitted_ms);
	} else if (o->kind == OUTCOME_UNKNOWN && !grant_is_lost(g)) {
		grant_enter(core, g, GRANT_UNSURE, g->lease);
		l->cause = outcome_cause(o);
		l->hold_off_ms = core->now_ms;
		/* Ours or not, it is unreadable. */
		if (o->code == DDBLOCK_E_BAD_RECORD)
			outcome_fail(core, l, o->code, o->text,
			    submitted_ms);
	} else {
		grant_enter(core, g, GRANT_NONE, NULL);
		if (o->kind == OUTCOME_CONFLICT)
			outcome_seen(core, l, o, submitted_ms);
		else
			outcome_failed(core, l, o, submitted_ms);
		if (l->ns->settings.hints && o->kind == OUTCOME_CONFLICT)
			outcome_want(core, l, &o->lock);
		/* What looks free or open and yet was refused: others' turn,
		 * or it changed. Look before writing again. */
		l->refused = o->kind == OUTCOME_CONFLICT;
		if (outcome_is_news(l, s, o)) {
			l->refused = false;
			return;
		}
		if (l->view != VIEW_FOREIGN)
			l->view = VIEW_STALE;
		if (o->kind == OUTCOME_REFUSED)
			l->view = VIEW_NEW;
	}
}

static void
outcome_cleaned(struct core *core, struct lock *l, struct submission *s,
    const struct outcome *o)
{
	uint64_t submitted_ms = s->submit.operation.submitted_ms;

	if (o->kind == OUTCOME_DONE || o->kind == OUTCOME_CONFLICT) {
		outcome_seen(core, l, o, submitted_ms);
		if (o->kind == OUTCOME_DONE)
			hint_freed(core, l->ns, lock_key(l), &o->lock);
		return;
	}
	outcome_failed(core, l, o, submitted_ms);
	free(l->leftovers);
	l->leftovers = NULL;
	l->read_due = true; /* which finds it, if it is still there */
}

/* Ours is out of the record. */
void
outcome_gone(struct core *core, struct grant *g, const struct outcome *o,
    uint64_t submitted_ms)
{
	struct lock *l = g->lock;
	/* Of a semaphore's places the last one counts. */
	bool stand_back = l->stand_back || core->now_ms < l->back_ms;

	l->stand_back = false;
	grant_enter(core, g, GRANT_NONE, NULL);
	outcome_seen(core, l, o, submitted_ms);
	if (l->ns->settings.hints && o->kind == OUTCOME_DONE)
		hint_freed(core, l->ns, lock_key(l), &o->lock);
	/* Behind the others in line, its turn comes of itself. */
	if (!stand_back || l->queue == NULL ||
	    (l->line != NULL && line_is_kept(l)))
		return;
	l->due_ms = core->now_ms + 2 * l->ns->settings.poll_ms;
	l->back_ms = l->due_ms;
	if (l->grants == NULL)
		l->hold_off_ms = l->due_ms;
	if (l->view != VIEW_FOREIGN)
		l->view = VIEW_STALE;
	l->refused = true;
}

static void
outcome_released(struct core *core, struct grant *g, struct submission *s,
    const struct outcome *o)
{
	uint64_t submitted_ms = s->submit.operation.submitted_ms;
	struct lock *l = g->lock;
	int code = outcome_cause(o);

	/* Another host removed the dead one that it named: now without. */
	if (o->kind == OUTCOME_CONFLICT && s->submit.operation.n_holders > 1 &&
	    record_shows(&o->lock, g)) {
		free(l->leftovers);
		l->leftovers = NULL;
		if (g->releasing != NULL)
			heap_set(&core->later, &g->releasing->timer,
			    g->releasing->deadline_ms);
		return;
	}
	if (o->kind == OUTCOME_DONE || o->kind == OUTCOME_CONFLICT) {
		code = o->kind == OUTCOME_DONE ? 0 : DDBLOCK_E_LOCK_STOLEN;
		grant_released(core, g, code, 0, NULL);
		outcome_gone(core, g, o, submitted_ms);
		return;
	}
	grant_released(core, g, code, 0, o->text);
	g->unsettled = o->kind == OUTCOME_UNKNOWN;
	if (grant_is_lost(g)) {
		grant_enter(core, g, GRANT_NONE, NULL);
		record_forget_sight(l);
		l->view = VIEW_STALE;
	}
	outcome_failed(core, l, o, submitted_ms);
}

/* What renews a lock by its own record: did it? */
static void
outcome_renewed(struct core *core, struct lock *l, const struct submission *s,
    const struct outcome *o)
{
	struct grant *g = grant_find(l, s->holder.grant);

	if (g != NULL)
		record_lease_stored(core, g->lease, o);
}

/* The record was seen, and may be without this grant: then that is lost. */
static bool
outcome_loses_grant(struct core *core, struct grant *g,
    const struct outcome *o)
{
	if (g == NULL || g->state != GRANT_HELD || record_shows(&o->lock, g))
		return false;
	grant_lose(core, g, record_loss(&o->lock));
	return true;
}

/* A routine renewal must not delay what a client asks for. */
static void
outcome_refreshed(struct core *core, struct lock *l, struct submission *s,
    const struct outcome *o)
{
	struct grant *g = grant_find(l, s->holder.grant);

	if (o->kind != OUTCOME_DONE && o->kind != OUTCOME_CONFLICT) {
		l->cause = outcome_cause(o);
		return;
	}
	if (outcome_loses_grant(core, g, o))
		return;
	outcome_seen(core, l, o, s->submit.operation.submitted_ms);
}

static void
outcome_extended(struct core *core, struct lock *l, struct submission *s,
    const struct outcome *o)
{
	uint64_t submitted_ms = s->submit.operation.submitted_ms;
	struct grant *g = grant_find(l, s->holder.grant);

	if (o->kind != OUTCOME_DONE && o->kind != OUTCOME_CONFLICT) {
		outcome_failed(core, l, o, submitted_ms);
		return;
	}
	if (outcome_loses_grant(core, g, o))
		return;
	outcome_seen(core, l, o, submitted_ms);
	if (g == NULL || g->state != GRANT_HELD)
		return;
	/* Others have come to share it meanwhile. */
	if (g->uses == NULL && o->kind == OUTCOME_CONFLICT &&
	    outcome_is_too_low(g, &o->lock)) {
		outcome_fail(core, l, DDBLOCK_E_BAD_RECORD, OUTCOME_TOO_LOW,
		    submitted_ms);
		grant_enter(core, g, GRANT_RELEASING, g->lease);
		return;
	}
	/* For the next holder; or the element that is there now. */
	if (l->ns->has_sessions || g->uses != NULL ||
	    o->kind != OUTCOME_DONE)
		grant_adopt(core, g, &o->lock);
	else
		(void)grant_take_tokens(g, &o->lock);
}

static void
outcome_updated(struct core *core, struct lock *l, struct submission *s,
    const struct outcome *o)
{
	uint64_t submitted_ms = s->submit.operation.submitted_ms;
	struct grant *g = grant_find(l, s->holder.grant);
	bool held = g != NULL && g->state == GRANT_HELD;

	if (o->kind != OUTCOME_DONE && o->kind != OUTCOME_CONFLICT) {
		if (!held || !update_failed(core, g, s->serial, o))
			outcome_failed(core, l, o, submitted_ms);
		return;
	}
	if (outcome_loses_grant(core, g, o))
		return;
	outcome_seen(core, l, o, submitted_ms);
	if (!held)
		return;
	/* What the record shows now is above all that was sent before. */
	g->unsealed = false;
	grant_touch(g);
	grant_adopt(core, g, &o->lock);
}

static void
outcome_waiter_marked(struct core *core, struct lock *l, struct submission *s,
    const struct outcome *o)
{
	const struct operation *operation = &s->submit.operation;

	if (o->kind != OUTCOME_DONE && o->kind != OUTCOME_CONFLICT) {
		outcome_failed(core, l, o, operation->submitted_ms);
		return;
	}
	outcome_seen(core, l, o, operation->submitted_ms);
	if (operation->kind == OPERATION_ADD_WAITER)
		hint_wanted(core, l, &o->lock);
	else if (o->kind == OUTCOME_DONE)
		hint_freed(core, l->ns, lock_key(l), &o->lock);
	/* Of more waiter marks than fit, a record's reader need not show ours.
	 * */
	if (operation->kind == OPERATION_ADD_WAITER &&
	    o->kind == OUTCOME_DONE &&
	    l->ns->session != NULL &&
	    ident_equal(l->ns->session->id, operation->session))
		l->own_mark_mode = operation->mode;
}

/* From this answer on the holder's lease counts, if the mark is there. */
static void
outcome_marked(struct core *core, struct lock *l, struct submission *s,
    const struct outcome *o)
{
	outcome_waiter_marked(core, l, s, o);
	if (o->kind != OUTCOME_DONE)
		return;
	observe_marked(core, l->ns, lock_key(l), &o->lock,
	    s->submit.operation.mark);
	l->mark_due = MARK_NONE;
}

/* An attempt that was never answered may land later: remember it. */
static void
outcome_add_in_doubt(struct core *core, struct lock *l, struct submission *s,
    const struct outcome *o)
{
	const struct operation *operation = &s->submit.operation;
	struct in_doubt *d = s->in_doubt;
	struct holder h;

	if (d == NULL || (!o->unanswered && o->kind != OUTCOME_UNKNOWN))
		return;
	s->in_doubt = NULL;
	h = operation->me;
	h.session = operation->session;
	in_doubt_add(core, &l->in_doubt_list, d, &h,
	    o->unanswered ? o->unanswered_ms : core->now_ms);
}

static void
outcome_dispatch(struct core *core, struct lock *l, struct submission *s,
    const struct outcome *o)
{
	switch (s->submit.operation.kind) {
	case OPERATION_READ:
		look_taken(core, l, s->submit.operation.submitted_ms, o);
		look_exists(core, l, s, o);
		break;
	case OPERATION_ACQUIRE:
		if (s->downgrading)
			downgrade_stored(core, l, s->holder.grant, o,
			    s->submit.operation.submitted_ms);
		else
			outcome_acquired(core,
			    grant_find(l, s->holder.grant), s, o);
		break;
	case OPERATION_RELEASE:
		if (s->cleaning)
			outcome_cleaned(core, l, s, o);
		else
			outcome_released(core,
			    grant_find(l, s->holder.grant), s, o);
		break;
	case OPERATION_REFRESH:
		outcome_refreshed(core, l, s, o);
		break;
	case OPERATION_EXTEND:
		outcome_extended(core, l, s, o);
		grant_asked_tokens(core, grant_find(l, s->holder.grant), o);
		break;
	case OPERATION_UPDATE:
		outcome_updated(core, l, s, o);
		break;
	case OPERATION_MARK:
		outcome_marked(core, l, s, o);
		break;
	default:
		outcome_waiter_marked(core, l, s, o);
		break;
	}
}

/* Do its watchers on other hosts see something else now? */
static bool
outcome_is_told(const struct lock *l, const struct submission *s,
    const struct outcome *o)
{
	enum operation_kind kind = s->submit.operation.kind;

	return l->ns->settings.hints && o->kind == OUTCOME_DONE &&
	    (kind == OPERATION_ACQUIRE || kind == OPERATION_RELEASE ||
		kind == OPERATION_UPDATE);
}

/* One of several that did not happen, and not because of this lock. */
static void
outcome_spared(struct core *core, struct grant *g)
{
	struct lock *l = g->lock;

	grant_enter(core, g, GRANT_NONE, NULL);
	l->view = VIEW_NEW;
}

/* What became of the lock's operation. The caller advances the lock. */
static void
outcome_take(struct core *core, struct lock *l, const struct outcome *o)
{
	struct submission *s = l->submission;

	assert(s != NULL);
	l->submission = NULL;
	l->references++; /* not freed while we look at it */
	outcome_add_in_doubt(core, l, s, o);
	if (o->kind == OUTCOME_REFUSED && o->code == 0)
		outcome_spared(core, grant_find(l, s->holder.grant));
	else
		outcome_dispatch(core, l, s, o);
	if (outcome_is_told(l, s, o))
		hint_changed(core, l->ns, lock_key(l));
	if (l->ns->renews_records)
		outcome_renewed(core, l, s, o);
	update_seen(core, l, s, o);
	if (o->lock.ran_s > 0 &&
	    (o->kind == OUTCOME_DONE || o->kind == OUTCOME_CONFLICT))
		every_seen(core, l, s, o);
	submission_free(core, s);
	if (l->n_overdue > 0)
		core->lock_events->learnt(core, l);
	l->references--;
}

void
lock_stored(struct core *core, struct lock *l, const struct outcome *o)
{
	namespace_trouble(l->ns, o);
	outcome_take(core, l, o);
	lock_advance(core, l);
	if (core->found_lock != NULL)
		update_forget(core);
}

void
lock_stored_part(struct core *core, struct lock *l, const struct outcome *o)
{
	outcome_take(core, l, o);
	if (core->found_lock != NULL)
		update_forget(core);
}

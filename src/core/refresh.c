/*
 * Leases of one record each, for formats without sessions: a hold is kept
 * alive by writing to its own record. Such a grant has a session of its own
 * (session->lock), which begins with the acquire and ends with the grant:
 *
 *              acquired            no renewal in time
 *     OPENING ----------> VALID --------------------> LOST
 *        |                  |                           | one margin later the
 *        | not acquired     | released, or stolen       | record is released
 *        v                  v                           v
 *     (freed)            (freed)                     (freed)
 *
 *  1. The lease counts as any session's does: from the send of the write whose
 *     effect the answer shows. The acquire is the first of them; an update or
 *     more tokens renew it as well.
 *  2. A renewal is an operation of the lock: while another one is under way it
 *     waits, and a release waits for it. So neither can undo the other.
 *  3. Renewals are spread: the first one of a grant comes up to half a period
 *     early, the others a period apart, and not more of all of them in a second
 *     than the namespace allows, unless one would be late. What is late is
 *     retried, with jitter, to the end of the lease.
 *  4. What is lost stays in the record for a margin, which belongs to its
 *     holder, and is released then.
 */
#include "core/internal.h"

#include <assert.h>
#include <stdlib.h>

#include "ddblock.h"

/* Does a hold here live by its own record? */
bool
refresh_is_per_record(const struct namespace *ns)
{
	return ns->settings.life == LOCK_LIFE_RECORD ||
	    ns->settings.life == LOCK_LIFE_DEADLINE;
}

/* For a grant that is about to be asked for; NULL: no memory. */
struct session *
refresh_new(struct core *core, struct lock *l, struct ident id)
{
	struct session *s = calloc(1, sizeof(*s));

	if (s == NULL || heap_reserve(&core->heap) < 0) {
		free(s);
		return NULL;
	}
	s->ns = l->ns;
	s->lock = l;
	s->id = id;
	s->timer.kind = TIMER_SESSION;
	s->state = SESSION_OPENING;
	s->sent_ms = core->now_ms;
	DL_APPEND(l->ns->refreshed, s);
	return s;
}

/* Its grant is no more. Who waits for a renewal is told. */
void
refresh_end(struct core *core, struct session *s)
{
	assert(s->grants == NULL);
	renew_answer(core, s, DDBLOCK_E_LOCK_LOST);
	DL_DELETE(s->ns->refreshed, s);
	heap_release(&core->heap, &s->timer);
	free(s->owner);
	free(s);
}

/* So that those that were acquired together are not renewed together. */
static uint64_t
refresh_first_ms(struct core *core, const struct session *s)
{
	uint64_t period_ms = s->ns->settings.heartbeat_ms;

	return s->sent_ms + period_ms -
	    random_next(&core->random) % (period_ms / 2 + 1);
}

/* The record came to show our grant, by a write that was sent then. */
void
refresh_begin(struct core *core, struct session *s, uint64_t sent_ms,
    const struct lock_record *record)
{
	s->state = SESSION_VALID;
	s->sent_ms = sent_ms;
	s->beat = record->beat;
	s->beat_at_ms = refresh_first_ms(core, s);
	s->danger = core->now_ms >= sent_ms + s->ns->settings.danger_ms;
	session_schedule(core, s);
}

/* The first moment at which this second's renewals leave room for one more;
 * but no later than what makes anybody worry. */
static uint64_t
refresh_slot_ms(const struct session *s, uint64_t now_ms)
{
	const struct core_namespace *t = &s->ns->settings;
	uint64_t slot_ms = s->ns->refresh_slot_us / 1000;
	uint64_t late_ms =
	    s->sent_ms + (t->heartbeat_ms + t->danger_ms) / 2;

	if (t->refresh_rate == 0 || slot_ms <= now_ms || now_ms >= late_ms)
		return now_ms;
	return slot_ms < late_ms ? slot_ms : late_ms;
}

static void
refresh_take_slot(struct namespace *ns, uint64_t now_ms)
{
	uint64_t rate = ns->settings.refresh_rate;

	if (rate == 0)
		return;
	if (ns->refresh_slot_us < now_ms * 1000)
		ns->refresh_slot_us = now_ms * 1000;
	ns->refresh_slot_us += 1000000 / rate;
}

/* Is it time? Then the lock sends it, as soon as nothing else of it is under
 * way. */
void
refresh_timer(struct core *core, struct session *s)
{
	uint64_t slot_ms = refresh_slot_ms(s, core->now_ms);

	if (slot_ms > core->now_ms) {
		s->beat_at_ms = slot_ms;
		return;
	}
	s->due = true;
	refresh_take_slot(s->ns, core->now_ms);
	lock_advance(core, s->lock);
}

/* The renewal that is due, or that a client asked for. */
void
refresh_advance(struct core *core, struct grant *g)
{
	struct session *s = g->session;
	struct lock *l = g->lock;

	if (s == NULL || s->lock == NULL || !s->due ||
	    s->state != SESSION_VALID || l->submission != NULL ||
	    core->now_ms >= session_until_ms(s))
		return;
	(void)submission_send(core, l, OPERATION_REFRESH, g);
}

/* It is on its way, or another write that renews. */
void
refresh_sent(struct session *s)
{
	s->due = false;
	s->busy = true;
	/* Also what is never acknowledged may be in the record by then. */
	if (s->ns->settings.life == LOCK_LIFE_RECORD)
		s->beat += BEATS_MAX;
}

/* Each hold by itself is told how long it is good now. */
void
refresh_say(struct core *core, struct session *s, bool danger)
{
	struct grant *g;
	struct hold *h;

	if (s->danger && !danger) {
		session_say(core, s, CORE_SAFE);
	} else {
		DL_FOREACH2(s->grants, g, session_next)
		{
			DL_FOREACH2(g->holds, h, grant_next)
			{
				if (terms_are_common(h))
					action_notice(core, h, danger ?
					    CORE_IN_DANGER : CORE_PROLONGED);
			}
		}
	}
	session_say_own(core, s, true);
}

/* A write that was sent at @o->sent_ms is in the record. */
static void
refresh_acknowledged(struct core *core, struct session *s,
    const struct outcome *o)
{
	s->cause = 0;
	s->text[0] = '\0';
	if (o->lock.beat > s->beat)
		s->beat = o->lock.beat;
	if (o->sent_ms > s->sent_ms)
		s->sent_ms = o->sent_ms;
	s->beat_at_ms = s->sent_ms + s->ns->settings.heartbeat_ms;
	if (core->now_ms >= session_until_ms(s))
		return;		/* the timer says so */
	refresh_say(core, s,
	    core->now_ms >= s->sent_ms + s->ns->settings.danger_ms);
	renew_answer(core, s, 0);
}

/* What became of a write of @g's that renews it. The caller knows by now that
 * the record still shows @g, if it could be read. */
void
refresh_stored(struct core *core, struct grant *g, const struct outcome *o)
{
	struct session *s = g->session;

	if (s == NULL || s->lock == NULL || !s->busy)
		return;
	s->busy = false;
	if (s->state != SESSION_VALID)
		return;		/* too late: lost is final */
	if (o->kind == OUTCOME_DONE) {
		refresh_acknowledged(core, s, o);
	} else {
		/* An earlier one landed late, and is higher. */
		if (o->kind == OUTCOME_CONFLICT && o->lock.beat > s->beat)
			s->beat = o->lock.beat;
		session_trouble(core, s, o);
	}
	session_schedule(core, s);
}

/*
 * There was no renewal in time: the clients are told. The record is released
 * when their gap is over, whatever is under way for it now.
 */
void
refresh_lose(struct core *core, struct session *s)
{
	struct grant *g = s->grants;
	struct lock *l = s->lock;

	s->state = SESSION_LOST;
	renew_answer(core, s, DDBLOCK_E_LOCK_LOST);
	if (g->state == GRANT_HELD)
		grant_expire(core, g);
	lock_advance(core, l);
}

/*
 * Leases of one record each, for formats without sessions: a hold is kept
 * alive by writing to its own record. Such a grant has a lease of its own,
 * which begins with the acquire and ends with the grant:
 *
 *              acquired            no renewal in time
 *     OPENING ----------> VALID --------------------> LOST
 *        |                  |                           | one margin later the
 *        | not acquired     | released, or stolen       | record is released
 *        v                  v                           v
 *     (freed)            (freed)                     (freed)
 *
 *  1. It counts as any lease does: from the send of the write whose effect the
 *     answer shows. The acquire is the first of them; an update or more tokens
 *     renew it as well.
 *  2. A renewal is an operation of the lock: while another one is under way it
 *     waits, and a release waits for it. So neither can undo the other.
 *  3. Renewals are spread: the first one of a grant comes up to half a period
 *     early, the others a period apart, and not more of all of them in a second
 *     than the namespace allows, unless one would be late. What is late is
 *     retried, with jitter, to the end of the lease.
 *  4. A lost grant remains in the record for a margin, which belongs to its
 *  holder, and is released then.
 */
#include "core/lease/room.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

struct record_lease {
	struct lease lease;	/* first */
	char *owner;		/* as its record says; or NULL */
};

static struct record_lease *
record_lease_of(struct lease *l)
{
	assert(lease_is_of_record(l));
	return (struct record_lease *)l;
}

struct lease *
record_lease_new(struct core *core, struct namespace *ns, struct ident id)
{
	struct lease *l = calloc(1, sizeof(struct record_lease));

	if (l == NULL || heap_reserve(&core->heap) < 0) {
		free(l);
		return NULL;
	}
	l->kind = &record_lease_kind;
	l->ns = ns;
	l->id = id;
	l->timer.kind = TIMER_SESSION;
	lease_enter(l, LEASE_OPENING, core->now_ms);
	l->close_at_ms = CORE_FOREVER;
	DL_APPEND(ns->record_leases, l);
	record_lease_touch(core, l);
	return l;
}

/* ---- across the death of the process ---------------------------------- */

void
record_lease_touch(struct core *core, struct lease *l)
{
	saved_touch(core, &l->saved, SAVED_RECORD_LEASE);
}

bool
record_lease_save(struct journal *journal, struct saved *saved)
{
	const struct lease *l = CONTAINER_OF(saved, struct lease, saved);
	const struct saved_record_lease entry = {
		.id = l->id, .sent_ms = l->sent_ms, .beat = l->beat,
	};

	return journal_put(journal, &saved->place, SAVED_RECORD_LEASE, &entry,
	    sizeof(entry), NULL, 0);
}

/* Its grant is unsure yet: it counts from before that was asked for. Or it is
 * held, and renewed at once: that shows that it is ours alone. */
void
record_lease_inherit(struct core *core, struct lease *l,
    const struct saved_record_lease *saved)
{
	bool held = l->state == LEASE_VALID;

	lease_enter(l, l->state, saved->sent_ms);
	l->beat = saved->beat;
	if (!held)
		return;
	l->unproven = true;
	l->beat_at_ms = core->now_ms;
	heap_set(&core->heap, &l->timer, core->now_ms);
}

void
record_lease_rename(struct lease *l, struct ident id)
{
	l->id = id;
}

void
record_lease_hold(struct lease *l)
{
	lease_enter(l, LEASE_VALID, l->sent_ms);
}

void
record_lease_give_up(struct lease *l)
{
	lease_enter(l, LEASE_LOST, l->sent_ms);
}

/* ---- its life --------------------------------------------------------- */

void
record_lease_free(struct lease *l)
{
	free(record_lease_of(l)->owner);
	free(l);
}

/* Its grant is no more? Then the client that waits for a renewal is told. */
static void
record_lease_unused(struct core *core, struct lease *l)
{
	if (l->grants != NULL)
		return;
	core->lease_events->answer(core, l, DDBLOCK_E_LOCK_LOST);
	saved_end(core, &l->saved);
	DL_DELETE(l->ns->record_leases, l);
	heap_release(&core->heap, &l->timer);
	record_lease_free(l);
}

void
record_lease_set_owner(struct lease *l, const char *owner)
{
	record_lease_of(l)->owner = strdup(owner);
}

const char *
record_lease_owner(const struct lease *l)
{
	return ((const struct record_lease *)l)->owner;
}

/* So that those that were acquired together are not renewed together. */
static uint64_t
record_lease_first_ms(struct core *core, const struct lease *l)
{
	uint64_t period_ms = l->ns->settings.heartbeat_ms;

	return l->sent_ms + period_ms -
	    random_next(&core->random) % (period_ms / 2 + 1);
}

void
record_lease_count_from(struct lease *l, uint64_t sent_ms)
{
	lease_enter(l, l->state, sent_ms);
}

void
record_lease_begin(struct core *core, struct lease *l,
    const struct lock_record *record)
{
	lease_enter(l, LEASE_VALID, l->sent_ms);
	record_lease_touch(core, l);
	l->beat = record->beat;
	l->beat_at_ms = record_lease_first_ms(core, l);
	l->danger = core->now_ms >= l->sent_ms + l->ns->settings.danger_ms;
	lease_schedule(core, l);
}

/* The first moment at which this second's renewals leave room for one more;
 * but no later than what makes anybody worry. */
static uint64_t
record_lease_slot_ms(const struct lease *l, uint64_t now_ms)
{
	const struct core_namespace *t = &l->ns->settings;
	uint64_t slot_ms = l->ns->renewal_slot_us / 1000;
	uint64_t late_ms =
	    l->sent_ms + (t->heartbeat_ms + t->danger_ms) / 2;

	if (t->refresh_rate == 0 || slot_ms <= now_ms || now_ms >= late_ms)
		return now_ms;
	return slot_ms < late_ms ? slot_ms : late_ms;
}

static void
record_lease_take_slot(struct namespace *ns, uint64_t now_ms)
{
	uint64_t rate = ns->settings.refresh_rate;

	if (rate == 0)
		return;
	if (ns->renewal_slot_us < now_ms * 1000)
		ns->renewal_slot_us = now_ms * 1000;
	ns->renewal_slot_us += 1000000 / rate;
}

/* Is it time? Then the lock sends it, as soon as nothing else of it is under
 * way. */
static void
record_lease_renew(struct core *core, struct lease *l)
{
	uint64_t slot_ms = record_lease_slot_ms(l, core->now_ms);

	if (slot_ms > core->now_ms) {
		l->beat_at_ms = slot_ms;
		return;
	}
	l->due = true;
	record_lease_take_slot(l->ns, core->now_ms);
	core->lease_events->record_due(core, l);
}

bool
record_lease_is_due(const struct core *core, const struct lease *l)
{
	return l != NULL && lease_is_of_record(l) && l->due &&
	    lease_is_good(core, l);
}

void
record_lease_sent(struct lease *l)
{
	l->due = false;
	l->busy = true;
	record_lease_touch(l->ns->core, l);
	/* Also what is never acknowledged may be in the record by then. */
	if (l->ns->has_versions)
		l->beat += BEATS_MAX;
}

/* A write that was sent at @o->sent_ms is in the record. */
static void
record_lease_acknowledged(struct core *core, struct lease *l,
    const struct outcome *o)
{
	l->cause = 0;
	l->text[0] = '\0';
	record_lease_touch(core, l);
	if (o->lock.beat > l->beat)
		l->beat = o->lock.beat;
	if (o->sent_ms > l->sent_ms)
		lease_enter(l, l->state, o->sent_ms);
	l->beat_at_ms = l->sent_ms + l->ns->settings.heartbeat_ms;
	if (core->now_ms >= lease_until_ms(l))
		return;		/* the timer says so */
	if (l->unproven) {
		l->unproven = false;
		core->lease_events->proven(core, l);
	}
	lease_say_each(core, l,
	    core->now_ms >= l->sent_ms + l->ns->settings.danger_ms);
	core->lease_events->answer(core, l, 0);
}

void
record_lease_stored(struct core *core, struct lease *l,
    const struct outcome *o)
{
	if (l == NULL || !lease_is_of_record(l) || !l->busy)
		return;
	l->busy = false;
	if (l->state != LEASE_VALID)
		return;		/* too late: lost is final */
	if (o->kind == OUTCOME_DONE) {
		record_lease_acknowledged(core, l, o);
	} else {
		/* An earlier one landed late, and is higher. */
		if (o->kind == OUTCOME_CONFLICT && o->lock.beat > l->beat)
			l->beat = o->lock.beat;
		lease_trouble(core, l, o);
	}
	lease_schedule(core, l);
}

/*
 * There was no renewal in time: the clients are told. The record is released
 * when their gap is over, whatever is under way for it now.
 */
static void
record_lease_expire(struct core *core, struct lease *l)
{
	lease_enter(l, LEASE_LOST, l->sent_ms);
	core->lease_events->answer(core, l, DDBLOCK_E_LOCK_LOST);
	core->lease_events->record_lost(core, l);
}

/* What is lost of it is closed with its record. */
const struct lease_kind record_lease_kind = {
	.renew = record_lease_renew,
	.expire = record_lease_expire,
	.close = NULL,
	.unused = record_lease_unused,
};

/*
 * When to read another host's session again (observe.c says what that shows).
 *
 *  1. A wait for a takeover counts from when a beat was first seen, so that
 *     must be soon after the beat was written. As long as it is not known when
 *     the session beats, it is read every poll.
 *  2. Then it is read a little after its next beat is due. A beat that is not
 *     there by then is late, or its owner is dead: every poll, until it moves.
 *  3. What is known: the present beat was sent between @least_ms and @most_ms
 *     before the answer that first showed it. The difference of two beats tells
 *     how much later the second was sent, so both bounds go on from one beat to
 *     the next, wider by the drift. And a beat was written after the look
 *     before was sent: a look that comes before a beat narrows them again.
 *  4. The first beat may have been long on its way. So the next is looked for
 *     too early, and must be seen to come: until then the bounds are too wide
 *     to be believed.
 *  5. Waiters that would not take over first have time: if all have, it is
 *     looked at that seldom.
 *  6. Beats come from a table, in which anybody may have written. A beat that
 *     cannot be ends the estimate, and no wait is longer than the lease.
 */
#include "core/lease/room.h"

#include "core/timing.h"

/* Bounds that are farther apart are no estimate, nor is what two looks that are
 * farther apart show. */
static uint64_t
pace_width_max_ms(const struct observation *o)
{
	return 2 * o->ns->settings.poll_ms;
}

/* The estimate begins with this beat, if it was seen to come. */
static void
pace_begin(struct pace *p, uint64_t gap_ms, uint64_t width_max_ms)
{
	p->least_ms = 0;
	p->most_ms = gap_ms <= width_max_ms ?
	    gap_ms + width_max_ms : CORE_FOREVER;
}

/* Between two beats, at least: after one that was late, or two, the next may be
 * in time. For intervals that were not seen yet the default stands. */
static uint64_t
pace_interval_ms(const struct observation *o)
{
	uint64_t least_ms = CORE_FOREVER;

	for (size_t i = 0; i < PACE_INTERVALS; i++) {
		uint64_t ms = o->pace.intervals_ms[i];

		if (ms == 0)
			ms = timing_heartbeat_ms(o->lease_ms);
		if (ms < least_ms)
			least_ms = ms;
	}
	return least_ms;
}

/* The beat moved by @step_ms. If it was not seen to come (@close: it was),
 * there may have been another in between. */
static void
pace_note_interval(struct observation *o, uint64_t step_ms, bool close)
{
	struct pace *p = &o->pace;
	uint64_t known_ms = pace_interval_ms(o);

	if (step_ms > o->lease_ms)
		return;
	if (!close && step_ms > known_ms)
		step_ms = known_ms;
	p->intervals_ms[p->next] = step_ms;
	p->next = (p->next + 1) % PACE_INTERVALS;
}

/* The beat moved by @step_ms, as was seen @elapsed_ms after the one before was;
 * the look before was sent @gap_ms ago. */
static void
pace_go_on(struct observation *o, uint64_t step_ms, uint64_t elapsed_ms,
    uint64_t gap_ms)
{
	struct pace *p = &o->pace;
	uint64_t width_max_ms = pace_width_max_ms(o);
	uint64_t stretched_ms =
	    timing_observe_ms(elapsed_ms, o->ns->settings.drift_ppm);
	uint64_t drift_ms = stretched_ms - elapsed_ms;

	/* Sent after it was seen? A clock stood still, or is another. */
	if (p->most_ms == CORE_FOREVER || step_ms > p->most_ms + stretched_ms) {
		pace_begin(p, gap_ms, width_max_ms);
		return;
	}
	p->most_ms += stretched_ms - step_ms;
	p->least_ms += elapsed_ms;
	p->least_ms -= p->least_ms < step_ms + drift_ms ?
	    p->least_ms : step_ms + drift_ms;
	/* Sent long before the look that did not show it: it was long on its
	 * way, or its clock stood still. The next look is an early one. */
	if (p->least_ms > gap_ms)
		p->least_ms = 0;
	else if (p->most_ms > gap_ms)
		p->most_ms = gap_ms;
	/* It was there before it was looked for. */
	if (gap_ms > width_max_ms && p->most_ms - p->least_ms > width_max_ms)
		p->most_ms = CORE_FOREVER;
}

void
observe_keep_pace(struct core *core, struct observation *o,
    const struct session_record *record)
{
	uint64_t gap_ms = core->now_ms - o->pace.asked_ms;
	uint64_t step_ms = record->beat - o->beat;

	o->pace.asked_ms = o->submit.operation.submitted_ms;
	if (o->state != OBSERVATION_ALIVE || !record->exists || record->dead) {
		o->pace.most_ms = CORE_FOREVER;
	} else if (record->beat < o->beat) {
		pace_begin(&o->pace, gap_ms, pace_width_max_ms(o));
	} else if (record->beat > o->beat) {
		pace_go_on(o, step_ms, core->now_ms - o->since_ms, gap_ms);
		pace_note_interval(o, step_ms, gap_ms <= pace_width_max_ms(o));
	}
}

/* @poll_ms has jitter, so that hosts that wait for one session spread. */
uint64_t
observe_next_ms(const struct core *core, const struct observation *o,
    uint64_t poll_ms)
{
	const struct pace *p = &o->pace;
	uint64_t interval_ms = pace_interval_ms(o);
	uint64_t late_ms = poll_ms - o->ns->settings.poll_ms / 2;
	uint64_t next_ms = core->now_ms + poll_ms;

	if (observe_is_patient(o))
		return core->now_ms + o->patience_ms;
	/* With so few looks between two beats none is left out. */
	if (o->state != OBSERVATION_ALIVE || p->most_ms == CORE_FOREVER ||
	    interval_ms < 2 * o->ns->settings.poll_ms)
		return next_ms;
	if (o->since_ms + interval_ms + late_ms > next_ms + p->most_ms)
		return o->since_ms + interval_ms + late_ms - p->most_ms;
	return next_ms;
}

void
observe_pace(struct core *core, struct namespace *ns)
{
	uint64_t last_ms = core->now_ms + ns->settings.poll_ms;
	struct observation *o, *next;

	HASH_ITER(hh, ns->observations, o, next)
	{
		if (o->read_at_ms <= last_ms)
			continue;
		o->read_at_ms = last_ms;
		observe_schedule(core, o);
	}
}

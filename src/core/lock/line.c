/*
 * The line of hosts that wait for exclusive use of a lock: which of them is
 * next, and how often each of them looks.
 *
 *  1. A free lock, and one whose holders are dead, is for the next in line. The
 *     condition of each acquire says so, unless it knows its place.
 *  2. A host that is not next may take it a moment (timing_reserve_ms()) after
 *     it saw that the next one could, and then all before it lose their
 *     places: they are dead, gone or slow. The further behind, the later, so
 *     that they do not all try at once.
 *  3. The next one looks every poll, the others less often the further behind;
 *     or when their turn may come, by how fast the line has moved, and by how
 *     long the lock has been held: so a hand-over takes about half as long as
 *     the hold before it, and a poll at most. Hosts for which it has no room
 *     look ever less, down to once in OUTSIDE_POLLS_MAX.
 *  4. Nothing here decides which host holds the lock, only when each asks.
 */
#include "core/lock/room.h"

#include <stdlib.h>
#include <string.h>

#include "core/timing.h"

#define LINE_FRONT 3		/* places that are ready to take over */
#define OUTSIDE_POLLS_MAX 256
#define FRESH_PART 20		/* of a poll, the shortest time between looks */

/* Do its waiters here stand in line for it? */
bool
line_is_kept(const struct lock *l)
{
	const struct core_namespace *t = &l->ns->settings;

	return t->line_max > 0 && l->ns->has_sessions &&
	    !t->no_foreign_waiters &&
	    lock_mark_mode(l) == LOCK_MODE_EXCLUSIVE;
}

bool
line_has_room(const struct lock *l)
{
	return l->line == NULL || (l->line->place == 0 &&
	    l->line->n < l->ns->settings.line_max);
}

/* Where @session stands in it; 0: nowhere. */
uint32_t
line_place(const struct lock *l, struct ident session)
{
	for (uint8_t i = 0; l->line != NULL && i < l->line->n; i++) {
		if (ident_equal(l->line->sessions[i], session))
			return i + 1U;
	}
	return 0;
}

uint32_t
lock_own_place(const struct lock *l)
{
	return l->line == NULL ? 0 : l->line->place;
}

/* When our host may take the lock though it is not next. */
uint64_t
line_turn_at_ms(const struct lock *l)
{
	const struct line *line = l->line;
	uint64_t poll_ms = l->ns->settings.poll_ms;
	unsigned before = line->place > 0 ? line->place - 1U : line->n;

	return line->open_ms + timing_reserve_ms(poll_ms) +
	    (before - 1) * poll_ms / 4;
}

/* No turn comes before ours, if the lock is free or its holders dead. */
bool
line_has_turn(const struct core *core, const struct lock *l)
{
	const struct line *line = l->line;

	if (line == NULL || line->place == 1)
		return true;
	return line->open_ms > 0 && core->now_ms >= line_turn_at_ms(l);
}

/* Would the next one have taken it by now, if it were there? */
bool
line_stood_long(const struct core *core, const struct lock *l)
{
	return l->line->open_ms > 0 && core->now_ms >
	    l->line->open_ms + 2 * l->ns->settings.poll_ms;
}

/* The next one may have it now, as far as is known. */
void
line_open(struct core *core, struct lock *l)
{
	if (l->line != NULL && l->line->open_ms == 0)
		l->line->open_ms = core->now_ms;
}

/* What was known of it, if it goes on. */
static void
line_continue(struct core *core, struct line *line, const struct line *before)
{
	uint64_t took_ms = core->now_ms - before->placed_ms;

	/* While the lock changes hands there may soon be room. */
	if (before->token == line->token) {
		line->token_ms = before->token_ms;
		if (ident_equal(before->sessions[0], line->sessions[0]))
			line->open_ms = before->open_ms;
		if (before->outside < UINT8_MAX)
			line->outside = (uint8_t)(before->outside + 1);
	}
	if (line->place == 0 || before->place < line->place)
		return;
	if (before->place > line->place) {
		line->turn_ms = took_ms / (before->place - line->place);
		return;
	}
	line->placed_ms = before->placed_ms;
	/* It may have slowed down since. */
	line->turn_ms = before->turn_ms > 0 && took_ms > before->turn_ms ?
	    took_ms : before->turn_ms;
}

/* Has our session a place and not the mark that goes with it, as far as all
 * marks were read? A daemon without lines sees the marks only. */
static bool
line_lacks_mark(const struct lock *l, const struct lock_record *record)
{
	return l->line->place > 0 &&
	    record->n_exclusive_waiters < WAITER_MARKS_MAX &&
	    !ident_is_among(record->exclusive_waiters,
	    record->n_exclusive_waiters, l->ns->session->id);
}

/* Take in what a record shows of it. Without memory our host is in none, and
 * its next acquire is told that it is wrong. */
void
line_seen(struct core *core, struct lock *l, const struct lock_record *record)
{
	struct line *before = l->line;
	size_t bytes = record->n_line * sizeof(struct ident);

	l->line = NULL;
	if (record->n_line > 0 && record->n_line <= LINE_PLACES_MAX)
		l->line = calloc(1, sizeof(*l->line) + bytes);
	if (l->line != NULL) {
		struct line *line = l->line;

		line->n = (uint8_t)record->n_line;
		line->token = record->token;
		line->placed_ms = line->token_ms = core->now_ms;
		memcpy(line->sessions, record->line, bytes);
		if (l->ns->session != NULL)
			line->place = (uint8_t)line_place(l,
			    l->ns->session->id);
		line->unmarked = line_lacks_mark(l, record);
		if (before != NULL)
			line_continue(core, line, before);
		if (record->n_holders == 0)
			line_open(core, l);
	}
	free(before);
}

/* Of a lock that was taken a moment ago the end may be near: the host that is
 * next finds it free after half as long again as it was held. */
static uint64_t
line_fresh_ms(const struct core *core, const struct line *line,
    uint64_t poll_ms)
{
	uint64_t least_ms = (poll_ms + FRESH_PART - 1) / FRESH_PART;
	uint64_t half_ms = (core->now_ms - line->token_ms) / 2;

	return line->place * (half_ms > least_ms ? half_ms : least_ms);
}

/* How long a host at this place need not look. */
static uint64_t
line_period_ms(const struct core *core, const struct lock *l,
    uint64_t poll_ms)
{
	const struct line *line = l->line;
	uint64_t period_ms, moving_ms, fresh_ms;

	if (line->place == 0) {
		unsigned polls = line->outside < 3 ?
		    1U << 3 * line->outside : OUTSIDE_POLLS_MAX;

		return line_has_room(l) ? poll_ms : polls * poll_ms;
	}
	period_ms = line->place * poll_ms;
	if (line->place > LINE_FRONT)
		period_ms *= 3;
	moving_ms = (line->place - 1) * line->turn_ms;
	if (moving_ms < poll_ms)
		moving_ms = poll_ms;
	if (line->turn_ms > 0 && moving_ms < period_ms)
		period_ms = moving_ms;
	fresh_ms = line_fresh_ms(core, line, poll_ms);
	return fresh_ms < period_ms ? fresh_ms : period_ms;
}

/* When is the record to be looked at again? */
uint64_t
line_due_ms(struct core *core, const struct lock *l)
{
	uint64_t poll_ms = lock_poll_ms(l);
	uint64_t due_ms;

	if (!line_is_kept(l))
		return core->now_ms + random_jitter(&core->random, poll_ms);
	due_ms = core->now_ms +
	    random_jitter(&core->random, line_period_ms(core, l, poll_ms));
	if (l->line->place > 1 && l->line->open_ms > 0 &&
	    line_turn_at_ms(l) < due_ms)
		due_ms = line_turn_at_ms(l);
	return due_ms > core->now_ms ? due_ms : core->now_ms + 1;
}

/* How seldom may the holder's session be looked at? The front of the line is
 * ready to take over; the others would be if all of it died, too, and have to
 * see that in some leases. */
uint64_t
line_patience_ms(const struct lock *l)
{
	const struct core_namespace *t = &l->ns->settings;
	const struct line *line = l->line;

	if (line == NULL || !line_is_kept(l) || line_has_room(l) ||
	    (line->place > 0 && line->place <= LINE_FRONT))
		return 0;
	return line->place > 0 ? 2 * t->lease_ms :
	    OUTSIDE_POLLS_MAX * t->poll_ms;
}

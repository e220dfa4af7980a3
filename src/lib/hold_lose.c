/*
 * The losses of holds: why, which, and that each is reported once.
 */
#include "lib/hold.h"

#include "common/clock.h"
#include "lib/event.h"

enum ddblock_loss
hold_loss(const struct codec_line *line)
{
	static const struct {
		const char *word;
		enum ddblock_loss loss;
	} rows[] = {
		{ "expired", DDBLOCK_LOSS_EXPIRED },
		{ "stolen", DDBLOCK_LOSS_STOLEN },
		{ "broken", DDBLOCK_LOSS_BROKEN },
		{ "shutdown", DDBLOCK_LOSS_SHUTDOWN },
		{ "max_hold", DDBLOCK_LOSS_MAX_HOLD },
		{ "keepalive", DDBLOCK_LOSS_KEEPALIVE },
		{ "cut_off", DDBLOCK_LOSS_CUT_OFF },
		{ "released", DDBLOCK_LOSS_RELEASED },
	};
	const struct codec_text *reason = codec_find(line, "reason");

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (codec_is(reason, rows[i].word))
			return rows[i].loss;
	}
	return DDBLOCK_LOSS_OTHER;
}

/* Report a loss, once. The callback may release this hold and any other. */
void
hold_lose(struct ddblock *d, struct hold *hold, enum ddblock_loss loss)
{
	struct ddblock_event event = {
		.kind = DDBLOCK_EVENT_LOST,
		.id = hold->id,
		.loss = loss,
		.until_boot_ms = hold_good_ms(d, hold),
	};

	if (hold->lost)
		return;
	hold->lost = true;
	event_report(d, &event);
}

/*
 * Holds that are to be lost are moved to the front first, and then taken from
 * there one by one, because each callback may change the list.
 */
static void
hold_set_due(struct ddblock *d, struct hold *hold)
{
	hold->due = true;
	TAILQ_REMOVE(&d->holds, hold, entry);
	TAILQ_INSERT_HEAD(&d->holds, hold, entry);
}

static void
hold_lose_due(struct ddblock *d, enum ddblock_loss loss)
{
	struct hold *hold;

	while ((hold = TAILQ_FIRST(&d->holds)) != NULL && hold->due) {
		TAILQ_REMOVE(&d->holds, hold, entry);
		TAILQ_INSERT_TAIL(&d->holds, hold, entry);
		hold->due = false;
		hold_lose(d, hold, loss == DDBLOCK_LOSS_EXPIRED &&
		    hold->until_ms == hold->end_ms ? DDBLOCK_LOSS_MAX_HOLD :
		    loss);
	}
	hold_count(d);
}

/* Lose those for which @which says so. */
static void
hold_lose_those(struct ddblock *d, enum ddblock_loss loss,
    bool (*which)(const struct ddblock *, const struct hold *))
{
	struct hold *hold, *next;

	for (hold = TAILQ_FIRST(&d->holds); hold != NULL; hold = next) {
		next = TAILQ_NEXT(hold, entry);
		if (!hold->lost && which(d, hold))
			hold_set_due(d, hold);
	}
	hold_lose_due(d, loss);
}

static bool
hold_is_any(const struct ddblock *d, const struct hold *hold)
{
	(void)d;
	return hold != NULL;
}

static bool
hold_is_over(const struct ddblock *d, const struct hold *hold)
{
	return clock_boot_ms() >= hold_good_ms(d, hold);
}

static bool
hold_is_unkept(const struct ddblock *d, const struct hold *hold)
{
	(void)d;
	return !hold->kept;
}

static bool
hold_is_unfound(const struct ddblock *d, const struct hold *hold)
{
	(void)d;
	return !hold->found;
}

void
hold_lose_all(struct ddblock *d, enum ddblock_loss loss)
{
	hold_lose_those(d, loss, hold_is_any);
}

void
hold_lose_unkept(struct ddblock *d)
{
	hold_lose_those(d, DDBLOCK_LOSS_DISCONNECTED, hold_is_unkept);
}

void
hold_lose_unfound(struct ddblock *d)
{
	hold_lose_those(d, DDBLOCK_LOSS_DISCONNECTED, hold_is_unfound);
}

void
hold_check(struct ddblock *d)
{
	if (clock_boot_ms() >= d->deadline_ms)
		hold_lose_those(d, d->again.state == RECONNECT_UP ?
		    DDBLOCK_LOSS_EXPIRED : DDBLOCK_LOSS_DISCONNECTED,
		    hold_is_over);
}

/*
 * A hold for a process, after its connection has ended. The rules:
 *
 * - It is good until half a margin before the deadline that the helper was
 *   told last. The daemon's list of holds tells a later one: what remains
 *   counts from when the helper asked.
 * - What the list does not have is lost. Another hold may have its number after
 *   a restart, so its token is compared, too.
 */
#include <config.h>

#include "cli/hold/left.h"

#include <limits.h>
#include <string.h>

#include "cli/base/cli.h"
#include "cli/base/row_value.h"
#include "common/clock.h"

#define LEFT_LOOK_MIN_MS 100
#define LEFT_LOOK_MAX_MS 10000

static uint64_t
left_early_ms(const struct left *l, uint64_t until_ms)
{
	uint64_t early_ms = l->margin_ms / 2;

	return until_ms > early_ms ? until_ms - early_ms : 0;
}

void
left_begin(struct left *l, struct ddblock *d, uint64_t id,
    const struct ddblock_event *event)
{
	l->connection = d;
	l->id = id;
	l->token = ddblock_token(d, id);
	l->margin_ms = ddblock_margin_ms(d, id);
	l->end_ms = event->until_boot_ms; /* half a margin early */
	l->begun = true;
}

void
left_on_event(struct left *l, const struct ddblock_event *event)
{
	if (event->kind == DDBLOCK_EVENT_BROKEN)
		l->up = l->known = false;
	if (event->kind == DDBLOCK_EVENT_RESUMED)
		l->up = true;
}

static void
left_on_row(void *arg, const struct ddblock_row *row, bool final)
{
	struct left *l = arg;
	uint64_t id, token, left_ms;

	if (final || !row_time(row, "remaining", &left_ms) ||
	    !row_number(row, "id", &id) || id != l->id ||
	    !row_number(row, "token", &token) || token != l->token ||
	    ddblock_row_find(row, "process", NULL) == NULL)
		return;
	l->found = true;
	l->end_ms = left_early_ms(l, l->asked_ms + left_ms);
	left_ms /= 4;
	if (left_ms < LEFT_LOOK_MIN_MS)
		left_ms = LEFT_LOOK_MIN_MS;
	if (left_ms > LEFT_LOOK_MAX_MS)
		left_ms = LEFT_LOOK_MAX_MS;
	l->look_ms = l->asked_ms + left_ms;
}

static void
left_on_reply(void *arg, struct ddblock *d, const struct ddblock_reply *reply)
{
	struct left *l = arg;

	(void)d;
	l->asking = false;
	if (reply->code != 0)
		return;
	l->known = l->found;
	l->over = !l->found;
}

static void
left_ask(struct left *l)
{
	struct ddblock_query_options options = DDBLOCK_QUERY_OPTIONS_INIT;

	options.ns = l->ns;
	options.key = l->key;
	l->found = false;
	l->asked_ms = clock_boot_ms();
	l->look_ms = l->asked_ms + LEFT_LOOK_MIN_MS; /* if it fails */
	l->asking = ddblock_query_start(l->connection, DDBLOCK_QUERY_HELD,
	    &options, left_on_row, left_on_reply, l, NULL) == 0;
}

bool
left_go_on(struct left *l)
{
	uint64_t now_ms = clock_boot_ms();

	if (l->over || now_ms >= l->end_ms)
		return false;
	if (l->up && !l->asking && now_ms >= l->look_ms)
		left_ask(l);
	return true;
}

int
left_timeout(const struct left *l)
{
	uint64_t now_ms = clock_boot_ms(), at_ms = l->end_ms;

	if (l->up && !l->asking && l->look_ms < at_ms)
		at_ms = l->look_ms;
	if (at_ms <= now_ms)
		return 0;
	return at_ms - now_ms > INT_MAX ? INT_MAX : (int)(at_ms - now_ms);
}

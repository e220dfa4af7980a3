/*
 * Holds and their deadlines. The rules:
 *
 * - A deadline moves forward only, and only by what the daemon says.
 * - A hold whose deadline has passed is lost, by this host's own clock, and
 *   never comes back, whatever is read later.
 * - What arrived before the deadline was judged is read first: a program that
 *   was merely paused must not take renewals that wait in its socket for
 *   silence.
 */
#include "lib/connection.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"

/*
 * How much later than "from now" a moment may be before we stop believing
 * that the daemon's boot clock is ours (a container may have one of its own,
 * time_namespaces(7)). Above what rounding the durations costs.
 */
#define HOLD_CLOCK_SLACK_MS 1000

static int
hold_compare(const void *a, const void *b)
{
	uint64_t x = ((const struct hold *)a)->id;
	uint64_t y = ((const struct hold *)b)->id;

	return (x > y) - (x < y);
}

struct hold *
hold_find(const struct ddblock *d, uint64_t id)
{
	struct hold wanted = { .id = id };
	struct hold **node = tfind(&wanted, &d->holds_by_id, hold_compare);

	return node == NULL ? NULL : *node;
}

void
hold_free(struct ddblock *d, struct hold *hold)
{
	(void)tdelete(hold, &d->holds_by_id, hold_compare);
	TAILQ_REMOVE(&d->holds, hold, entry);
	if (TAILQ_EMPTY(&d->holds)) {
		d->deadline_ms = DDBLOCK_NEVER_MS;
		connection_set_timer(d);
	}
	parts_free(hold->parts);
	free(hold->found);
	free(hold);
}

static bool
hold_number(const struct codec_line *line, const char *name, uint64_t *ret)
{
	const struct codec_text *value = codec_find(line, name);

	return value != NULL &&
	    codec_parse_number(value->bytes, value->length, ret);
}

static bool
hold_duration(const struct codec_line *line, const char *name, uint64_t *ret)
{
	const struct codec_text *value = codec_find(line, name);

	return value != NULL &&
	    codec_parse_duration(value->bytes, value->length, ret);
}

/* The deadline that a line gives. */
static bool
hold_until(const struct codec_line *line, uint64_t *ret_ms)
{
	uint64_t now_ms = clock_boot_ms();
	uint64_t remaining_ms;

	if (!hold_number(line, "until_boot_ms", ret_ms))
		return false;
	if (hold_duration(line, "remaining", &remaining_ms) &&
	    *ret_ms > now_ms + remaining_ms + HOLD_CLOCK_SLACK_MS)
		*ret_ms = now_ms + remaining_ms;
	return true;
}

void
hold_give_back(struct ddblock *d, uint64_t id)
{
	struct request_draft draft;

	if (request_new(d, REQUEST_OTHER, VERB_RELEASE, &draft) < 0)
		return; /* it ends with its lease, or with the connection */
	protocol_write(&d->out, ARGUMENT_ID, id);
	(void)request_send(d, &draft, NULL);
}

static int
hold_new(struct ddblock *d, const struct hold *like)
{
	struct hold *hold = malloc(sizeof(*hold));

	if (hold == NULL)
		return DDBLOCK_E_NOMEM;
	*hold = *like;
	if (tsearch(hold, &d->holds_by_id, hold_compare) == NULL) {
		free(hold);
		return DDBLOCK_E_NOMEM;
	}
	TAILQ_INSERT_TAIL(&d->holds, hold, entry);
	if (hold->until_ms < d->deadline_ms)
		d->deadline_ms = hold->until_ms;
	connection_set_timer(d);
	return 0;
}

/* Its own end, which no renewal moves, by the clock that @until_ms is by. */
static uint64_t
hold_end(const struct codec_line *line, uint64_t until_ms)
{
	uint64_t end_ms, said_ms;

	if (!hold_number(line, "end_boot_ms", &end_ms) ||
	    !hold_number(line, "until_boot_ms", &said_ms) || end_ms < said_ms)
		return DDBLOCK_NEVER_MS;
	return until_ms + (end_ms - said_ms);
}

/* What is fail-closed has no deadline. */
static bool
hold_is_endless(const struct codec_line *line, uint64_t *ret_ms)
{
	*ret_ms = DDBLOCK_NEVER_MS;
	return codec_is(codec_find(line, "policy"), "fail-closed");
}

int
hold_granted(struct ddblock *d, struct request *request,
    const struct codec_line *line, uint64_t *ret_id)
{
	struct hold like = { .count = 1, .manual = request->manual };
	struct hold *again;
	int r;

	r = parts_granted(request->parts, line);
	if (!hold_number(line, "id", &like.id) || like.id == 0 ||
	    (r == 0 && !parts_are_granted(request->parts)) ||
	    (!hold_until(line, &like.until_ms) &&
		!hold_is_endless(line, &like.until_ms)))
		return DDBLOCK_E_PROTOCOL;
	again = hold_find(d, like.id);
	if (again != NULL && codec_find(line, "count") == NULL)
		return DDBLOCK_E_PROTOCOL;
	like.end_ms = hold_end(line, like.until_ms);
	(void)hold_duration(line, "margin", &like.margin_ms);
	(void)memcpy(like.name_space, request->name_space,
	    sizeof(like.name_space));
	if (request->abandoned) {
		hold_give_back(d, like.id);
		return DDBLOCK_E_CANCELLED;
	}
	if (clock_boot_ms() >= like.until_ms) {
		hold_give_back(d, like.id);
		return connection_fail(d, DDBLOCK_E_LOCK_LOST,
		    "the lock was granted, but its lease is over already");
	}
	if (again != NULL) {
		again->count++;
		*ret_id = like.id;
		return 0;
	}
	resume_note(d, line);
	like.parts = request->parts;
	if (r == 0)
		r = kept_copy(line, &like.found);
	if (r == 0)
		r = hold_new(d, &like);
	if (r < 0) {
		free(like.found);
		hold_give_back(d, like.id);
		return connection_fail(d, r, NULL);
	}
	request->parts = NULL;
	*ret_id = like.id;
	return 0;
}

/* What was lost meanwhile is a hold, too, until it is released. */
static int
hold_read(const struct codec_line *line, struct hold *ret)
{
	const struct codec_text *name = codec_find(line, "ns");
	uint64_t count;

	if (name == NULL || name->length > CONNECTION_NAME_MAX)
		return DDBLOCK_E_PROTOCOL;
	(void)memcpy(ret->name_space, name->bytes, name->length + 1);
	ret->lost = codec_is(codec_find(line, "state"), "lost");
	ret->until_ms = DDBLOCK_NEVER_MS;
	if (!ret->lost && !hold_until(line, &ret->until_ms))
		return DDBLOCK_E_PROTOCOL;
	ret->end_ms = hold_end(line, ret->until_ms);
	(void)hold_duration(line, "margin", &ret->margin_ms);
	if (hold_number(line, "count", &count) && count <= UINT32_MAX)
		ret->count = (uint32_t)count;
	return 0;
}

int
hold_resumed(struct ddblock *d, const struct codec_line *line)
{
	const struct codec_text *key = codec_find(line, "key");
	struct hold like = { .count = 1 }, *hold;
	uint64_t token;
	int r;

	if (!hold_number(line, "id", &like.id) || like.id == 0 || key == NULL ||
	    !hold_number(line, "token", &token))
		return DDBLOCK_E_PROTOCOL;
	hold = hold_find(d, like.id);
	if (hold != NULL)
		return hold->parts->n == DDBLOCK_KEYS_MAX ?
		    DDBLOCK_E_PROTOCOL :
		    parts_add(&hold->parts, key->bytes, line);
	r = hold_read(line, &like);
	if (r < 0)
		return r;
	like.parts = parts_new((const char *const[]){ key->bytes }, 1);
	if (like.parts == NULL)
		return DDBLOCK_E_NOMEM;
	r = parts_granted(like.parts, line);
	if (r == 0)
		r = hold_new(d, &like);
	if (r < 0)
		parts_free(like.parts);
	return r;
}

void
hold_extend(struct ddblock *d, struct hold *hold,
    const struct codec_line *line)
{
	uint64_t until_ms, token;

	if (!hold->lost && hold_number(line, "token", &token))
		hold->parts->part[0].token = token;	/* shared now */
	(void)d; /* its deadline may be early, never late */
	if (hold->lost || !hold_until(line, &until_ms))
		return;
	if (until_ms > hold->end_ms)
		until_ms = hold->end_ms;
	if (until_ms > hold->until_ms)
		hold->until_ms = until_ms;
}

/* Find the earliest deadline again. */
static void
hold_count(struct ddblock *d)
{
	struct hold *hold;

	d->deadline_ms = DDBLOCK_NEVER_MS;
	TAILQ_FOREACH(hold, &d->holds, entry) {
		if (!hold->lost && hold->until_ms < d->deadline_ms)
			d->deadline_ms = hold->until_ms;
	}
	connection_set_timer(d);
}

const char *
hold_namespace(const struct ddblock *d, const struct hold *hold)
{
	return hold->name_space[0] != '\0' ? hold->name_space :
	    d->default_namespace;
}

void
hold_renewed(struct ddblock *d, const struct codec_line *line)
{
	const struct codec_text *name = codec_find(line, "ns");
	struct hold *hold;

	TAILQ_FOREACH(hold, &d->holds, entry) {
		if (name != NULL && !hold->manual &&
		    strcmp(hold_namespace(d, hold), name->bytes) == 0)
			hold_extend(d, hold, line);
	}
	hold_count(d);
}

/* Tell of a loss, once. The callback may release this hold and any other. */
void
hold_lose(struct ddblock *d, struct hold *hold, enum ddblock_loss loss)
{
	struct ddblock_event event = {
		.kind = DDBLOCK_EVENT_LOST,
		.id = hold->id,
		.loss = loss,
		.until_boot_ms = hold->until_ms,
	};

	if (hold->lost)
		return;
	hold->lost = true;
	event_report(d, &event);
}

/*
 * Lose what is due at @due_ms. The due ones are brought to the front first
 * and then taken from there one by one, because each callback may change the
 * list.
 */
static void
hold_lose_due(struct ddblock *d, uint64_t due_ms, enum ddblock_loss loss)
{
	struct hold *hold;
	struct hold *next;

	for (hold = TAILQ_FIRST(&d->holds); hold != NULL; hold = next) {
		next = TAILQ_NEXT(hold, entry);
		if (hold->lost || hold->until_ms > due_ms)
			continue;
		TAILQ_REMOVE(&d->holds, hold, entry);
		TAILQ_INSERT_HEAD(&d->holds, hold, entry);
	}
	while ((hold = TAILQ_FIRST(&d->holds)) != NULL && !hold->lost &&
	    hold->until_ms <= due_ms) {
		TAILQ_REMOVE(&d->holds, hold, entry);
		TAILQ_INSERT_TAIL(&d->holds, hold, entry);
		hold_lose(d, hold, loss == DDBLOCK_LOSS_EXPIRED &&
		    hold->until_ms == hold->end_ms ? DDBLOCK_LOSS_MAX_HOLD :
		    loss);
	}
}

void
hold_lose_all(struct ddblock *d, enum ddblock_loss loss)
{
	hold_lose_due(d, UINT64_MAX, loss);
	hold_count(d);
}

void
hold_check(struct ddblock *d)
{
	uint64_t now_ms = clock_boot_ms();

	if (now_ms < d->deadline_ms)
		return;
	hold_lose_due(d, now_ms, DDBLOCK_LOSS_EXPIRED);
	hold_count(d);
}

uint64_t
ddblock_token(const struct ddblock *d, uint64_t id)
{
	const struct hold *hold = hold_find(d, id);

	return hold == NULL ? 0 : hold->parts->part[0].token;
}

static const struct part *
hold_part(const struct ddblock *d, uint64_t id, const char *key)
{
	const struct hold *hold = hold_find(d, id);

	return hold == NULL ? NULL : parts_find(hold->parts, key);
}

uint64_t
ddblock_token_of(const struct ddblock *d, uint64_t id, const char *key)
{
	const struct part *part = hold_part(d, id, key);

	return part == NULL ? 0 : part->token;
}

const char *
ddblock_token_text(const struct ddblock *d, uint64_t id, const char *key)
{
	const struct part *part = hold_part(d, id, key);

	return part == NULL ? NULL : part->token_text;
}

uint64_t
ddblock_until_boot_ms(const struct ddblock *d, uint64_t id)
{
	const struct hold *hold = hold_find(d, id);

	return hold == NULL ? 0 : hold->until_ms;
}

uint64_t
ddblock_remaining_ms(const struct ddblock *d, uint64_t id)
{
	const struct hold *hold = hold_find(d, id);
	uint64_t now_ms = clock_boot_ms();

	if (hold == NULL || hold->lost || hold->until_ms <= now_ms)
		return 0;
	return hold->until_ms == DDBLOCK_NEVER_MS ? DDBLOCK_NEVER_MS :
	    hold->until_ms - now_ms;
}

uint64_t
ddblock_margin_ms(const struct ddblock *d, uint64_t id)
{
	const struct hold *hold = hold_find(d, id);

	return hold == NULL ? 0 : hold->margin_ms;
}

uint64_t
ddblock_next_deadline_ms(const struct ddblock *d)
{
	return d->deadline_ms;
}

/*
 * Holds and their deadlines. The rules:
 *
 * - A deadline moves forward only, and only by the daemon's word.
 * - A hold whose deadline has passed is lost, by this host's own clock, and
 *   never comes back, even if a renewal is read later.
 * - While the connection is broken, what the daemon keeps is good until half a
 *   margin before its deadline: no renewal comes, so the time to stop its work
 *   is taken from the end.
 * - Lines that have arrived are read before the deadline is judged: a program
 *   that was only paused has renewals unread in its socket.
 */
#include "lib/hold.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "lib/event.h"
#include "lib/row.h"

/*
 * How much later than "from now" a time may be before we conclude that the
 * daemon's boot clock is not ours (a container may have its own,
 * time_namespaces(7)). It is more than the rounding error of durations.
 */
#define HOLD_CLOCK_SLACK_MS 1000

#define HOLD_ID_NONE ((uint64_t)1 << 53)	/* no hold ever has it */

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
	free(hold->contents);
	free(hold);
}

void
hold_free_all(struct ddblock *d)
{
	while (!TAILQ_EMPTY(&d->holds))
		hold_free(d, TAILQ_FIRST(&d->holds));
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

/*
 * A daemon that was started again counts its holds from the beginning. So that
 * no caller has one id twice, those of the new daemon count from the last id of
 * the old one.
 */
bool
hold_id(struct ddblock *d, const struct codec_line *line, uint64_t *ret)
{
	uint64_t id;

	if (!hold_number(line, "id", &id) || id == 0 ||
	    id > UINT64_MAX - d->id_base)
		return false;
	*ret = d->id_base + id;
	if (*ret > d->last_id)
		d->last_id = *ret;
	return true;
}

uint64_t
hold_wire_id(const struct ddblock *d, uint64_t id)
{
	return id > d->id_base ? id - d->id_base : HOLD_ID_NONE;
}

void
hold_forget_ids(struct ddblock *d)
{
	d->id_base = d->last_id;
	d->again.last_row = 0;
}

void
hold_give_back(struct ddblock *d, uint64_t id)
{
	struct request_draft draft;

	if (id <= d->id_base)
		return; /* the daemon that it was of is gone */
	if (request_new(d, REQUEST_GIVE_BACK, VERB_RELEASE, &draft) < 0)
		return; /* it ends with its lease, or with the connection */
	protocol_write(&d->out, ARGUMENT_ID, hold_wire_id(d, id));
	draft.request->hold = id;
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

/* Its own end, which no renewal moves, by the clock of @until_ms. */
static uint64_t
hold_end(const struct codec_line *line, uint64_t until_ms)
{
	uint64_t end_ms, said_ms;

	if (!hold_number(line, "end_boot_ms", &end_ms) ||
	    !hold_number(line, "until_boot_ms", &said_ms) || end_ms < said_ms)
		return DDBLOCK_NEVER_MS;
	return until_ms + (end_ms - said_ms);
}

/* A fail-closed hold has no deadline. */
static bool
hold_is_endless(const struct codec_line *line, uint64_t *ret_ms)
{
	*ret_ms = DDBLOCK_NEVER_MS;
	return codec_is(codec_find(line, "policy"), "fail-closed");
}

/* The secret that resumes lingering holds. */
static void
hold_note_secret(struct ddblock *d, const struct codec_line *line)
{
	const struct codec_text *secret = codec_find(line, "secret");

	if (secret != NULL && secret->length < sizeof(d->secret))
		(void)memcpy(d->secret, secret->bytes, secret->length + 1);
}

int
hold_granted(struct ddblock *d, struct request *request,
    const struct codec_line *line, uint64_t *ret_id)
{
	struct hold like = { .count = 1, .manual = request->manual };
	struct hold *again;
	int r;

	r = parts_granted(request->parts, line);
	if (!hold_id(d, line, &like.id) ||
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
	hold_note_secret(d, line);
	like.kept = d->again.wanted && codec_find(line, "secret") != NULL;
	like.parts = request->parts;
	if (r == 0)
		r = row_copy_contents(line, &like.contents);
	if (r == 0)
		r = hold_new(d, &like);
	if (r < 0) {
		free(like.contents);
		hold_give_back(d, like.id);
		return connection_fail(d, r, NULL);
	}
	request->parts = NULL;
	*ret_id = like.id;
	return 0;
}

/* A hold that was lost meanwhile is still a hold, until it is released. */
static int
hold_read(const struct ddblock *d, const struct codec_line *line,
    struct hold *ret)
{
	const struct codec_text *name = codec_find(line, "ns");
	uint64_t count;

	if (name == NULL || name->length > CONNECTION_NAME_MAX)
		return DDBLOCK_E_PROTOCOL;
	(void)memcpy(ret->name_space, name->bytes, name->length + 1);
	ret->lost = codec_is(codec_find(line, "state"), "lost");
	ret->kept = d->again.wanted;
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

	if (!hold_id(d, line, &like.id) || key == NULL ||
	    !hold_number(line, "token", &token))
		return DDBLOCK_E_PROTOCOL;
	hold = hold_find(d, like.id);
	if (hold != NULL)
		return hold->parts->n == DDBLOCK_KEYS_MAX ?
		    DDBLOCK_E_PROTOCOL :
		    parts_add(&hold->parts, key->bytes, line);
	r = hold_read(d, line, &like);
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
hold_find_none(struct ddblock *d)
{
	struct hold *hold;

	d->again.last_row = 0;
	TAILQ_FOREACH(hold, &d->holds, entry) {
		hold->found = false;
	}
}

/* It is held more often than we know of: a release is under way, or else a
 * grant was not read. */
static void
hold_found_more(struct ddblock *d, uint64_t id, uint32_t times)
{
	for (; times > 0; times--) {
		struct request *request = request_find_release(d, id);

		if (request == NULL) {
			hold_give_back(d, id);
			request = request_find_release(d, id);
		}
		if (request == NULL)
			return;
		request->there = true;
	}
}

/* It begins again with its first row, as with a grant. */
int
hold_found_again(struct ddblock *d, const struct codec_line *line)
{
	struct hold *hold, row = { .count = 1 };
	bool first;
	int r;

	if (!hold_id(d, line, &row.id))
		return DDBLOCK_E_PROTOCOL;
	r = hold_read(d, line, &row);
	if (r < 0)
		return r;
	/* The rows of several locks that are one hold follow each other. */
	first = d->again.last_row != row.id;
	d->again.last_row = row.id;
	hold = hold_find(d, row.id);
	if (hold == NULL || hold->lost) {
		hold_found_more(d, row.id, first ? row.count : 0);
		return 0;
	}
	if (!first)
		return 0;
	hold->found = true;
	hold->until_ms = row.until_ms;
	hold->end_ms = row.end_ms;
	if (row.count > hold->count)
		hold_found_more(d, row.id, row.count - hold->count);
	if (row.lost)
		hold_lose(d, hold, hold_loss(line));
	return 0;
}

/* Does the daemon speak of this hold? A new one, not before it is resumed. */
bool
hold_is_known(const struct ddblock *d, const struct hold *hold)
{
	return d->again.state == RECONNECT_UP || hold->found;
}

void
hold_extend(struct ddblock *d, struct hold *hold,
    const struct codec_line *line)
{
	uint64_t until_ms, token;

	if (!hold->lost && hold_number(line, "token", &token))
		hold->parts->part[0].token = token;	/* shared now */
	/* Its deadline may be early, never late. */
	if (hold->lost || !hold_is_known(d, hold) ||
	    !hold_until(line, &until_ms))
		return;
	if (until_ms > hold->end_ms)
		until_ms = hold->end_ms;
	if (until_ms > hold->until_ms)
		hold->until_ms = until_ms;
}

uint64_t
hold_good_ms(const struct ddblock *d, const struct hold *hold)
{
	uint64_t early_ms = hold->margin_ms / 2;

	if (d->again.state == RECONNECT_UP ||
	    hold->until_ms == DDBLOCK_NEVER_MS)
		return hold->until_ms;
	return hold->until_ms > early_ms ? hold->until_ms - early_ms : 0;
}

void
hold_count(struct ddblock *d)
{
	struct hold *hold;

	d->deadline_ms = DDBLOCK_NEVER_MS;
	TAILQ_FOREACH(hold, &d->holds, entry) {
		if (!hold->lost && hold_good_ms(d, hold) < d->deadline_ms)
			d->deadline_ms = hold_good_ms(d, hold);
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

bool
hold_any_kept(const struct ddblock *d)
{
	const struct hold *hold;

	TAILQ_FOREACH(hold, &d->holds, entry) {
		if (!hold->lost && hold->kept)
			return true;
	}
	return false;
}

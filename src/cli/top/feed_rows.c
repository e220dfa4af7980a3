/*
 * Rows of the daemon, as the model has them.
 */
#include <config.h>

#include <stdio.h>
#include <string.h>

#include "cli/top/feed.h"
#include "ipc/codec.h"

static const char *
feed_text(const struct ddblock_row *row, const char *name)
{
	const char *value = ddblock_row_find(row, name, NULL);

	return value == NULL ? "" : value;
}

static uint64_t
feed_number(const struct ddblock_row *row, const char *name)
{
	size_t length;
	const char *value = ddblock_row_find(row, name, &length);
	uint64_t n;

	return value != NULL && codec_parse_number(value, length, &n) ? n : 0;
}

static bool
feed_time(const struct ddblock_row *row, const char *name, uint64_t *ret_ms)
{
	size_t length;
	const char *value = ddblock_row_find(row, name, &length);

	*ret_ms = 0;
	return value != NULL && codec_parse_duration(value, length, ret_ms);
}

static bool
feed_yes(const struct ddblock_row *row, const char *name)
{
	size_t length;
	const char *value = ddblock_row_find(row, name, &length);
	bool yes;

	return value != NULL && codec_parse_boolean(value, length, &yes) &&
	    yes;
}

static void
feed_names(struct row *ret, const struct ddblock_row *row)
{
	row_init(ret);
	ret->ns = feed_text(row, "ns");
	ret->key = feed_text(row, "key");
	ret->sort = feed_text(row, "sort");
	ret->pid = feed_number(row, "pid");
	ret->uid = feed_number(row, "uid");
	ret->user = feed_text(row, "user");
	ret->token = feed_number(row, "token");
}

void
feed_held_row(struct row *ret, const struct ddblock_row *row)
{
	feed_names(ret, row);
	ret->id = feed_number(row, "id");
	ret->who = feed_text(row, "owner");
	if (ret->who[0] == '\0')
		ret->who = feed_text(row, "name");
	if (ret->who[0] == '\0' && feed_yes(row, "left"))
		ret->who = "(its client has left)";
	if (ret->pid == 0)
		ret->pid = feed_number(row, "process");
	ret->state = feed_text(row, "state");
	ret->is_held = true;
	ret->holders = 1;
	(void)feed_time(row, "held", &ret->held_ms);
	ret->has_left = feed_time(row, "remaining", &ret->left_ms);
}

void
feed_waiting_row(struct row *ret, const struct ddblock_row *row)
{
	feed_names(ret, row);
	ret->who = feed_text(row, "name");
	ret->holder = feed_text(row, "owner");
	ret->state = feed_text(row, "cause");
	ret->ahead = feed_number(row, "ahead");
	(void)feed_time(row, "waited", &ret->waited_ms);
}

/* Cut to its room, but not within a character. */
static void
feed_copy(char *ret, size_t size, const struct ddblock_row *row,
    const char *name)
{
	const char *value = feed_text(row, name);
	size_t length = strlen(value);

	if (length >= size) {
		length = size - 1;
		while (length > 0 &&
		    ((unsigned char)value[length] & 0xc0) == 0x80)
			length--;
	}
	(void)memcpy(ret, value, length);
	ret[length] = '\0';
}

void
feed_namespace(struct model_namespace *ret, const struct ddblock_row *row)
{
	*ret = (struct model_namespace){ .held = feed_number(row, "held") };
	feed_copy(ret->name, sizeof(ret->name), row, "ns");
	feed_copy(ret->store, sizeof(ret->store), row, "store");
	feed_copy(ret->scope, sizeof(ret->scope), row, "scope");
	feed_copy(ret->where, sizeof(ret->where), row, "where");
	feed_copy(ret->cause, sizeof(ret->cause), row, "cause");
	feed_copy(ret->state, sizeof(ret->state), row,
	    strcmp(feed_text(row, "session"), "opening") == 0 ? "session" :
	    "state");
	ret->has_session = feed_time(row, "renewed", &ret->renewed_ms) &&
	    strcmp(ret->state, "opening") != 0;
	(void)feed_time(row, "danger", &ret->danger_ms);
	(void)feed_time(row, "remaining", &ret->remaining_ms);
	ret->draining = feed_yes(row, "draining");
	ret->removed = feed_yes(row, "removed");
	/* Rules of access may hide the numbers. */
	ret->counts = ddblock_row_find(row, "held", NULL) != NULL;
	ret->waiting = feed_number(row, "waiting");
	ret->granted = feed_number(row, "granted");
	ret->lost = feed_number(row, "lost");
	ret->requests = feed_number(row, "requests");
}

void
feed_daemon(struct model_daemon *ret, const struct ddblock_row *row)
{
	*ret = (struct model_daemon){ .pid = feed_number(row, "pid"),
		.connections = feed_number(row, "connections") };
	feed_copy(ret->version, sizeof(ret->version), row, "version");
	feed_copy(ret->host, sizeof(ret->host), row, "host");
	(void)feed_time(row, "uptime", &ret->uptime_ms);
}

void
feed_inside(struct detail *d, const struct ddblock_row *row)
{
	const char *name, *value;
	size_t length;

	for (size_t i = 0; ddblock_row_at(row, i, &name, &value, &length);
	    i++)
		detail_field(d, name, value, length);
	d->coming.token = feed_number(row, "token");
	d->coming.held = strcmp(feed_text(row, "state"), "free") != 0 &&
	    feed_text(row, "state")[0] != '\0';
}

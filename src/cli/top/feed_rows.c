/*
 * Rows of the daemon, as the model has them.
 */
#include <config.h>

#include <stdio.h>
#include <string.h>

#include "cli/top/feed.h"
#include "cli/base/row_value.h"
#include "ipc/codec.h"

static const char *
feed_text(const struct ddblock_row *row, const char *name)
{
	const char *value = ddblock_row_find(row, name, NULL);

	return value == NULL ? "" : value;
}

static bool
feed_time(const struct ddblock_row *row, const char *name, uint64_t *ret_ms)
{
	*ret_ms = 0;
	return row_time(row, name, ret_ms);
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
	ret->pid = row_number_or(row, "pid", 0);
	ret->uid = row_number_or(row, "uid", 0);
	ret->user = feed_text(row, "user");
	ret->token = row_number_or(row, "token", 0);
}

void
feed_held_row(struct row *ret, const struct ddblock_row *row)
{
	feed_names(ret, row);
	ret->id = row_number_or(row, "id", 0);
	ret->who = feed_text(row, "owner");
	if (ret->who[0] == '\0')
		ret->who = feed_text(row, "name");
	if (ret->who[0] == '\0' && feed_yes(row, "left"))
		ret->who = "(its client has left)";
	if (ret->pid == 0)
		ret->pid = row_number_or(row, "process", 0);
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
	ret->ahead = row_number_or(row, "ahead", 0);
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
	*ret = (struct model_namespace){
		.held = row_number_or(row, "held", 0),
	};
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
	ret->waiting = row_number_or(row, "waiting", 0);
	ret->granted = row_number_or(row, "granted", 0);
	ret->lost = row_number_or(row, "lost", 0);
	ret->requests = row_number_or(row, "requests", 0);
}

void
feed_daemon(struct model_daemon *ret, const struct ddblock_row *row)
{
	*ret = (struct model_daemon){ .pid = row_number_or(row, "pid", 0),
		.connections = row_number_or(row, "connections", 0) };
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
	d->coming.token = row_number_or(row, "token", 0);
	d->coming.held = strcmp(feed_text(row, "state"), "free") != 0 &&
	    feed_text(row, "state")[0] != '\0';
}

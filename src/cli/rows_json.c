/*
 * JSON. The protocol's values are text; which of them are numbers, durations
 * and booleans is known here by name, so that a lock called "123" stays a
 * string.
 */
#include <config.h>

#include <string.h>

#include "cli/rows.h"
#include "ipc/codec.h"
#include "common/base64.h"
#include "common/json_quote.h"

static const char *const rows_numbers[] = {
	"id", "token", "pid", "uid", "gid", "ahead", "acquired_at", "locks",
	"limit", "holders", "until_boot_ms", "examined", "units",
	"held", "waiting", "granted", "handed_over", "lost", "doubts",
	"requests", "repetitions", "in_flight", "rows", "connections",
	"succeeded", "failed", "hedges", "hedges_won", "warnings", "errors",
	NULL,
};
static const char *const rows_durations[] = {
	"remaining", "unchanged", "lease", "held", "waited", "renewed",
	"uptime", "margin", "in", "expires", "latency_p50", "latency_p99",
	"failed_ago", NULL,
};
static const char *const rows_booleans[] = { "here", "mine", NULL };

static bool
rows_among(const char *name, const char *const *names)
{
	for (; *names != NULL; names++) {
		if (strcmp(name, *names) == 0)
			return true;
	}
	return false;
}

void
rows_member(struct buffer *b, const char *name, const char *value,
    size_t length)
{
	uint64_t number;
	bool yes;

	if (rows_among(name, rows_numbers) &&
	    codec_parse_number(value, length, &number)) {
		json_quote(b, name, strlen(name));
		(void)buffer_printf(b, ":%llu", (unsigned long long)number);
	} else if (rows_among(name, rows_durations) &&
	    codec_parse_duration(value, length, &number)) {
		(void)buffer_printf(b, "\"%s_ms\":%llu", name,
		    (unsigned long long)number);
	} else if (rows_among(name, rows_booleans) &&
	    codec_parse_boolean(value, length, &yes)) {
		(void)buffer_printf(b, "\"%s\":%s", name,
		    yes ? "true" : "false");
	} else if (strcmp(name, "data") == 0) {
		/* Any bytes, which a string of JSON cannot hold. */
		(void)buffer_append_text(b, "\"data_base64\":\"");
		base64_append(b, value, length);
		(void)buffer_append_text(b, "\"");
	} else {
		json_quote(b, name, strlen(name));
		(void)buffer_append_text(b, ":");
		json_quote(b, value, length);
	}
}

void
rows_members(struct buffer *b, const struct ddblock_row *row)
{
	const char *name;
	const char *value;
	size_t length;

	for (size_t i = 0; ddblock_row_at(row, i, &name, &value, &length);
	    i++) {
		if (i > 0)
			(void)buffer_append_text(b, ",");
		rows_member(b, name, value, length);
	}
}

void
rows_object(struct buffer *b, const struct ddblock_row *row)
{
	(void)buffer_append_text(b, "{");
	rows_members(b, row);
	(void)buffer_append_text(b, "}");
}

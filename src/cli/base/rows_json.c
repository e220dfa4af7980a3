/*
 * JSON. The protocol's values are text. Its table says by name which are
 * numbers, durations and booleans, so that a lock called "123" stays a string.
 */
#include <config.h>

#include <string.h>

#include "cli/base/rows.h"
#include "common/base64.h"
#include "common/json_quote.h"
#include "ipc/protocol.h"

void
rows_member(struct buffer *b, const char *name, const char *value,
    size_t length)
{
	const enum protocol_type type = protocol_field(name);
	uint64_t number;
	bool yes;

	if ((type == TYPE_NUMBER || type == TYPE_ANY) &&
	    codec_parse_number(value, length, &number)) {
		json_quote(b, name, strlen(name));
		(void)buffer_printf(b, ":%llu", (unsigned long long)number);
	} else if ((type == TYPE_TIME || type == TYPE_ANY) &&
	    codec_parse_duration(value, length, &number)) {
		(void)buffer_printf(b, "\"%s_ms\":%llu", name,
		    (unsigned long long)number);
	} else if (type == TYPE_BOOLEAN &&
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

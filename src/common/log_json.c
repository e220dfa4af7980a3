/*
 * Log entries as lines of JSON.
 */
#include "common/log_json.h"

#include <string.h>

#include "common/json_quote.h"

void
log_json_begin(struct buffer *b)
{
	(void)buffer_append_text(b, "{");
}

void
log_json_end(struct buffer *b)
{
	(void)buffer_append_text(b, "}\n");
}

void
log_json_field(struct buffer *b, const char *name, const char *value)
{
	if (b->length > 1)
		(void)buffer_append_text(b, ",");
	json_quote(b, name, strlen(name));
	(void)buffer_append_text(b, ":");
	json_quote(b, value, strlen(value));
}

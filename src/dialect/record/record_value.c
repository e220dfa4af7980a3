/*
 * Formats of one item and one holder: values of attributes.
 */
#include "common/base64.h"
#include "dialect/dialect_item.h"
#include "dialect/json.h"
#include "dialect/record/record.h"

void
record_append_number(struct record_writer *w, uint64_t n)
{
	dialect_append_number(w->to, n);
}

void
record_append_text(struct record_writer *w, const char *text)
{
	(void)buffer_append_text(w->to, "{\"S\":");
	json_append_text(w->to, text);
	(void)buffer_append_text(w->to, "}");
}

void
record_append_bytes(struct record_writer *w, const void *bytes, size_t length)
{
	(void)buffer_append_text(w->to, "{\"B\":\"");
	base64_append(w->to, bytes, length);
	(void)buffer_append_text(w->to, "\"}");
}

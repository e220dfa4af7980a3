/*
 * The native record format: the pieces of a request.
 *
 * Names and values go through placeholders only. The names are taken from the
 * expressions: `#token` is the attribute `token`, `#key` the partition key,
 * `#sort` the sort key.
 */
#include "dialect/dialect_native_writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base64.h"
#include "dialect/dialect_item.h"
#include "dialect/dialect_native.h"
#include "dialect/json.h"

#define NATIVE_NAMES_MAX 16

void
native_write_item(struct native_writer *w, const struct native_item *item)
{
	(void)buffer_append_text(w->to, "{");
	json_append_text(w->to, w->table->key_attribute);
	(void)buffer_append_text(w->to, ":{\"S\":");
	json_append_string(w->to, item->partition.bytes,
	    item->partition.length);
	if (w->table->sort_attribute != NULL) {
		(void)buffer_append_text(w->to, "},");
		json_append_text(w->to, w->table->sort_attribute);
		(void)buffer_append_text(w->to, ":{\"S\":");
		json_append_string(w->to, item->sort.bytes, item->sort.length);
	}
	(void)buffer_append_text(w->to, "}}");
}

void
native_item_key(struct native_writer *w, const struct operation *o)
{
	struct native_item item;

	native_item_of(o, &item);
	native_write_item(w, &item);
}

void
native_begin(struct native_writer *w)
{
	(void)buffer_append_text(w->to, w->part ? "{\"TableName\":" :
	    "{\"ReturnConsumedCapacity\":\"TOTAL\",\"TableName\":");
	json_append_text(w->to, w->table->table);
}

void
native_member(struct native_writer *w, const char *name, const char *text)
{
	(void)buffer_printf(w->to, ",\"%s\":", name);
	json_append_text(w->to, text);
}

/* The length of the name at the '#' of @expression. */
static size_t
native_name_length(const char *expression)
{
	return strspn(expression + 1, "abcdefghijklmnopqrstuvwxyz_");
}

static bool
native_name_seen(const char *const *seen, size_t n_seen, const char *name,
    size_t length)
{
	for (size_t i = 0; i < n_seen; i++) {
		if (native_name_length(seen[i]) == length &&
		    memcmp(seen[i] + 1, name, length) == 0)
			return true;
	}
	return false;
}

static void
native_write_name(struct native_writer *w, const char *name, size_t length)
{
	if (length == 3 && memcmp(name, "key", 3) == 0)
		json_append_text(w->to, w->table->key_attribute);
	else if (length == 4 && memcmp(name, "sort", 4) == 0)
		json_append_text(w->to, w->table->sort_attribute);
	else if (length == 3 && memcmp(name, "ttl", 3) == 0)
		json_append_text(w->to, native_ttl(w->table));
	else
		json_append_string(w->to, name, length);
}

void
native_write_names(struct native_writer *w, const char *update,
    const char *condition)
{
	const char *expressions[] = { update, condition };
	const char *seen[NATIVE_NAMES_MAX];
	size_t n_seen = 0;

	(void)buffer_append_text(w->to, ",\"ExpressionAttributeNames\":{");
	for (size_t i = 0; i < 2; i++) {
		const char *at = expressions[i];

		while (at != NULL && (at = strchr(at, '#')) != NULL) {
			size_t n = native_name_length(at);

			if (!native_name_seen(seen, n_seen, at + 1, n) &&
			    n_seen < NATIVE_NAMES_MAX) {
				(void)buffer_printf(w->to, "%s\"#%.*s\":",
				    n_seen > 0 ? "," : "", (int)n, at + 1);
				native_write_name(w, at + 1, n);
				seen[n_seen++] = at;
			}
			at++;
		}
	}
	(void)buffer_append_text(w->to, "}");
}

static void
native_value(struct native_writer *w, const char *name)
{
	if (w->more)
		(void)buffer_append_text(w->to, ",");
	json_append_text(w->to, name);
	(void)buffer_append_text(w->to, ":");
	w->more = true;
}

void
native_value_number(struct native_writer *w, const char *name, uint64_t n)
{
	native_value(w, name);
	(void)buffer_printf(w->to, "{\"N\":\"%" PRIu64 "\"}", n);
}

void
native_value_text(struct native_writer *w, const char *name, const char *text)
{
	native_value(w, name);
	(void)buffer_append_text(w->to, "{\"S\":");
	json_append_text(w->to, text);
	(void)buffer_append_text(w->to, "}");
}

void
native_value_holder(struct native_writer *w, const char *name,
    const struct holder *holder)
{
	char text[NATIVE_HOLDER_SIZE];

	native_format_holder(holder, text);
	native_value_text(w, name, text);
}

void
native_value_holders(struct native_writer *w, const char *name,
    const struct holder *holders, size_t n)
{
	char text[NATIVE_HOLDER_SIZE];

	native_value(w, name);
	(void)buffer_append_text(w->to, "{\"SS\":[");
	for (size_t i = 0; i < n; i++) {
		native_format_holder(&holders[i], text);
		(void)buffer_printf(w->to, "%s\"%s\"", i > 0 ? "," : "", text);
	}
	(void)buffer_append_text(w->to, "]}");
}

void
native_value_session(struct native_writer *w, const char *name,
    struct ident session, bool set)
{
	char text[IDENT_TEXT_LENGTH + 1];

	ident_format(session, text);
	native_value(w, name);
	(void)buffer_printf(w->to, set ? "{\"SS\":[\"%s\"]}" : "{\"S\":\"%s\"}",
	    text);
}

void
native_value_bytes(struct native_writer *w, const char *name, struct key bytes)
{
	native_value(w, name);
	(void)buffer_append_text(w->to, "{\"B\":\"");
	base64_append(w->to, bytes.bytes, bytes.length);
	(void)buffer_append_text(w->to, "\"}");
}

void
native_value_revision(struct native_writer *w, const char *name,
    struct revision revision)
{
	native_value(w, name);
	(void)buffer_printf(w->to,
	    "{\"N\":\"%" PRIu64 "%0*" PRIu64 "\"}", revision.sequence,
	    NATIVE_REVISION_DIGITS, revision.random);
}

void
native_value_attributes(struct native_writer *w, const char *name,
    const struct contents *c)
{
	native_value(w, name);
	(void)buffer_append_text(w->to, "{\"M\":{");
	dialect_append_attributes(w->to, c);
	(void)buffer_append_text(w->to, "}}");
}

void
native_update(struct native_writer *w, const struct operation *o,
    const char *update, const char *condition)
{
	native_begin(w);
	if (!w->part)
		native_member(w, "ReturnValues", "ALL_NEW");
	native_member(w, "ReturnValuesOnConditionCheckFailure", "ALL_OLD");
	(void)buffer_append_text(w->to, ",\"Key\":");
	native_item_key(w, o);
	native_member(w, "UpdateExpression", update);
	native_member(w, "ConditionExpression", condition);
	native_write_names(w, update, condition);
	(void)buffer_append_text(w->to, ",\"ExpressionAttributeValues\":{");
}

void
native_end(struct native_writer *w)
{
	(void)buffer_append_text(w->to, w->more ? "}}" : "}");
}

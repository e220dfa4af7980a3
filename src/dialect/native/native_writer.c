/*
 * The native record format: the pieces of a request.
 *
 * Names and values go through placeholders only. The names are taken from the
 * expressions: `#token` is the attribute `token`, `#key` the partition key,
 * `#sort` the sort key.
 */
#include "dialect/native/native_writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base64.h"
#include "dialect/dialect_item.h"
#include "dialect/json.h"
#include "dialect/native/native.h"

#define NATIVE_NAMES_MAX 20

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
	(void)buffer_append_text(w->to, ",\"");
	(void)buffer_append_text(w->to, name);
	(void)buffer_append_text(w->to, "\":\"");
	(void)buffer_append_text(w->to, text);
	(void)buffer_append_text(w->to, "\"");
}

/* A name in an expression, after its '#'. */
struct native_name {
	const char *text;
	size_t length;
};

static bool
native_name_seen(const struct native_name *seen, size_t n_seen,
    const struct native_name *name)
{
	for (size_t i = 0; i < n_seen; i++) {
		if (seen[i].length == name->length &&
		    memcmp(seen[i].text, name->text, name->length) == 0)
			return true;
	}
	return false;
}

/* The next name at or after @at; NULL, or where it ends. */
static const char *
native_next_name(const char *at, struct native_name *ret)
{
	if (at != NULL)
		at = strchr(at, '#');
	if (at == NULL)
		return NULL;
	ret->text = ++at;
	while ((*at >= 'a' && *at <= 'z') || *at == '_')
		at++;
	ret->length = (size_t)(at - ret->text);
	return at;
}

static void
native_write_name(struct native_writer *w, const struct native_name *name)
{
	const char *here = NULL;

	if (name->length == 3 && memcmp(name->text, "key", 3) == 0)
		here = w->table->key_attribute;
	else if (name->length == 4 && memcmp(name->text, "sort", 4) == 0)
		here = w->table->sort_attribute;
	else if (name->length == 3 && memcmp(name->text, "ttl", 3) == 0)
		here = native_ttl(w->table);
	(void)buffer_append(w->to, "\"#", 2);
	(void)buffer_append(w->to, name->text, name->length);
	(void)buffer_append(w->to, "\":", 2);
	if (here != NULL) {
		json_append_text(w->to, here);
		return;
	}
	/* Lower-case letters: there is nothing to escape. */
	(void)buffer_append(w->to, "\"", 1);
	(void)buffer_append(w->to, name->text, name->length);
	(void)buffer_append(w->to, "\"", 1);
}

void
native_write_names(struct native_writer *w, const char *update,
    const char *condition)
{
	const char *expressions[] = { update, condition };
	struct native_name seen[NATIVE_NAMES_MAX];
	size_t n = 0;

	(void)buffer_append_text(w->to, ",\"ExpressionAttributeNames\":{");
	for (size_t i = 0; i < 2; i++) {
		const char *at = expressions[i];
		struct native_name name;

		while ((at = native_next_name(at, &name)) != NULL) {
			if (n == NATIVE_NAMES_MAX ||
			    native_name_seen(seen, n, &name))
				continue;
			if (n > 0)
				(void)buffer_append(w->to, ",", 1);
			native_write_name(w, &name);
			seen[n++] = name;
		}
	}
	(void)buffer_append_text(w->to, "}");
}

static void
native_value(struct native_writer *w, const char *name)
{
	if (w->more)
		(void)buffer_append(w->to, ",", 1);
	json_append_text(w->to, name);
	(void)buffer_append(w->to, ":", 1);
	w->more = true;
}

void
native_value_number(struct native_writer *w, const char *name, uint64_t n)
{
	native_value(w, name);
	dialect_append_number(w->to, n);
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
		(void)buffer_append_text(w->to, i > 0 ? ",\"" : "\"");
		(void)buffer_append_text(w->to, text);
		(void)buffer_append(w->to, "\"", 1);
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
native_value_list(struct native_writer *w, const char *name, const char *text)
{
	native_value(w, name);
	(void)buffer_append_text(w->to, "{\"L\":[");
	if (text != NULL)
		(void)buffer_printf(w->to, "{\"S\":\"%s\"}", text);
	(void)buffer_append_text(w->to, "]}");
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

/*
 * JSON of requests and answers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dynamo_state.h"

static bool
dynamo_get(struct dynamo_call *call, struct json_object *from,
    const char *name, enum json_type type, struct json_object **ret)
{
	struct json_object *o;

	*ret = NULL;
	if (!json_object_object_get_ex(from, name, &o) || o == NULL)
		return true;
	if (!json_object_is_type(o, type))
		return dynamo_malformed(&call->error, type ==
		    json_type_object || type == json_type_array ?
		    "Start of structure or map found where not expected." :
		    "Unexpected value type in payload");
	*ret = o;
	return true;
}

bool
dynamo_get_text(struct dynamo_call *call, struct json_object *from,
    const char *name, const char **ret)
{
	struct json_object *o;

	if (!dynamo_get(call, from, name, json_type_string, &o))
		return false;
	*ret = o == NULL ? NULL : json_object_get_string(o);
	return true;
}

bool
dynamo_get_object(struct dynamo_call *call, struct json_object *from,
    const char *name, struct json_object **ret)
{
	return dynamo_get(call, from, name, json_type_object, ret);
}

bool
dynamo_get_array(struct dynamo_call *call, struct json_object *from,
    const char *name, struct json_object **ret)
{
	return dynamo_get(call, from, name, json_type_array, ret);
}

bool
dynamo_get_bool(struct dynamo_call *call, struct json_object *from,
    const char *name, bool *ret)
{
	struct json_object *o;

	if (!dynamo_get(call, from, name, json_type_boolean, &o))
		return false;
	if (o != NULL)
		*ret = json_object_get_boolean(o);
	return true;
}

bool
dynamo_get_number(struct dynamo_call *call, struct json_object *from,
    const char *name, int64_t *ret)
{
	struct json_object *o;

	if (!dynamo_get(call, from, name, json_type_int, &o))
		return false;
	if (o != NULL)
		*ret = json_object_get_int64(o);
	return true;
}

bool
dynamo_get_word(struct dynamo_call *call, struct json_object *from,
    const char *name, const char *const *words, size_t *ret)
{
	char all[200] = "";
	const char *text;
	size_t n = 0;

	*ret = 0;
	if (!dynamo_get_text(call, from, name, &text))
		return false;
	if (text == NULL)
		return true;
	for (size_t i = 0; words[i] != NULL; i++) {
		if (strcmp(words[i], text) == 0) {
			*ret = i;
			return true;
		}
		n += (size_t)snprintf(all + n, sizeof(all) - n, "%s%s",
		    i > 0 ? ", " : "", words[i]);
	}
	return dynamo_invalid(&call->error, "1 validation error detected: "
	    "Value '%.50s' at '%s' failed to satisfy constraint: Member must "
	    "satisfy enum value set: [%s]", text, name, all);
}

bool
dynamo_check_capacity(struct dynamo_call *call, bool *ret)
{
	static const char *const words[] = { "NONE", "TOTAL", "INDEXES",
	    NULL };
	size_t word;

	if (!dynamo_get_word(call, call->body, "ReturnConsumedCapacity",
	    words, &word))
		return false;
	*ret = word > 0;
	return true;
}

/* ---- writing ---- */

void
dynamo_write_text(struct buffer *to, const char *bytes, size_t length)
{
	size_t from = 0;

	(void)buffer_append(to, "\"", 1);
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)bytes[i];

		if (c >= ' ' && c != '"' && c != '\\')
			continue;
		(void)buffer_append(to, bytes + from, i - from);
		from = i + 1;
		if (c < ' ')
			(void)buffer_printf(to, "\\u%04x", c);
		else
			(void)buffer_printf(to, "\\%c", c);
	}
	(void)buffer_append(to, bytes + from, length - from);
	(void)buffer_append(to, "\"", 1);
}

static void
dynamo_write_object(struct buffer *to, struct json_object *o)
{
	const char *comma = "{";

	json_object_object_foreach(o, name, member) {
		(void)buffer_append(to, comma, 1);
		dynamo_write_text(to, name, strlen(name));
		(void)buffer_append(to, ":", 1);
		dynamo_write_json(to, member);
		comma = ",";
	}
	(void)buffer_append_text(to, *comma == '{' ? "{}" : "}");
}

static void
dynamo_write_array(struct buffer *to, struct json_object *o)
{
	size_t n = json_object_array_length(o);

	(void)buffer_append(to, "[", 1);
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			(void)buffer_append(to, ",", 1);
		dynamo_write_json(to, json_object_array_get_idx(o, i));
	}
	(void)buffer_append(to, "]", 1);
}

static void
dynamo_write_forget(struct json_object *o, void *text)
{
	(void)o;
	free(text);
}

/* A large set is read far more often than it changes, and a change makes
 * another: it is written once, and kept with it. */
static void
dynamo_write_large(struct buffer *to, struct json_object *o)
{
	const char *text = json_object_get_userdata(o);
	struct buffer new;

	if (text == NULL) {
		buffer_init(&new, SIZE_MAX);
		dynamo_write_array(&new, o);
		if (buffer_failed(&new) != 0)
			(void)dynamo_need(NULL);
		text = dynamo_need(strdup(new.data));
		json_object_set_userdata(o, (void *)(uintptr_t)text,
		    dynamo_write_forget);
		buffer_done(&new);
	}
	(void)buffer_append_text(to, text);
}

void
dynamo_write_json(struct buffer *to, struct json_object *o)
{
	switch (json_object_get_type(o)) {
	case json_type_string:
		dynamo_write_text(to, json_object_get_string(o),
		    (size_t)json_object_get_string_len(o));
		break;
	case json_type_object:
		dynamo_write_object(to, o);
		break;
	case json_type_array:
		if (json_object_array_length(o) < DYNAMO_LARGE_MIN)
			dynamo_write_array(to, o);
		else
			dynamo_write_large(to, o);
		break;
	case json_type_null:
	case json_type_boolean:
	case json_type_double:
	case json_type_int:
		(void)buffer_append_text(to, json_object_get_string(o) != NULL
		    ? json_object_get_string(o) : "null");
		break;
	}
}

void
dynamo_write_capacity(struct buffer *to, const char *table, size_t units)
{
	(void)buffer_printf(to, "\"ConsumedCapacity\":{\"TableName\":");
	dynamo_write_text(to, table, strlen(table));
	(void)buffer_printf(to, ",\"CapacityUnits\":%zu.0}", units);
}

/* The service's parts have names of their own. */
static const char *
dynamo_write_error_space(const char *name)
{
	static const char *const coral[] = { "SerializationException",
	    "UnknownOperationException", "ThrottlingException",
	    "UnrecognizedClientException", "AccessDeniedException" };

	if (strcmp(name, "ValidationException") == 0)
		return "com.amazon.coral.validate#";
	for (size_t i = 0; i < sizeof(coral) / sizeof(coral[0]); i++) {
		if (strcmp(name, coral[i]) == 0)
			return "com.amazon.coral.service#";
	}
	return "com.amazonaws.dynamodb.v20120810#";
}

void
dynamo_write_error(struct dynamo_answer *a, int status,
    const struct dynamo_error *e)
{
	a->status = status;
	buffer_clear(&a->body);
	(void)buffer_printf(&a->body, "{\"__type\":\"%s%s\",\"%s\":",
	    dynamo_write_error_space(e->name), e->name,
	    e->reasons != NULL ? "Message" : "message");
	dynamo_write_text(&a->body, e->message, strlen(e->message));
	if (e->item != NULL) {
		(void)buffer_append_text(&a->body, ",\"Item\":");
		dynamo_write_json(&a->body, e->item);
	}
	if (e->throttled != NULL)
		(void)buffer_printf(&a->body, ",\"ThrottlingReasons\":["
		    "{\"reason\":\"%s\"}]", e->throttled);
	if (e->reasons != NULL) {
		(void)buffer_append_text(&a->body, ",\"CancellationReasons\":");
		dynamo_write_json(&a->body, e->reasons);
	}
	(void)buffer_append_text(&a->body, "}");
}

/*
 * The table's keys.
 */
#include "store/dynamodb_schema.h"

#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#include "dialect/json.h"

static const char *
schema_type(enum dialect_key_type type)
{
	static const char *const names[] = {
		[DIALECT_KEY_TEXT] = "S", [DIALECT_KEY_NUMBER] = "N",
		[DIALECT_KEY_BYTES] = "B",
	};

	return names[type];
}

void
schema_write(struct buffer *b, const struct dialect_table *t)
{
	(void)buffer_append_text(b, ",\"KeySchema\":["
	    "{\"KeyType\":\"HASH\",\"AttributeName\":");
	json_append_text(b, t->key_attribute);
	if (t->sort_attribute != NULL) {
		(void)buffer_append_text(b,
		    "},{\"KeyType\":\"RANGE\",\"AttributeName\":");
		json_append_text(b, t->sort_attribute);
	}
	(void)buffer_printf(b, "}],\"AttributeDefinitions\":["
	    "{\"AttributeType\":\"%s\",\"AttributeName\":",
	    schema_type(t->key_type));
	json_append_text(b, t->key_attribute);
	if (t->sort_attribute != NULL) {
		(void)buffer_printf(b,
		    "},{\"AttributeType\":\"%s\",\"AttributeName\":",
		    schema_type(t->sort_type));
		json_append_text(b, t->sort_attribute);
	}
	(void)buffer_append_text(b, "}]");
}

/* Behind the namespace's prefix, as credentials may be for such keys only. */
static void
schema_write_no_value(struct buffer *b, enum dialect_key_type type,
    const char *prefix)
{
	static const char *const values[] = {
		[DIALECT_KEY_TEXT] = "session:none",
		[DIALECT_KEY_NUMBER] = "0",
		[DIALECT_KEY_BYTES] = "AAAA",
	};
	char text[2048];

	(void)snprintf(text, sizeof(text), "%s%s",
	    type == DIALECT_KEY_TEXT && prefix != NULL ? prefix : "",
	    values[type]);
	(void)buffer_printf(b, ":{\"%s\":", schema_type(type));
	json_append_text(b, text);
	(void)buffer_append_text(b, "}");
}

void
schema_write_no_key(struct buffer *b, const struct dialect_table *t)
{
	(void)buffer_append_text(b, "{");
	json_append_text(b, t->key_attribute);
	schema_write_no_value(b, t->key_type, t->prefix);
	if (t->sort_attribute != NULL) {
		(void)buffer_append_text(b, ",");
		json_append_text(b, t->sort_attribute);
		schema_write_no_value(b, t->sort_type, NULL);
	}
	(void)buffer_append_text(b, "}");
}

const char *
schema_text(struct json_object *o, const char *name)
{
	size_t length;
	const char *text = json_string(json_find(o, name), &length);

	return text != NULL ? text : "";
}

static struct json_object *
schema_at(struct json_object *array, size_t i)
{
	if (!json_object_is_type(array, json_type_array) ||
	    i >= json_object_array_length(array))
		return NULL;
	return json_object_array_get_idx(array, i);
}

void
schema_needed(const struct dialect_table *t, char text[SCHEMA_TEXT_MAX])
{
	int n = snprintf(text, SCHEMA_TEXT_MAX, "partition key \"%s\" (%s)",
	    t->key_attribute, schema_type(t->key_type));

	if (t->sort_attribute != NULL && n > 0 && n < SCHEMA_TEXT_MAX)
		(void)snprintf(text + n, SCHEMA_TEXT_MAX - (size_t)n,
		    ", sort key \"%s\" (%s)", t->sort_attribute,
		    schema_type(t->sort_type));
}

void
schema_found(struct json_object *table, char text[SCHEMA_TEXT_MAX])
{
	struct json_object *schema = json_find(table, "KeySchema");
	struct json_object *definitions =
	    json_find(table, "AttributeDefinitions");
	struct json_object *element;
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; (element = schema_at(schema, i)) != NULL &&
	    used < SCHEMA_TEXT_MAX; i++) {
		const char *name = schema_text(element, "AttributeName");
		const char *type = "?";
		struct json_object *d;
		int n;

		for (size_t j = 0; (d = schema_at(definitions, j)) != NULL;
		    j++) {
			if (strcmp(schema_text(d, "AttributeName"), name) == 0)
				type = schema_text(d, "AttributeType");
		}
		n = snprintf(text + used, SCHEMA_TEXT_MAX - used,
		    "%s%s key \"%s\" (%s)", used > 0 ? ", " : "",
		    strcmp(schema_text(element, "KeyType"), "HASH") == 0 ?
		    "partition" : "sort", name, type);
		used += n > 0 ? (size_t)n : SCHEMA_TEXT_MAX;
	}
}

/*
 * Functions for items that all record formats share.
 */
#include "dialect/dialect_item.h"

#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#include "dialect/json.h"

#define ITEM_KEY_SHOWN 80	/* bytes of a key in a message */
#define ITEM_UNITS_MAX 1e6	/* no request consumes as much */

/* As much of @key as can be shown, and whether it was cut. */
static const char *
item_show(struct key key, char shown[ITEM_KEY_SHOWN + 1])
{
	size_t n = key.length < ITEM_KEY_SHOWN ? key.length : ITEM_KEY_SHOWN;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)key.bytes[i];

		shown[i] = c >= 0x20 && c < 0x7f ? key.bytes[i] : '?';
	}
	shown[n] = '\0';
	return n < key.length ? "..." : "";
}

void
dialect_describe(const struct dialect_table *table, struct key partition,
    struct key sort, const char *attribute, const char *expected,
    char text[OUTCOME_TEXT_MAX])
{
	char partition_shown[ITEM_KEY_SHOWN + 1];
	char sort_shown[ITEM_KEY_SHOWN + 1];
	const char *more = item_show(partition, partition_shown);
	const char *more_sort = item_show(sort, sort_shown);
	bool sorts = table->sort_attribute != NULL;

	(void)snprintf(text, OUTCOME_TEXT_MAX,
	    "table %.60s, item \"%s\"%s%s%s%s%s, attribute \"%.40s\": "
	    "expected %s", table->table, partition_shown, more,
	    sorts ? " \"" : "", sorts ? sort_shown : "", sorts ? "\"" : "",
	    sorts ? more_sort : "", attribute, expected);
}

bool
dialect_read_attribute(const char *name, struct json_object *value,
    struct attribute *ret)
{
	struct json_object *text = json_find(value, "S");

	ret->name = (struct key){ name, strlen(name) };
	ret->typed = text == NULL;
	if (ret->typed)
		ret->value.bytes = json_object_to_json_string_length(value,
		    JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE,
		    &ret->value.length);
	else
		ret->value.bytes = json_string(text, &ret->value.length);
	return ret->name.length > 0 &&
	    ret->name.length <= ATTRIBUTE_NAME_MAX &&
	    strchr(name, ':') == NULL && ret->value.bytes != NULL;
}

void
dialect_append_number(struct buffer *to, uint64_t n)
{
	(void)buffer_append_text(to, "{\"N\":\"");
	(void)buffer_append_number(to, n);
	(void)buffer_append_text(to, "\"}");
}

void
dialect_append_attributes(struct buffer *to, const struct contents *c)
{
	for (size_t i = 0; i < c->n_attributes; i++) {
		const struct attribute *a = &c->attributes[i];

		if (i > 0)
			(void)buffer_append_text(to, ",");
		json_append_string(to, a->name.bytes, a->name.length);
		(void)buffer_append_text(to, a->typed ? ":" : ":{\"S\":");
		if (a->typed)
			(void)buffer_append(to, a->value.bytes,
			    a->value.length);
		else
			json_append_string(to, a->value.bytes,
			    a->value.length);
		(void)buffer_append_text(to, a->typed ? "" : "}");
	}
}

/* Missing counts are no reason to refuse the page. */
void
dialect_read_cost(struct json_object *root, struct dialect_view *view)
{
	int64_t examined =
	    json_object_get_int64(json_find(root, "ScannedCount"));
	double units = json_object_get_double(
	    json_find(json_find(root, "ConsumedCapacity"), "CapacityUnits"));

	view->n_examined = examined > 0 && examined <= SCAN_PAGE_MAX ?
	    (uint64_t)examined : view->n_rows;
	if (units > 0 && units <= ITEM_UNITS_MAX)
		view->read_milliunits = (uint64_t)(units * 1000 + 0.5);
}

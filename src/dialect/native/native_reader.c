/*
 * The native record format: the attributes of an item, and errors in them.
 */
#include "dialect/native/native_reader.h"

#include <json-c/json.h>

#include "ddblock.h"
#include "dialect/dialect_item.h"
#include "dialect/json.h"

void
native_describe(const struct dialect_table *table,
    const struct native_item *item, const char *attribute,
    const char *expected, char text[OUTCOME_TEXT_MAX])
{
	dialect_describe(table, item->partition, item->sort, attribute,
	    expected, text);
}

void
native_bad(struct native_reader *r, const char *attribute,
    const char *expected)
{
	if (r->error != 0)
		return;
	r->error = DDBLOCK_E_BAD_RECORD;
	native_describe(r->table, r->item, attribute, expected,
	    r->view->text);
}

void *
native_alloc(struct native_reader *r, size_t n, size_t size)
{
	void *memory = dialect_view_alloc(r->view, n, size);

	if (memory == NULL && r->error == 0)
		r->error = DDBLOCK_E_NOMEM;
	return memory;
}

struct json_object *
native_field(struct native_reader *r, struct json_object *item,
    const char *attribute, const char *type, const char *expected)
{
	struct json_object *field = json_find(item, attribute);
	struct json_object *value;

	if (field == NULL)
		return NULL;
	value = json_find(field, type);
	if (value == NULL)
		native_bad(r, attribute, expected);
	return value;
}

bool
native_number(struct native_reader *r, struct json_object *item,
    const char *attribute, uint64_t max, uint64_t *ret)
{
	static const char expected[] =
	    "a whole number that is not negative (N) and not beyond its limit";
	struct json_object *value =
	    native_field(r, item, attribute, "N", expected);
	const char *text;
	size_t length;

	if (value == NULL)
		return false;
	text = json_string(value, &length);
	if (text == NULL || !json_read_number(text, length, max, ret)) {
		native_bad(r, attribute, expected);
		return false;
	}
	return true;
}

const char *
native_text(struct native_reader *r, struct json_object *item,
    const char *attribute)
{
	struct json_object *value =
	    native_field(r, item, attribute, "S", "a text (S)");
	const char *text = NULL;
	size_t length;

	if (value != NULL) {
		text = json_string(value, &length);
		if (text == NULL)
			native_bad(r, attribute, "a text (S)");
	}
	return text;
}

size_t
native_array(struct native_reader *r, struct json_object *item,
    const char *attribute, const char *type, const char *expected,
    struct json_object **ret)
{
	*ret = native_field(r, item, attribute, type, expected);
	if (*ret == NULL)
		return 0;
	if (!json_object_is_type(*ret, json_type_array)) {
		native_bad(r, attribute, expected);
		return 0;
	}
	return json_object_array_length(*ret);
}

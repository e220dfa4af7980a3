/*
 * Formats of one item and one holder: the names of items, and back.
 *
 * A lock's key in its table is the namespace's prefix and the client's key, as
 * a text, a number or bytes. Numbers have only the form in which the service
 * returns them, because a lock has only one name.
 */
#include <string.h>

#include "common/base64.h"
#include "ddblock.h"
#include "dialect/json.h"
#include "dialect/record/record.h"

#define ITEM_DIGITS_MAX 38

static const char *const item_types[] = {
	[DIALECT_KEY_TEXT] = "S",
	[DIALECT_KEY_NUMBER] = "N",
	[DIALECT_KEY_BYTES] = "B",
};

static size_t
item_digits(struct key text, size_t at)
{
	size_t n = 0;

	while (at + n < text.length && text.bytes[at + n] >= '0' &&
	    text.bytes[at + n] <= '9')
		n++;
	return n;
}

/* Is it a number in its shortest form, without an exponent? */
static bool
item_is_number(struct key text)
{
	size_t at = text.length > 0 && text.bytes[0] == '-' ? 1 : 0;
	size_t whole = item_digits(text, at), part = 0;

	if (whole == 0 || (text.bytes[at] == '0' && whole > 1))
		return false;
	if (at + whole < text.length) {
		if (text.bytes[at + whole] != '.')
			return false;
		part = item_digits(text, at + whole + 1);
		if (part == 0 || at + whole + 1 + part != text.length ||
		    text.bytes[text.length - 1] == '0')
			return false;
	}
	return whole + part <= ITEM_DIGITS_MAX &&
	    !(at == 1 && part == 0 && text.bytes[1] == '0');
}

/* Can this be the value of a key attribute? */
static const char *
item_refuse(struct key value, enum dialect_key_type type)
{
	if (type == DIALECT_KEY_NUMBER && !item_is_number(value))
		return "the table's key is a number, and this is none in its "
		    "shortest form";
	if (type == DIALECT_KEY_TEXT &&
	    !json_is_utf8(value.bytes, value.length))
		return "the key is not UTF-8 text";
	return NULL;
}

const char *
record_item_of(const struct dialect_table *table, struct key name,
    char bytes[RECORD_KEY_MAX], struct key_parts *ret)
{
	struct key_parts parts = key_split(name);
	size_t n = table->prefix != NULL ? strlen(table->prefix) : 0;
	const char *refused;

	if (!key_is_sound(name))
		return "the key has an empty part, or is too long";
	if (n + parts.key.length > RECORD_KEY_MAX)
		return "the key is too long behind the namespace's prefix";
	if (table->sort_attribute == NULL && key_is_sorted(&parts))
		return "the table has no sort key";
	if (n > 0) {
		memcpy(bytes, table->prefix, n);
		memcpy(bytes + n, parts.key.bytes, parts.key.length);
		parts.key = (struct key){ bytes, n + parts.key.length };
	}
	refused = item_refuse(parts.key, table->key_type);
	if (refused == NULL && table->sort_attribute != NULL &&
	    item_refuse(parts.sort, table->sort_type) != NULL)
		refused = table->sort_type == DIALECT_KEY_NUMBER ?
		    "the table's sort key is a number: sort must be one in "
		    "its shortest form" : "the sort key is not UTF-8 text";
	if (refused == NULL)
		*ret = parts;
	return refused;
}

static void
item_append(struct buffer *to, const char *attribute,
    enum dialect_key_type type, struct key value)
{
	json_append_text(to, attribute);
	(void)buffer_printf(to, ":{\"%s\":", item_types[type]);
	if (type == DIALECT_KEY_BYTES) {
		(void)buffer_append_text(to, "\"");
		base64_append(to, value.bytes, value.length);
		(void)buffer_append_text(to, "\"}");
	} else {
		json_append_string(to, value.bytes, value.length);
		(void)buffer_append_text(to, "}");
	}
}

void
record_append_item(struct buffer *to, const struct dialect_table *table,
    const struct key_parts *item)
{
	item_append(to, table->key_attribute, table->key_type, item->key);
	if (table->sort_attribute == NULL)
		return;
	(void)buffer_append_text(to, ",");
	item_append(to, table->sort_attribute, table->sort_type, item->sort);
}

/* The value of a key attribute: 1, or 0 if its type is wrong. */
static int
item_value(struct json_object *item, const char *attribute,
    enum dialect_key_type type, struct dialect_view *view, struct key *ret)
{
	size_t length = 0;
	const char *text = json_string(json_find(json_find(item, attribute),
	    item_types[type]), &length);
	char *bytes;

	if (text == NULL)
		return 0;
	*ret = (struct key){ text, length };
	if (type != DIALECT_KEY_BYTES)
		return length > 0;
	bytes = dialect_view_alloc(view, 1, base64_room(length) + 1);
	if (bytes == NULL)
		return DDBLOCK_E_NOMEM;
	ret->bytes = bytes;
	return base64_read(text, length, bytes, &ret->length) &&
	    ret->length > 0;
}

static int
item_values(const struct dialect_table *table, struct json_object *item,
    struct dialect_view *view, struct key_parts *ret)
{
	int r = item_value(item, table->key_attribute, table->key_type, view,
	    &ret->key);

	ret->sort = key_text(KEY_SORT_NONE);
	if (r == 1 && table->sort_attribute != NULL)
		r = item_value(item, table->sort_attribute, table->sort_type,
		    view, &ret->sort);
	return r;
}

/* Would we write this text, as a part of a name of that maximum length? */
static bool
item_part_ok(struct key part, size_t max)
{
	return part.length >= 1 && part.length <= max &&
	    memchr(part.bytes, '\0', part.length) == NULL &&
	    json_is_utf8(part.bytes, part.length);
}

int
record_item_name(const struct dialect_table *table, struct json_object *item,
    struct dialect_view *view, struct key *ret)
{
	const char *prefix = table->prefix != NULL ? table->prefix : "";
	size_t n = strlen(prefix);
	struct key_parts parts;
	int r = item_values(table, item, view, &parts);

	if (r <= 0)
		return r;
	if (parts.key.length < n || memcmp(parts.key.bytes, prefix, n) != 0)
		return 0;
	parts.key.bytes += n;
	parts.key.length -= n;
	if (!item_part_ok(parts.key, KEY_LENGTH_MAX) ||
	    !item_part_ok(parts.sort, KEY_SORT_MAX))
		return 0;
	return dialect_view_name(view, &parts, ret);
}

int
record_item_cursor(const struct dialect_table *table,
    struct json_object *item, struct dialect_view *view, struct key *ret)
{
	struct key_parts parts;
	int r = item_values(table, item, view, &parts);

	if (r < 0)
		return r;
	return r == 0 ? DDBLOCK_E_PROTOCOL :
	    dialect_view_cursor(view, &parts, ret);
}

bool
record_cursor_item(struct key cursor, struct key_parts *ret)
{
	return dialect_cursor_parts(cursor, ret) && ret->key.length > 0 &&
	    ret->sort.length > 0;
}

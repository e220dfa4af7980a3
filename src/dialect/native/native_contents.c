/*
 * The native record format: the contents of a lock.
 */
#include <json-c/json.h>

#include "common/base64.h"
#include "dialect/dialect_item.h"
#include "dialect/json.h"
#include "dialect/native/native.h"
#include "dialect/native/native_reader.h"

static const char native_attrs_expected[] =
    "a map (M) of at most 32 attributes with names of 1 to 255 bytes, "
    "without colons";

/* SEQUENCE * 10^20 + RANDOM */
static void
native_read_revision(struct native_reader *r, struct json_object *item,
    struct revision *ret)
{
	static const char expected[] =
	    "a number (N) of at most 38 digits, the last 20 below 2^64";
	struct json_object *value =
	    native_field(r, item, "rev", "N", expected);
	size_t length = 0, n;
	const char *text;

	if (value == NULL)
		return;
	text = json_string(value, &length);
	n = length > NATIVE_REVISION_DIGITS ?
	    length - NATIVE_REVISION_DIGITS : 0;
	if (text == NULL || n == 0 || length > 38 ||
	    !json_read_number(text, n, REVISION_SEQUENCE_MAX,
	    &ret->sequence)) {
		native_bad(r, "rev", expected);
		return;
	}
	/* The random part has leading zeros; a number has none. */
	while (n + 1 < length && text[n] == '0')
		n++;
	if (!json_read_number(text + n, length - n, UINT64_MAX, &ret->random))
		native_bad(r, "rev", expected);
}

static void
native_read_data(struct native_reader *r, struct json_object *item,
    struct key *ret)
{
	static const char expected[] = "bytes (B), in base64";
	struct json_object *value =
	    native_field(r, item, "data", "B", expected);
	size_t length = 0;
	const char *text;
	char *bytes;

	if (value == NULL)
		return;
	text = json_string(value, &length);
	bytes = native_alloc(r, base64_room(length) + 1, 1);
	if (bytes == NULL)
		return;
	if (text == NULL ||
	    !base64_read(text, length, bytes, &ret->length)) {
		native_bad(r, "data", expected);
		return;
	}
	ret->bytes = bytes;
}

static void
native_read_attributes(struct native_reader *r, struct json_object *item,
    struct contents *ret)
{
	struct json_object *map =
	    native_field(r, item, "attrs", "M", native_attrs_expected);
	struct attribute *attributes;
	size_t n = 0;

	if (map == NULL)
		return;
	if (!json_object_is_type(map, json_type_object) ||
	    json_object_object_length(map) > ATTRIBUTES_MAX) {
		native_bad(r, "attrs", native_attrs_expected);
		return;
	}
	attributes = native_alloc(r, ATTRIBUTES_MAX, sizeof(*attributes));
	if (attributes == NULL)
		return;
	json_object_object_foreach(map, name, value)
	{
		if (!dialect_read_attribute(name, value,
		    &attributes[n++])) {
			native_bad(r, "attrs", native_attrs_expected);
			return;
		}
	}
	ret->attributes = attributes;
	ret->n_attributes = n;
}

void
native_read_contents(struct native_reader *r, struct json_object *item,
    struct lock_record *l)
{
	native_read_revision(r, item, &l->revision);
	native_read_data(r, item, &l->contents.data);
	native_read_attributes(r, item, &l->contents);
	if (contents_size(&l->contents) > DIALECT_CONTENTS_MAX)
		native_bad(r, "data",
		    "at most 307200 bytes, together with attrs");
}

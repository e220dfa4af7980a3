/*
 * Formats of one item and one holder: the contents of a lock. They are all
 * attributes that are not the format's.
 */
#include <string.h>

#include <json-c/json.h>

#include "common/base64.h"
#include "dialect/dialect_item.h"
#include "dialect/record/record.h"

static void
contents_read_data(struct record_reader *r, struct json_object *item,
    struct key *ret)
{
	static const char expected[] = "bytes (B), in base64";
	size_t length = 0;
	const char *text = record_scalar(r, item, r->format->data, "B",
	    expected, &length);
	char *bytes;

	if (text == NULL)
		return;
	bytes = record_alloc(r, base64_room(length) + 1, 1);
	if (bytes == NULL)
		return;
	if (base64_read(text, length, bytes, &ret->length))
		ret->bytes = bytes;
	else
		record_bad(r, r->format->data, expected);
}

static void
contents_read_attributes(struct record_reader *r, struct json_object *item,
    struct contents *ret)
{
	struct attribute *attributes =
	    record_alloc(r, ATTRIBUTES_MAX, sizeof(*attributes));
	size_t n = 0;

	if (attributes == NULL)
		return;
	json_object_object_foreach(item, name, value)
	{
		if (record_is_own(r->format, r->table, name))
			continue;
		if (n == ATTRIBUTES_MAX) {
			record_bad(r, name,
			    "at most 32 attributes besides the format's");
			return;
		}
		if (!dialect_read_attribute(name, value, &attributes[n++])) {
			record_bad(r, name, "an attribute with a name of 1 to "
			    "255 bytes, without colons");
			return;
		}
	}
	ret->attributes = attributes;
	ret->n_attributes = n;
}

void
record_read_contents(struct record_reader *r, struct json_object *item,
    struct contents *ret)
{
	if (r->format->data != NULL)
		contents_read_data(r, item, &ret->data);
	contents_read_attributes(r, item, ret);
	if (contents_size(ret) > DIALECT_CONTENTS_MAX)
		record_bad(r, r->format->data != NULL ? r->format->data :
		    r->format->names[0],
		    "at most 307200 bytes besides the format's attributes");
}

const char *
record_refuse_contents(const struct record_format *f,
    const struct dialect_table *table, const struct contents *c)
{
	char name[ATTRIBUTE_NAME_MAX + 1];

	for (size_t i = 0; i < c->n_attributes; i++) {
		struct key given = c->attributes[i].name;

		if (given.length > ATTRIBUTE_NAME_MAX)
			continue;	/* its length is refused */
		memcpy(name, given.bytes, given.length);
		name[given.length] = '\0';
		if (record_is_own(f, table, name))
			return "has an attribute of that name itself";
	}
	return NULL;
}

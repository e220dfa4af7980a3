/*
 * Formats of one item and one holder: the names of attributes, holds and
 * owners.
 */
#include <string.h>

#include "dialect/json.h"
#include "dialect/record/record.h"
#include "dialect/uuid.h"

const char *
record_name(const struct record_format *f, const struct dialect_table *table,
    const char *own)
{
	if (strcmp(own, "key") == 0)
		return table->key_attribute;
	if (strcmp(own, "sort") == 0)
		return table->sort_attribute;
	if (table->ttl_attribute != NULL &&
	    strcmp(own, f->ttl != NULL ? f->ttl : "ttl") == 0)
		return table->ttl_attribute;
	return dialect_name_here(table, own);
}

bool
record_is_own(const struct record_format *f, const struct dialect_table *table,
    const char *here)
{
	if (strcmp(here, table->key_attribute) == 0 ||
	    (table->sort_attribute != NULL &&
	    strcmp(here, table->sort_attribute) == 0))
		return true;
	for (size_t i = 0; f->names[i] != NULL; i++) {
		if (strcmp(record_name(f, table, f->names[i]), here) == 0)
			return true;
	}
	return false;
}

bool
record_key_attribute_ok(const struct record_format *f, const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; f->names[i] != NULL; i++) {
		if (strcmp(f->names[i], name) == 0)
			return false;
	}
	return length >= 1 && length <= 255 && json_is_utf8(name, length);
}

struct ident
record_grant(const struct operation *o)
{
	return o->kind == OPERATION_RELEASE ? o->holders[0].grant :
	    o->me.grant;
}

const char *
record_owner(const struct dialect_table *table, const struct operation *o)
{
	if (o->owner != NULL)
		return o->owner;
	return table->host != NULL ? table->host : "ddblockd";
}

struct ident
record_hold_of_uuid(const char *version)
{
	struct ident hold = { 0 };
	uint64_t beat;

	(void)uuid_parse(version, strlen(version), &hold, &beat);
	return hold;
}

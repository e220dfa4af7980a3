/*
 * The native record format: the names of items, and back.
 *
 * A name is stored as the core has it: a lock has the same name, whether its
 * table has a sort key or not. An item with a name that we would not write is
 * not ours.
 */
#include <stdio.h>
#include <string.h>

#include "ddblock.h"
#include "dialect/json.h"
#include "dialect/native/native.h"

const char *
native_ttl(const struct dialect_table *table)
{
	return table->ttl_attribute != NULL ? table->ttl_attribute : "ttl";
}

void
native_lock_item(struct key name, struct native_item *ret)
{
	const size_t n = sizeof(NATIVE_LOCK_PREFIX) - 1;
	const struct key_parts parts = key_split(name);

	memcpy(ret->bytes, NATIVE_LOCK_PREFIX, n);
	if (parts.key.length > 0)
		memcpy(ret->bytes + n, parts.key.bytes, parts.key.length);
	ret->partition = (struct key){ ret->bytes, n + parts.key.length };
	ret->sort = parts.sort;
}

void
native_item_of(const struct operation *o, struct native_item *ret)
{
	char session[IDENT_TEXT_LENGTH + 1];
	int n;

	if (!dialect_is_session(o->kind)) {
		native_lock_item(o->key, ret);
		return;
	}
	ident_format(o->session, session);
	n = snprintf(ret->bytes, sizeof(ret->bytes),
	    NATIVE_SESSION_PREFIX "%s", session);
	ret->partition = (struct key){ ret->bytes, (size_t)n };
	ret->sort = key_text(KEY_SORT_NONE);
}

/* The text of a key attribute of @item; empty if there is none. */
static struct key
native_key_text(struct json_object *item, const char *attribute)
{
	struct key text = { NULL, 0 };

	text.bytes = json_string(json_find(json_find(item, attribute), "S"),
	    &text.length);
	if (text.bytes == NULL)
		text.length = 0;
	return text;
}

/* The keys of @item. False: they have other types than they must have. */
static bool
native_read_keys(const struct dialect_table *table, struct json_object *item,
    struct key_parts *ret)
{
	ret->key = native_key_text(item, table->key_attribute);
	ret->sort = table->sort_attribute == NULL ? key_text(KEY_SORT_NONE) :
	    native_key_text(item, table->sort_attribute);
	return ret->key.length > 0 && ret->sort.length > 0;
}

/* Would we write this text, as a part of a name of that maximum length? */
static bool
native_part_ok(struct key part, size_t max)
{
	return part.length >= 1 && part.length <= max &&
	    memchr(part.bytes, '\0', part.length) == NULL;
}

int
native_item_name(const struct dialect_table *table, struct json_object *item,
    struct dialect_view *view, struct key *ret)
{
	const size_t n = sizeof(NATIVE_LOCK_PREFIX) - 1;
	struct key_parts parts;

	if (!native_read_keys(table, item, &parts) || parts.key.length < n ||
	    memcmp(parts.key.bytes, NATIVE_LOCK_PREFIX, n) != 0)
		return 0;
	parts.key.bytes += n;
	parts.key.length -= n;
	if (!native_part_ok(parts.key, KEY_LENGTH_MAX) ||
	    !native_part_ok(parts.sort, KEY_SORT_MAX))
		return 0;
	return dialect_view_name(view, &parts, ret);
}

int
native_item_cursor(const struct dialect_table *table,
    struct json_object *item, struct dialect_view *view, struct key *ret)
{
	struct key_parts parts;

	if (!native_read_keys(table, item, &parts))
		return DDBLOCK_E_PROTOCOL;
	return dialect_view_cursor(view, &parts, ret);
}

bool
native_cursor_item(struct key cursor, struct native_item *ret)
{
	struct key_parts parts;

	if (!dialect_cursor_parts(cursor, &parts))
		return false;
	ret->partition = parts.key;
	ret->sort = parts.sort;
	return true;
}

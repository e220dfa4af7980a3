/*
 * The names of locks, and the two parts of them.
 */
#include "core/key.h"

#include <assert.h>
#include <string.h>

struct key
key_text(const char *text)
{
	return (struct key){ text, strlen(text) };
}

bool
key_equal(struct key a, struct key b)
{
	return a.length == b.length &&
	    (a.length == 0 || memcmp(a.bytes, b.bytes, a.length) == 0);
}

bool
key_begins_with(struct key key, struct key prefix)
{
	return prefix.length == 0 || (key.length >= prefix.length &&
	    memcmp(key.bytes, prefix.bytes, prefix.length) == 0);
}

int
key_compare(const void *one, const void *other)
{
	const struct key *a = one, *b = other;
	size_t n = a->length < b->length ? a->length : b->length;
	int r = n == 0 ? 0 : memcmp(a->bytes, b->bytes, n);

	return r != 0 ? r : (a->length > b->length) - (a->length < b->length);
}

struct key_parts
key_split(struct key name)
{
	const char *nul = name.length == 0 ? NULL :
	    memchr(name.bytes, '\0', name.length);
	struct key_parts parts = { name, key_text(KEY_SORT_NONE) };

	if (nul == NULL)
		return parts;
	parts.key.length = (size_t)(nul - name.bytes);
	parts.sort = (struct key){ nul + 1,
		name.length - parts.key.length - 1 };
	return parts;
}

bool
key_is_sorted(const struct key_parts *parts)
{
	return !key_equal(parts->sort, key_text(KEY_SORT_NONE));
}

struct key
key_join(const struct key_parts *parts, char bytes[KEY_BYTES_MAX])
{
	const struct key *key = &parts->key;
	const struct key *sort = &parts->sort;

	if (!key_is_sorted(parts))
		return *key;
	assert(key->length <= KEY_LENGTH_MAX && sort->length <= KEY_SORT_MAX);
	if (key->length > 0)
		memcpy(bytes, key->bytes, key->length);
	bytes[key->length] = '\0';
	if (sort->length > 0)
		memcpy(bytes + key->length + 1, sort->bytes, sort->length);
	return (struct key){ bytes, key->length + 1 + sort->length };
}

bool
key_is_sound(struct key name)
{
	struct key_parts parts = key_split(name);

	return parts.key.length >= 1 && parts.key.length <= KEY_LENGTH_MAX &&
	    parts.sort.length >= 1 && parts.sort.length <= KEY_SORT_MAX &&
	    memchr(parts.sort.bytes, '\0', parts.sort.length) == NULL &&
	    (parts.key.length == name.length || key_is_sorted(&parts));
}

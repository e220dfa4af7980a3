/*
 * Values of attributes: comparison and combination of two values.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "dynamo_state.h"
#include "dynamo_value.h"

static const char *const dynamo_type_names[] = {
	[DYNAMO_S] = "S",
	[DYNAMO_N] = "N",
	[DYNAMO_B] = "B",
	[DYNAMO_SS] = "SS",
	[DYNAMO_NS] = "NS",
	[DYNAMO_BS] = "BS",
	[DYNAMO_BOOL] = "BOOL",
	[DYNAMO_NULL] = "NULL",
	[DYNAMO_L] = "L",
	[DYNAMO_M] = "M",
};

const char *
dynamo_type_name(enum dynamo_type type)
{
	return dynamo_type_names[type];
}

enum dynamo_type
dynamo_type_find(const char *name)
{
	bool set = name[0] != '\0' && name[1] == 'S' && name[2] == '\0';

	switch (name[0]) {
	case 'S':
		return name[1] == '\0' ? DYNAMO_S : set ? DYNAMO_SS : 0;
	case 'N':
		if (name[1] == '\0')
			return DYNAMO_N;
		return set ? DYNAMO_NS :
		    strcmp(name, "NULL") == 0 ? DYNAMO_NULL : 0;
	case 'B':
		if (name[1] == '\0')
			return DYNAMO_B;
		return set ? DYNAMO_BS :
		    strcmp(name, "BOOL") == 0 ? DYNAMO_BOOL : 0;
	case 'L':
		return name[1] == '\0' ? DYNAMO_L : 0;
	case 'M':
		return name[1] == '\0' ? DYNAMO_M : 0;
	}
	return 0;
}

enum dynamo_type
dynamo_value_type(struct json_object *value)
{
	struct lh_entry *only = lh_table_head(json_object_get_object(value));

	return dynamo_type_find(lh_entry_k(only));
}

struct json_object *
dynamo_value_content(struct json_object *value)
{
	struct lh_entry *only = lh_table_head(json_object_get_object(value));

	return lh_entry_v(only);
}

struct json_object *
dynamo_value_new(enum dynamo_type type, struct json_object *content)
{
	struct json_object *value = dynamo_need(json_object_new_object());

	dynamo_add_constant(value, dynamo_type_names[type], content);
	return value;
}

struct json_object *
dynamo_value_new_number(const struct dynamo_number *n)
{
	char text[DYNAMO_NUMBER_SIZE];
	size_t length = dynamo_number_format(n, text);

	return dynamo_value_new(DYNAMO_N, dynamo_need(
	    json_object_new_string_len(text, (int)length)));
}

static size_t
dynamo_value_length(struct json_object *string)
{
	return (size_t)json_object_get_string_len(string);
}

static void
dynamo_value_parse(struct json_object *string, struct dynamo_number *ret)
{
	(void)dynamo_number_parse(json_object_get_string(string),
	    dynamo_value_length(string), ret);
}

void
dynamo_value_number(struct json_object *value, struct dynamo_number *ret)
{
	dynamo_value_parse(dynamo_value_content(value), ret);
}

static bool
dynamo_value_same_text(struct json_object *a, struct json_object *b)
{
	size_t n = dynamo_value_length(a);

	return n == dynamo_value_length(b) && memcmp(
	    json_object_get_string(a), json_object_get_string(b), n) == 0;
}

bool
dynamo_value_in_set(struct json_object *set, struct json_object *element)
{
	size_t n = json_object_array_length(set);

	for (size_t i = 0; i < n; i++) {
		if (dynamo_value_same_text(json_object_array_get_idx(set, i),
		    element))
			return true;
	}
	return false;
}

static bool
dynamo_value_same_set(struct json_object *a, struct json_object *b)
{
	size_t n = json_object_array_length(a);

	if (n != json_object_array_length(b))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!dynamo_value_in_set(b, json_object_array_get_idx(a, i)))
			return false;
	}
	return true;
}

static bool
dynamo_value_same_list(struct json_object *a, struct json_object *b)
{
	size_t n = json_object_array_length(a);

	if (n != json_object_array_length(b))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!dynamo_value_equal(json_object_array_get_idx(a, i),
		    json_object_array_get_idx(b, i)))
			return false;
	}
	return true;
}

static bool
dynamo_value_same_map(struct json_object *a, struct json_object *b)
{
	struct json_object *other;

	if (json_object_object_length(a) != json_object_object_length(b))
		return false;
	json_object_object_foreach(a, name, value) {
		if (!json_object_object_get_ex(b, name, &other) ||
		    !dynamo_value_equal(value, other))
			return false;
	}
	return true;
}

bool
dynamo_value_equal(struct json_object *a, struct json_object *b)
{
	enum dynamo_type type = dynamo_value_type(a);

	if (a == b)
		return true;
	if (type != dynamo_value_type(b))
		return false;
	a = dynamo_value_content(a);
	b = dynamo_value_content(b);
	switch (type) {
	case DYNAMO_S:
	case DYNAMO_N:
	case DYNAMO_B:
		return dynamo_value_same_text(a, b);
	case DYNAMO_SS:
	case DYNAMO_NS:
	case DYNAMO_BS:
		return dynamo_value_same_set(a, b);
	case DYNAMO_BOOL:
		return json_object_get_boolean(a) ==
		    json_object_get_boolean(b);
	case DYNAMO_L:
		return dynamo_value_same_list(a, b);
	case DYNAMO_M:
		return dynamo_value_same_map(a, b);
	case DYNAMO_NULL:
		break;
	}
	return true;
}

/* The bytes of an S or a B. Free what is put into @ret_memory. */
static const uint8_t *
dynamo_value_raw(struct json_object *value, uint8_t **ret_memory,
    size_t *ret_length)
{
	struct json_object *content = dynamo_value_content(value);
	const char *text = json_object_get_string(content);
	size_t length = dynamo_value_length(content);

	*ret_memory = NULL;
	*ret_length = length;
	if (dynamo_value_type(value) == DYNAMO_S)
		return (const uint8_t *)text;
	*ret_memory = dynamo_need(malloc(length + 1));
	(void)dynamo_base64_decode(text, length, *ret_memory, ret_length);
	return *ret_memory;
}

int
dynamo_value_compare(struct json_object *a, struct json_object *b)
{
	uint8_t *a_memory, *b_memory;
	size_t a_length, b_length;
	const uint8_t *a_bytes, *b_bytes;
	int r;

	if (dynamo_value_type(a) == DYNAMO_N) {
		struct dynamo_number m, n;

		dynamo_value_number(a, &m);
		dynamo_value_number(b, &n);
		return dynamo_number_compare(&m, &n);
	}
	a_bytes = dynamo_value_raw(a, &a_memory, &a_length);
	b_bytes = dynamo_value_raw(b, &b_memory, &b_length);
	r = memcmp(a_bytes, b_bytes, a_length < b_length ? a_length : b_length);
	free(a_memory);
	free(b_memory);
	return r != 0 ? r : (a_length > b_length) - (a_length < b_length);
}

/* Are these bytes in the others, anywhere or (@first) at the beginning? */
static bool
dynamo_value_find_bytes(struct json_object *in, struct json_object *what,
    bool first)
{
	uint8_t *in_memory, *what_memory;
	size_t in_length, length;
	const uint8_t *in_bytes = dynamo_value_raw(in, &in_memory, &in_length);
	const uint8_t *bytes = dynamo_value_raw(what, &what_memory, &length);
	bool found = length == 0;

	if (!found && length <= in_length)
		found = first ? memcmp(in_bytes, bytes, length) == 0 :
		    memmem(in_bytes, in_length, bytes, length) != NULL;
	free(in_memory);
	free(what_memory);
	return found;
}

bool
dynamo_value_begins_with(struct json_object *value, struct json_object *prefix)
{
	enum dynamo_type type = dynamo_value_type(value);

	return type == dynamo_value_type(prefix) &&
	    (type == DYNAMO_S || type == DYNAMO_B) &&
	    dynamo_value_find_bytes(value, prefix, true);
}

bool
dynamo_value_contains(struct json_object *value, struct json_object *what)
{
	enum dynamo_type type = dynamo_value_type(value);
	enum dynamo_type of = dynamo_value_type(what);
	struct json_object *content = dynamo_value_content(value);

	if (type == DYNAMO_L) {
		for (size_t i = 0; i < json_object_array_length(content); i++) {
			if (dynamo_value_equal(what,
			    json_object_array_get_idx(content, i)))
				return true;
		}
		return false;
	}
	if (type == of && (type == DYNAMO_S || type == DYNAMO_B))
		return dynamo_value_find_bytes(value, what, false);
	return ((type == DYNAMO_SS && of == DYNAMO_S) ||
	    (type == DYNAMO_NS && of == DYNAMO_N) ||
	    (type == DYNAMO_BS && of == DYNAMO_B)) &&
	    dynamo_value_in_set(content, dynamo_value_content(what));
}

/* Characters as Java counts them: above the first plane there are two. */
static size_t
dynamo_value_characters(struct json_object *string)
{
	const unsigned char *b =
	    (const unsigned char *)json_object_get_string(string);
	size_t n = 0;

	for (size_t i = 0; i < dynamo_value_length(string); i++)
		n += b[i] >= 0xf0 ? 2 : (b[i] & 0xc0) != 0x80;
	return n;
}

bool
dynamo_value_size(struct json_object *value, size_t *ret)
{
	struct json_object *content = dynamo_value_content(value);

	switch (dynamo_value_type(value)) {
	case DYNAMO_S:
		*ret = dynamo_value_characters(content);
		return true;
	case DYNAMO_B:
		*ret = dynamo_base64_length(json_object_get_string(content),
		    dynamo_value_length(content));
		return true;
	case DYNAMO_SS:
	case DYNAMO_NS:
	case DYNAMO_BS:
	case DYNAMO_L:
		*ret = json_object_array_length(content);
		return true;
	case DYNAMO_M:
		*ret = (size_t)json_object_object_length(content);
		return true;
	case DYNAMO_N:
	case DYNAMO_BOOL:
	case DYNAMO_NULL:
		break;
	}
	return false;
}

/* Of an element: of a number two digits a byte, and one or two more. */
static size_t
dynamo_value_scalar_bytes(enum dynamo_type type, struct json_object *string)
{
	struct dynamo_number n;

	switch (type) {
	case DYNAMO_N:
	case DYNAMO_NS:
		dynamo_value_parse(string, &n);
		return (size_t)(n.n + 1) / 2 + 1 + (n.negative ? 1 : 0);
	case DYNAMO_B:
	case DYNAMO_BS:
		return dynamo_base64_length(json_object_get_string(string),
		    dynamo_value_length(string));
	default:
		return dynamo_value_length(string);
	}
}

size_t
dynamo_value_bytes(struct json_object *value)
{
	enum dynamo_type type = dynamo_value_type(value);
	struct json_object *content = dynamo_value_content(value);
	size_t n = 0;

	switch (type) {
	case DYNAMO_S:
	case DYNAMO_N:
	case DYNAMO_B:
		return dynamo_value_scalar_bytes(type, content);
	case DYNAMO_SS:
	case DYNAMO_NS:
	case DYNAMO_BS:
		for (size_t i = 0; i < json_object_array_length(content); i++)
			n += dynamo_value_scalar_bytes(type,
			    json_object_array_get_idx(content, i));
		return n;
	case DYNAMO_L:
		for (size_t i = 0; i < json_object_array_length(content); i++)
			n += 1 + dynamo_value_bytes(
			    json_object_array_get_idx(content, i));
		return n + 3;
	case DYNAMO_M:
		n = (size_t)json_object_object_length(content);
		return n + 3 + dynamo_item_bytes(content);
	case DYNAMO_BOOL:
	case DYNAMO_NULL:
		break;
	}
	return 1;
}

int
dynamo_value_depth(struct json_object *value)
{
	struct json_object *content = dynamo_value_content(value);
	enum dynamo_type type = dynamo_value_type(value);
	int deepest = 0;

	if (type == DYNAMO_L) {
		for (size_t i = 0; i < json_object_array_length(content); i++) {
			int n = dynamo_value_depth(
			    json_object_array_get_idx(content, i));

			deepest = n > deepest ? n : deepest;
		}
		return deepest + 1;
	}
	if (type != DYNAMO_M)
		return 0;
	json_object_object_foreach(content, name, member) {
		int n = dynamo_value_depth(member);

		(void)name;
		deepest = n > deepest ? n : deepest;
	}
	return deepest + 1;
}

size_t
dynamo_item_bytes(struct json_object *item)
{
	size_t n = 0;

	json_object_object_foreach(item, name, value)
		n += strlen(name) + dynamo_value_bytes(value);
	return n;
}

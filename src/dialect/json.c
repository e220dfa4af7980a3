/*
 * The part of JSON that DynamoDB's requests and answers need.
 */
#include <string.h>

#include <json-c/json.h>

#include "common/utf8.h"
#include "dialect/json.h"

bool
json_is_utf8(const char *bytes, size_t length)
{
	size_t n;

	for (size_t i = 0; i < length; i += n) {
		n = utf8_character(bytes + i, length - i);
		if (n == 0)
			return false;
	}
	return true;
}

void
json_append_string(struct buffer *to, const char *bytes, size_t length)
{
	const unsigned char *b = (const unsigned char *)bytes;
	size_t n;

	(void)buffer_append(to, "\"", 1);
	for (size_t i = 0; i < length; i += n) {
		n = json_shape_plain(bytes + i, length - i);
		if (n > 0) {
			(void)buffer_append(to, b + i, n);
			continue;
		}
		n = utf8_character(bytes + i, length - i);
		if (n > 1) {
			(void)buffer_append(to, b + i, n);
		} else if (n == 0) {
			(void)buffer_append(to, "?", 1);
			n = 1;
		} else if (b[i] < 0x20) {
			(void)buffer_printf(to, "\\u%04x", b[i]);
		} else {
			(void)buffer_append(to, "\\", 1);
			(void)buffer_append(to, b + i, 1);
		}
	}
	(void)buffer_append(to, "\"", 1);
}

void
json_append_text(struct buffer *to, const char *text)
{
	json_append_string(to, text, strlen(text));
}

struct json_object *
json_read_object(struct json_tokener *reused, const char *bytes, size_t length)
{
	struct json_tokener *tokener = reused;
	struct json_object *o;

	if (length > INT32_MAX || !json_shape_is_object(bytes, length))
		return NULL;
	if (tokener == NULL)
		tokener = json_tokener_new_ex(JSON_DEPTH_MAX);
	if (tokener == NULL)
		return NULL;
	json_tokener_reset(tokener);
	o = json_tokener_parse_ex(tokener, bytes, (int)length);
	if (json_tokener_get_error(tokener) != json_tokener_success ||
	    !json_object_is_type(o, json_type_object)) {
		json_object_put(o);
		o = NULL;
	}
	if (tokener != reused)
		json_tokener_free(tokener);
	return o;
}

struct json_object *
json_find(struct json_object *o, const char *name)
{
	struct json_object *member;

	if (!json_object_is_type(o, json_type_object) ||
	    !json_object_object_get_ex(o, name, &member))
		return NULL;
	return member;
}

const char *
json_string(struct json_object *o, size_t *ret_length)
{
	if (!json_object_is_type(o, json_type_string))
		return NULL;
	*ret_length = (size_t)json_object_get_string_len(o);
	return json_object_get_string(o);
}

bool
json_read_number(const char *text, size_t length, uint64_t max, uint64_t *ret)
{
	uint64_t n = 0;

	if (length == 0 || (text[0] == '0' && length > 1))
		return false;
	for (size_t i = 0; i < length; i++) {
		uint64_t digit;

		if (text[i] < '0' || text[i] > '9')
			return false;
		digit = (uint64_t)(text[i] - '0');
		if (n > (UINT64_MAX - digit) / 10)
			return false;
		n = n * 10 + digit;
	}
	if (n > max)
		return false;
	*ret = n;
	return true;
}

/*
 * Values as they come in a request: checked, and brought into normal form.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dynamo_state.h"
#include "dynamo_value.h"

__attribute__((format(printf, 3, 0)))
static void
dynamo_error_write(struct dynamo_error *e, const char *name,
    const char *format, va_list arguments)
{
	e->name = name;
	(void)vsnprintf(e->message, sizeof(e->message), format, arguments);
}

bool
dynamo_error_set(struct dynamo_error *e, const char *name, const char *format,
    ...)
{
	va_list arguments;

	va_start(arguments, format);
	dynamo_error_write(e, name, format, arguments);
	va_end(arguments);
	return false;
}

bool
dynamo_invalid(struct dynamo_error *e, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	dynamo_error_write(e, "ValidationException", format, arguments);
	va_end(arguments);
	return false;
}

bool
dynamo_malformed(struct dynamo_error *e, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	dynamo_error_write(e, "SerializationException", format, arguments);
	va_end(arguments);
	return false;
}

bool
dynamo_number_invalid(struct dynamo_error *e, enum dynamo_number_error error)
{
	switch (error) {
	case DYNAMO_NUMBER_LONG:
		return dynamo_invalid(e, "Attempting to store more than %d "
		    "significant digits in a Number", DYNAMO_DIGITS_MAX);
	case DYNAMO_NUMBER_OVERFLOW:
		return dynamo_invalid(e, "Number overflow. Attempting to "
		    "store a number with magnitude larger than supported "
		    "range");
	case DYNAMO_NUMBER_UNDERFLOW:
		return dynamo_invalid(e, "Number underflow. Attempting to "
		    "store a number with magnitude smaller than supported "
		    "range");
	case DYNAMO_NUMBER_BAD:
	case DYNAMO_NUMBER_OK:
		break;
	}
	return dynamo_invalid(e, "The parameter cannot be converted to a "
	    "numeric value");
}

static bool
dynamo_check_number(struct json_object *string, struct dynamo_error *e)
{
	const char *text = json_object_get_string(string);
	size_t length = (size_t)json_object_get_string_len(string);
	char plain[DYNAMO_NUMBER_SIZE];
	struct dynamo_number n;
	enum dynamo_number_error error;

	if (dynamo_number_is_plain(text, length))
		return true;
	error = dynamo_number_parse(text, length, &n);
	if (error != DYNAMO_NUMBER_OK)
		return dynamo_number_invalid(e, error);
	length = dynamo_number_format(&n, plain);
	if (strcmp(text, plain) != 0 &&
	    !json_object_set_string_len(string, plain, (int)length))
		(void)dynamo_need(NULL);
	return true;
}

/* The last digit before the padding may have bits that do not count. */
static void
dynamo_check_plain_base64(struct json_object *string, const uint8_t *bytes,
    size_t length)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t tail = length % 3;
	char *text;
	size_t n = (size_t)json_object_get_string_len(string);
	uint32_t last;

	if (tail == 0)
		return;
	last = tail == 1 ? (bytes[length - 1] & 3u) << 4 :
	    (bytes[length - 1] & 15u) << 2;
	if (json_object_get_string(string)[n - 4 + tail] == digits[last])
		return;
	text = dynamo_need(strdup(json_object_get_string(string)));
	text[n - 4 + tail] = digits[last];
	if (!json_object_set_string_len(string, text, (int)n))
		(void)dynamo_need(NULL);
	free(text);
}

static bool
dynamo_check_bytes(struct json_object *string, struct dynamo_error *e)
{
	const char *text = json_object_get_string(string);
	size_t length = (size_t)json_object_get_string_len(string);
	uint8_t *bytes = dynamo_need(malloc(length + 1));
	bool right = dynamo_base64_decode(text, length, bytes, &length);

	if (right)
		dynamo_check_plain_base64(string, bytes, length);
	free(bytes);
	return right || dynamo_malformed(e,
	    "Base64 encoded length is expected a multiple of 4 bytes, of its "
	    "alphabet only");
}

static bool
dynamo_check_scalar(enum dynamo_type type, struct json_object *content,
    struct dynamo_error *e)
{
	if (!json_object_is_type(content, json_type_string))
		return dynamo_malformed(e, "%s cannot be converted to String",
		    json_object_is_type(content, json_type_int) ?
		    "NUMBER_VALUE" : "This value");
	if (type == DYNAMO_N || type == DYNAMO_NS)
		return dynamo_check_number(content, e);
	if (type == DYNAMO_B || type == DYNAMO_BS)
		return dynamo_check_bytes(content, e);
	return true;
}

static int
dynamo_check_order(const void *one, const void *two)
{
	struct json_object *a = *(struct json_object *const *)one;
	struct json_object *b = *(struct json_object *const *)two;
	int n = json_object_get_string_len(a);
	int m = json_object_get_string_len(b);
	int r = memcmp(json_object_get_string(a), json_object_get_string(b),
	    (size_t)(n < m ? n : m));

	return r != 0 ? r : (n > m) - (n < m);
}

static bool
dynamo_check_set(enum dynamo_type type, struct json_object *set,
    struct dynamo_error *e)
{
	struct json_object **sorted;
	bool twice = false;
	size_t n;

	if (!json_object_is_type(set, json_type_array))
		return dynamo_malformed(e, "Unexpected value type in payload");
	n = json_object_array_length(set);
	if (n == 0)
		return dynamo_invalid(e, "One or more parameter values were "
		    "invalid: An %s set  may not be empty",
		    type == DYNAMO_SS ? "string" :
		    type == DYNAMO_NS ? "number" : "binary");
	for (size_t i = 0; i < n; i++) {
		if (!dynamo_check_scalar(type,
		    json_object_array_get_idx(set, i), e))
			return false;
	}
	if (n == 1)
		return true;
	sorted = dynamo_need(calloc(n, sizeof(struct json_object *)));
	for (size_t i = 0; i < n; i++)
		sorted[i] = json_object_array_get_idx(set, i);
	qsort(sorted, n, sizeof(struct json_object *), dynamo_check_order);
	for (size_t i = 1; i < n; i++)
		twice = twice ||
		    dynamo_check_order(&sorted[i - 1], &sorted[i]) == 0;
	free(sorted);
	return !twice || dynamo_invalid(e, "One or more parameter values were "
	    "invalid: Input collection of type %s contains duplicates.",
	    dynamo_type_name(type));
}

static bool dynamo_check_value(struct json_object *value, int depth,
    struct dynamo_error *e);

static bool
dynamo_check_nested(enum dynamo_type type, struct json_object *content,
    int depth, struct dynamo_error *e)
{
	if (!json_object_is_type(content, type == DYNAMO_L ?
	    json_type_array : json_type_object))
		return dynamo_malformed(e, "Unexpected value type in payload");
	if (depth > DYNAMO_DEPTH_MAX)
		return dynamo_invalid(e, "Nesting Levels have exceeded "
		    "supported limits");
	if (type == DYNAMO_L) {
		size_t n = json_object_array_length(content);

		for (size_t i = 0; i < n; i++) {
			if (!dynamo_check_value(
			    json_object_array_get_idx(content, i), depth, e))
				return false;
		}
		return true;
	}
	json_object_object_foreach(content, name, value) {
		if (name[0] == '\0')
			return dynamo_invalid(e, "One or more parameter "
			    "values were invalid: An AttributeName may not "
			    "contain an empty string");
		if (!dynamo_check_value(value, depth, e))
			return false;
	}
	return true;
}

/* Its only type; other members are ignored and removed. 0: it has none. */
static enum dynamo_type
dynamo_check_type(struct json_object *value, struct json_object **ret_content,
    struct dynamo_error *e)
{
	enum dynamo_type type = 0;
	int found = 0;

	json_object_object_foreach(value, name, content) {
		enum dynamo_type t = dynamo_type_find(name);

		if (t == 0 || content == NULL) {
			json_object_object_del(value, name);
			continue;
		}
		type = t;
		*ret_content = content;
		found++;
	}
	if (found == 1)
		return type;
	(void)dynamo_invalid(e, "Supplied AttributeValue %s, must contain "
	    "exactly one of the supported datatypes", found == 0 ?
	    "is empty" : "has more than one datatypes set");
	return 0;
}

static bool
dynamo_check_value(struct json_object *value, int depth,
    struct dynamo_error *e)
{
	struct json_object *content = NULL;
	enum dynamo_type type;

	if (value == NULL)
		return dynamo_invalid(e, "Supplied AttributeValue is empty, "
		    "must contain exactly one of the supported datatypes");
	if (!json_object_is_type(value, json_type_object))
		return dynamo_malformed(e, "Unexpected value type in payload");
	type = dynamo_check_type(value, &content, e);
	switch (type) {
	case DYNAMO_S:
	case DYNAMO_N:
	case DYNAMO_B:
		return dynamo_check_scalar(type, content, e);
	case DYNAMO_SS:
	case DYNAMO_NS:
	case DYNAMO_BS:
		return dynamo_check_set(type, content, e);
	case DYNAMO_BOOL:
	case DYNAMO_NULL:
		if (!json_object_is_type(content, json_type_boolean))
			return dynamo_malformed(e,
			    "Unexpected token received from parser");
		if (type == DYNAMO_NULL && !json_object_get_boolean(content))
			return dynamo_invalid(e, "One or more parameter "
			    "values were invalid: Null attribute value types "
			    "must have the value of true");
		return true;
	case DYNAMO_L:
	case DYNAMO_M:
		return dynamo_check_nested(type, content, depth + 1, e);
	}
	return false;
}

bool
dynamo_value_check(struct json_object *value, struct dynamo_error *e)
{
	return dynamo_check_value(value, 0, e);
}

bool
dynamo_value_check_all(struct json_object *object, struct dynamo_error *e)
{
	json_object_object_foreach(object, name, value) {
		(void)name;
		if (!dynamo_check_value(value, 0, e))
			return false;
	}
	return true;
}

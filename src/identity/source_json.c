/*
 * Answers and files in JSON that have secrets in them: json-c frees its memory
 * as it is, so we wipe first what we can reach of it.
 */
#include "identity/source_json.h"

#include <json-c/json.h>
#include <json-c/printbuf.h>
#include <string.h>

#include "common/json_shape.h"

#define SOURCE_JSON_DEPTH_MAX 8
#define SOURCE_JSON_BYTES_MAX (1024 * 1024)

/* json-c owns the text and calls it constant; it is not read any more. */
static void
source_json_wipe_text(struct json_object *json)
{
	const char *text = json_object_get_string(json);
	size_t length = (size_t)json_object_get_string_len(json);

	explicit_bzero((char *)(uintptr_t)text, length);
}

/* As deep as it could be parsed. */
static void
source_json_wipe(struct json_object *json)
{
	size_t n;

	if (json_object_is_type(json, json_type_string)) {
		source_json_wipe_text(json);
	} else if (json_object_is_type(json, json_type_array)) {
		n = json_object_array_length(json);
		for (size_t i = 0; i < n; i++)
			source_json_wipe(json_object_array_get_idx(json, i));
	} else if (json_object_is_type(json, json_type_object)) {
		json_object_object_foreach(json, name, value) {
			(void)name;
			source_json_wipe(value);
		}
	}
}

void
source_json_done(struct json_object *json)
{
	source_json_wipe(json);
	(void)json_object_put(json);
}

/* Its scratch memory has the last texts: as large as it can become, so that
 * none stay where it was before it grew. */
static struct json_tokener *
source_json_tokener(size_t length)
{
	struct json_tokener *tokener =
	    json_tokener_new_ex(SOURCE_JSON_DEPTH_MAX);

	if (tokener == NULL)
		return NULL;
	if (printbuf_memset(tokener->pb, 0, 0, (int)length) < 0) {
		json_tokener_free(tokener);
		return NULL;
	}
	printbuf_reset(tokener->pb);
	/* Strict enough is json_shape; JSON_TOKENER_STRICT of json-c 0.18
	 * refuses all texts beyond ASCII where char is signed. */
	json_tokener_set_flags(tokener, JSON_TOKENER_VALIDATE_UTF8);
	return tokener;
}

static void
source_json_forget(struct json_tokener *tokener)
{
	if (tokener->pb != NULL && tokener->pb->buf != NULL)
		explicit_bzero(tokener->pb->buf, (size_t)tokener->pb->size);
	json_tokener_free(tokener);
}

struct json_object *
source_json_parse(const char *body, size_t length)
{
	struct json_tokener *tokener;
	struct json_object *json;

	if (length > SOURCE_JSON_BYTES_MAX ||
	    !json_shape_is_object(body, length))
		return NULL;
	tokener = source_json_tokener(length);
	if (tokener == NULL)
		return NULL;
	json = json_tokener_parse_ex(tokener, body, (int)length);
	if (json_tokener_get_error(tokener) != json_tokener_success ||
	    json_tokener_get_parse_end(tokener) != length ||
	    !json_object_is_type(json, json_type_object)) {
		source_json_done(json);
		json = NULL;
	}
	source_json_forget(tokener);
	return json;
}

void
source_json_remove(struct json_object *json, const char *name)
{
	source_json_wipe(json_object_object_get(json, name));
	json_object_object_del(json, name);
}

const char *
source_json_text(struct json_object *json, const char *name)
{
	struct json_object *value;
	const char *text;

	if (!json_object_object_get_ex(json, name, &value) ||
	    !json_object_is_type(value, json_type_string))
		return NULL;
	text = json_object_get_string(value);
	return text[0] != '\0' &&
	    strlen(text) == (size_t)json_object_get_string_len(value) ?
	    text : NULL;
}

struct json_object *
source_json_member(struct json_object *json, const char *name)
{
	struct json_object *value;

	return json_object_object_get_ex(json, name, &value) &&
	    json_object_is_type(value, json_type_object) ? value : NULL;
}

uint64_t
source_json_number(struct json_object *json, const char *name)
{
	struct json_object *value;
	int64_t number;

	if (!json_object_object_get_ex(json, name, &value) ||
	    !json_object_is_type(value, json_type_int))
		return 0;
	number = json_object_get_int64(value);
	return number > 0 ? (uint64_t)number : 0;
}

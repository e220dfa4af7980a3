/*
 * The native record format: the sessions in a table. See native_sessions.h.
 *
 * A read that is not consistent is enough, and costs half: a session of a
 * moment ago may be left out.
 */
#include "dialect/native/native_sessions.h"

#include <string.h>

#include <json-c/json.h>

#include "dialect/json.h"
#include "dialect/native/native_writer.h"

#define SESSIONS_NUMBER_MAX INT64_MAX

static const char sessions_shown[] =
    "#key, #contact, #host, #lease_ms, #ttl";
static const char sessions_filter[] =
    "begins_with(#key, :prefix) AND attribute_not_exists(#dead) AND "
    "#ttl > :now";

void
native_write_sessions(const struct dialect_table *table,
    struct json_object *from, uint64_t wall_ms, struct buffer *to)
{
	struct native_writer w = { .table = table, .to = to };

	native_begin(&w);
	(void)buffer_printf(to, ",\"Limit\":%d", NATIVE_SESSIONS_PAGE);
	if (from != NULL) {
		(void)buffer_append_text(to, ",\"ExclusiveStartKey\":");
		(void)buffer_append_text(to, json_object_to_json_string_ext(
		    from, JSON_C_TO_STRING_PLAIN));
	}
	native_member(&w, "ProjectionExpression", sessions_shown);
	native_member(&w, "FilterExpression", sessions_filter);
	native_write_names(&w, sessions_shown, sessions_filter);
	(void)buffer_append_text(to, ",\"ExpressionAttributeValues\":{");
	native_value_text(&w, ":prefix", NATIVE_SESSION_PREFIX);
	native_value_number(&w, ":now", wall_ms / 1000);
	native_end(&w);
}

/* NULL: it is absent, or has another type. */
static const char *
sessions_text(struct json_object *item, const char *attribute,
    const char *type, size_t *ret_length)
{
	return json_string(json_find(json_find(item, attribute), type),
	    ret_length);
}

static bool
sessions_number(struct json_object *item, const char *attribute, uint64_t *ret)
{
	size_t length;
	const char *text = sessions_text(item, attribute, "N", &length);

	return text != NULL &&
	    json_read_number(text, length, SESSIONS_NUMBER_MAX, ret);
}

bool
native_read_listed(const struct dialect_table *table, struct json_object *item,
    uint64_t wall_ms, struct native_session *ret)
{
	const size_t n = sizeof(NATIVE_SESSION_PREFIX) - 1;
	const uint64_t ahead_s = wall_ms / 1000 + NATIVE_SESSION_TTL_S;
	size_t length, ignored;
	const char *name = sessions_text(item, table->key_attribute, "S",
	    &length);
	uint64_t ttl_s;

	*ret = (struct native_session){
		.contact = sessions_text(item, "contact", "S", &ignored),
		.host = sessions_text(item, "host", "S", &ignored),
	};
	if (name == NULL || length <= n ||
	    memcmp(name, NATIVE_SESSION_PREFIX, n) != 0 ||
	    !ident_parse(name + n, length - n, &ret->id) ||
	    !sessions_number(item, "lease_ms", &ret->lease_ms) ||
	    !sessions_number(item, native_ttl(table), &ttl_s))
		return false;
	if (ttl_s < ahead_s)
		ret->quiet_ms = (ahead_s - ttl_s) * 1000;
	if (ret->contact != NULL && strlen(ret->contact) > CONTACT_TEXT_MAX)
		ret->contact = NULL;
	return true;
}

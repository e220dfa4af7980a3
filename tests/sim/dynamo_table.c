/*
 * Tables: made at once, described, deleted, with a time to live or without.
 */
#include <stdlib.h>
#include <string.h>

#include "dynamo_state.h"

#define TABLE_NAME_MIN 3
#define TABLE_NAME_MAX 255

struct dynamo_table *
dynamo_table_find(struct dynamo *d, const char *name)
{
	struct dynamo_table *t = d->tables;

	while (t != NULL && strcmp(t->name, name) != 0)
		t = t->next;
	return t;
}

static void
dynamo_item_free(struct dynamo_item *i)
{
	json_object_put(i->tree);
	json_object_put(i->before);
}

void
dynamo_table_free(struct dynamo_table *t)
{
	for (size_t i = 0; i < t->n_items; i++)
		dynamo_item_free(&t->items[i]);
	free(t->items);
	for (size_t i = 0; i < t->n_parts; i++)
		free(t->parts[i].name);
	free(t->ttl_attribute);
	free(t->name);
	free(t);
}

bool
dynamo_table_check_name(struct dynamo_error *e, const char *name)
{
	size_t length = strlen(name);

	if (length < TABLE_NAME_MIN || length > TABLE_NAME_MAX ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-."
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != length)
		return dynamo_invalid(e, "1 validation error detected: Value "
		    "'%.100s' at 'tableName' failed to satisfy constraint: "
		    "Member must satisfy regular expression pattern: "
		    "[a-zA-Z0-9_.-]+ and have a length between 3 and 255",
		    name);
	return true;
}

bool
dynamo_table_name(struct dynamo_call *call, struct json_object *from,
    const char **ret)
{
	if (!dynamo_get_text(call, from, "TableName", ret))
		return false;
	if (*ret == NULL)
		return dynamo_invalid(&call->error, "The parameter "
		    "'TableName' is required but was not present in the "
		    "request");
	return dynamo_table_check_name(&call->error, *ret);
}

bool
dynamo_table_of(struct dynamo_call *call, const char *name,
    struct dynamo_table **ret)
{
	*ret = dynamo_table_find(call->dynamo, name);
	return *ret != NULL || dynamo_error_set(&call->error,
	    "ResourceNotFoundException", "Requested resource not found");
}

bool
dynamo_table_get(struct dynamo_call *call, struct json_object *from,
    struct dynamo_table **ret)
{
	const char *name;

	return dynamo_table_name(call, from, &name) &&
	    dynamo_table_of(call, name, ret);
}

/* ---- the definition of a table ---- */

static bool
dynamo_table_bad_schema(struct dynamo_call *call)
{
	return dynamo_invalid(&call->error, "One or more parameter values "
	    "were invalid: Some index key attributes are not defined in "
	    "AttributeDefinitions, or the KeySchema is not one of HASH, or "
	    "HASH and RANGE");
}

/* The type of the attribute, from the definitions; 0: not defined. */
static bool
dynamo_table_type(struct dynamo_call *call, struct json_object *definitions,
    const char *name, enum dynamo_type *ret)
{
	const char *attribute, *type;

	*ret = 0;
	for (size_t i = 0; i < json_object_array_length(definitions); i++) {
		struct json_object *o =
		    json_object_array_get_idx(definitions, i);

		if (!json_object_is_type(o, json_type_object))
			return dynamo_malformed(&call->error,
			    "Unexpected value type in payload");
		if (!dynamo_get_text(call, o, "AttributeName", &attribute) ||
		    !dynamo_get_text(call, o, "AttributeType", &type))
			return false;
		if (attribute != NULL && type != NULL &&
		    strcmp(attribute, name) == 0)
			*ret = dynamo_type_find(type);
	}
	return (*ret != 0 && (DYNAMO_IS(*ret) & DYNAMO_SCALAR) != 0) ||
	    dynamo_table_bad_schema(call);
}

/* The @i-th part of the key. */
static bool
dynamo_table_part(struct dynamo_call *call, struct json_object *schema,
    struct json_object *definitions, size_t i, struct dynamo_key_part *ret)
{
	struct json_object *o = json_object_array_get_idx(schema, i);
	const char *name, *kind;

	if (!json_object_is_type(o, json_type_object))
		return dynamo_malformed(&call->error,
		    "Unexpected value type in payload");
	if (!dynamo_get_text(call, o, "AttributeName", &name) ||
	    !dynamo_get_text(call, o, "KeyType", &kind))
		return false;
	if (name == NULL || name[0] == '\0' || strlen(name) > 255 ||
	    kind == NULL || strcmp(kind, i == 0 ? "HASH" : "RANGE") != 0)
		return dynamo_table_bad_schema(call);
	if (!dynamo_table_type(call, definitions, name, &ret->type))
		return false;
	ret->name = dynamo_need(strdup(name));
	return true;
}

static bool
dynamo_table_parts(struct dynamo_call *call, struct dynamo_table *t)
{
	struct json_object *schema, *definitions;
	size_t n;

	if (!dynamo_get_array(call, call->body, "KeySchema", &schema) ||
	    !dynamo_get_array(call, call->body, "AttributeDefinitions",
	    &definitions))
		return false;
	n = schema == NULL ? 0 : json_object_array_length(schema);
	if (n < 1 || n > 2 || definitions == NULL ||
	    json_object_array_length(definitions) != n)
		return dynamo_table_bad_schema(call);
	for (size_t i = 0; i < n; i++) {
		if (!dynamo_table_part(call, schema, definitions, i,
		    &t->parts[i]))
			return false;
		t->n_parts++;
	}
	return n == 1 || strcmp(t->parts[0].name, t->parts[1].name) != 0 ||
	    dynamo_table_bad_schema(call);
}

static bool
dynamo_table_billing(struct dynamo_call *call, struct dynamo_table *t)
{
	static const char *const words[] = { "PROVISIONED",
	    "PAY_PER_REQUEST", NULL };
	struct json_object *capacity;
	size_t word;

	if (!dynamo_get_word(call, call->body, "BillingMode", words, &word) ||
	    !dynamo_get_object(call, call->body, "ProvisionedThroughput",
	    &capacity))
		return false;
	t->on_demand = word == 1;
	return t->on_demand == (capacity == NULL) ||
	    dynamo_invalid(&call->error, "One or more parameter values were "
	    "invalid: ReadCapacityUnits and WriteCapacityUnits must %s",
	    t->on_demand ? "not be specified when BillingMode is "
	    "PAY_PER_REQUEST" : "both be specified when BillingMode is "
	    "PROVISIONED");
}

static void
dynamo_table_write_part(struct buffer *to, const struct dynamo_key_part *p,
    const char *what, const char *value)
{
	(void)buffer_append_text(to, "{\"AttributeName\":");
	dynamo_write_text(to, p->name, strlen(p->name));
	(void)buffer_printf(to, ",\"%s\":\"%s\"}", what, value);
}

static void
dynamo_table_write(struct buffer *to, const struct dynamo_table *t,
    const char *member, const char *status)
{
	size_t bytes = 0;

	for (size_t i = 0; i < t->n_items; i++)
		bytes += dynamo_place_item_bytes(&t->items[i]);
	(void)buffer_printf(to, "{\"%s\":{\"TableName\":\"%s\",\"TableArn\":"
	    "\"arn:aws:dynamodb:us-east-1:000000000000:table/%s\","
	    "\"TableStatus\":\"%s\",\"CreationDateTime\":%llu.%03u,"
	    "\"ItemCount\":%zu,\"TableSizeBytes\":%zu,", member, t->name,
	    t->name, status, (unsigned long long)(t->created_ms / 1000),
	    (unsigned)(t->created_ms % 1000), t->n_items, bytes);
	if (t->on_demand)
		(void)buffer_append_text(to, "\"BillingModeSummary\":"
		    "{\"BillingMode\":\"PAY_PER_REQUEST\"},");
	(void)buffer_append_text(to, "\"AttributeDefinitions\":[");
	for (size_t i = 0; i < t->n_parts; i++) {
		(void)buffer_append_text(to, i > 0 ? "," : "");
		dynamo_table_write_part(to, &t->parts[i], "AttributeType",
		    dynamo_type_name(t->parts[i].type));
	}
	(void)buffer_append_text(to, "],\"KeySchema\":[");
	for (size_t i = 0; i < t->n_parts; i++) {
		(void)buffer_append_text(to, i > 0 ? "," : "");
		dynamo_table_write_part(to, &t->parts[i], "KeyType",
		    i == 0 ? "HASH" : "RANGE");
	}
	(void)buffer_append_text(to, "]}}");
}

bool
dynamo_create_table(struct dynamo_call *call)
{
	struct dynamo_table *t;
	const char *name;

	if (!dynamo_table_name(call, call->body, &name))
		return false;
	t = dynamo_need(calloc(1, sizeof(*t)));
	t->name = dynamo_need(strdup(name));
	t->created_ms = call->wall_ms;
	if (!dynamo_table_parts(call, t) || !dynamo_table_billing(call, t)) {
		dynamo_table_free(t);
		return false;
	}
	if (dynamo_table_find(call->dynamo, name) != NULL) {
		dynamo_table_free(t);
		return dynamo_error_set(&call->error,
		    "ResourceInUseException", "Table already exists: %s",
		    name);
	}
	t->next = call->dynamo->tables;
	call->dynamo->tables = t;
	dynamo_table_write(call->to, t, "TableDescription", "ACTIVE");
	return true;
}

bool
dynamo_describe_table(struct dynamo_call *call)
{
	struct dynamo_table *t;

	if (!dynamo_table_get(call, call->body, &t))
		return false;
	dynamo_table_write(call->to, t, "Table", "ACTIVE");
	return true;
}

bool
dynamo_delete_table(struct dynamo_call *call)
{
	struct dynamo_table **at = &call->dynamo->tables;
	struct dynamo_table *t;

	if (!dynamo_table_get(call, call->body, &t))
		return false;
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	dynamo_table_write(call->to, t, "TableDescription", "DELETING");
	dynamo_table_free(t);
	return true;
}

/* ---- time to live ---- */

bool
dynamo_update_ttl(struct dynamo_call *call)
{
	struct json_object *s;
	struct dynamo_table *t;
	const char *attribute, *name;
	bool enabled = false;

	if (!dynamo_table_name(call, call->body, &name) ||
	    !dynamo_get_object(call, call->body, "TimeToLiveSpecification",
	    &s))
		return false;
	if (s == NULL)
		return dynamo_invalid(&call->error, "1 validation error "
		    "detected: Value null at 'timeToLiveSpecification' failed "
		    "to satisfy constraint: Member must not be null");
	if (!dynamo_get_bool(call, s, "Enabled", &enabled) ||
	    !dynamo_get_text(call, s, "AttributeName", &attribute))
		return false;
	if (attribute == NULL || attribute[0] == '\0' ||
	    strlen(attribute) > 255)
		return dynamo_invalid(&call->error, "1 validation error "
		    "detected: Value at 'timeToLiveSpecification."
		    "attributeName' failed to satisfy constraint");
	if (!dynamo_table_of(call, name, &t))
		return false;
	if (enabled == (t->ttl_attribute != NULL))
		return dynamo_invalid(&call->error, "TimeToLive is already "
		    "%s", enabled ? "enabled" : "disabled");
	if (!enabled && strcmp(t->ttl_attribute, attribute) != 0)
		return dynamo_invalid(&call->error, "TimeToLive is active on "
		    "a different AttributeName: current AttributeName is %s",
		    t->ttl_attribute);
	free(t->ttl_attribute);
	t->ttl_attribute = enabled ? dynamo_need(strdup(attribute)) : NULL;
	(void)buffer_append_text(call->to, "{\"TimeToLiveSpecification\":");
	dynamo_write_json(call->to, s);
	(void)buffer_append_text(call->to, "}");
	return true;
}

bool
dynamo_describe_ttl(struct dynamo_call *call)
{
	struct dynamo_table *t;

	if (!dynamo_table_get(call, call->body, &t))
		return false;
	(void)buffer_printf(call->to, "{\"TimeToLiveDescription\":"
	    "{\"TimeToLiveStatus\":\"%sABLED\"", t->ttl_attribute != NULL ?
	    "EN" : "DIS");
	if (t->ttl_attribute != NULL) {
		(void)buffer_append_text(call->to, ",\"AttributeName\":");
		dynamo_write_text(call->to, t->ttl_attribute,
		    strlen(t->ttl_attribute));
	}
	(void)buffer_append_text(call->to, "}}");
	return true;
}

/*
 * GetItem and BatchGetItem. A read is consistent if it asks for that; otherwise
 * it may show an older state of the item.
 */
#include <string.h>

#include "dynamo_state.h"

/* A projection, if any, of an item; NULL: there is no item. */
static struct json_object *
dynamo_read_show(struct dynamo_call *call, const struct dynamo_scope *s,
    const struct dynamo_branch *root, struct json_object *item)
{
	struct json_object *shown;

	if (item == NULL || s->projection.x == NULL)
		return item;
	shown = dynamo_document_project(root, item);
	return dynamo_call_keep(call, shown != NULL ? shown :
	    dynamo_need(json_object_new_object()));
}

static bool
dynamo_read_scope(struct dynamo_call *call, struct json_object *from,
    struct dynamo_scope *s, struct dynamo_branch *root)
{
	if (!dynamo_scope_init(s, call, from, false) ||
	    !dynamo_scope_bind(s, from, DYNAMO_PROJECTION))
		return false;
	if (json_object_object_get(from, "AttributesToGet") != NULL)
		return dynamo_invalid(&call->error, "The model knows no "
		    "legacy parameters: AttributesToGet");
	return dynamo_scope_finish(s) && (s->projection.x == NULL ||
	    dynamo_document_plant(call, &s->projection, root));
}

static struct json_object *
dynamo_read_seen(const struct dynamo_call *call, const struct dynamo_place *p,
    bool consistent)
{
	const struct dynamo_item *i;

	if (consistent || p->item == NULL)
		return p->item;
	i = &p->table->items[p->index];
	return i->changed_ms + call->dynamo->lag_ms > call->wall_ms ?
	    i->before : i->tree;
}

bool
dynamo_get_item(struct dynamo_call *call)
{
	struct dynamo_branch root = { 0 };
	struct dynamo_scope scope;
	struct dynamo_place place;
	struct dynamo_table *t;
	struct json_object *key, *item;
	const char *table;
	bool capacity;
	bool consistent = false;

	if (!dynamo_table_name(call, call->body, &table) ||
	    !dynamo_get_object(call, call->body, "Key", &key) ||
	    !dynamo_get_bool(call, call->body, "ConsistentRead",
	    &consistent) || !dynamo_check_capacity(call, &capacity))
		return false;
	if (key == NULL)
		return dynamo_invalid(&call->error, "1 validation error "
		    "detected: Value null at 'key' failed to satisfy "
		    "constraint: Member must not be null");
	if (!dynamo_value_check_all(key, &call->error) ||
	    !dynamo_read_scope(call, call->body, &scope, &root) ||
	    !dynamo_table_of(call, table, &t) ||
	    !dynamo_place_find(t, key, true, &place, &call->error) ||
	    !dynamo_capacity_has(call, &place, false))
		return false;
	dynamo_capacity_read(call, &place, consistent);
	item = dynamo_read_show(call, &scope, &root,
	    dynamo_read_seen(call, &place, consistent));
	(void)buffer_append_text(call->to, "{");
	if (item != NULL) {
		(void)buffer_append_text(call->to, "\"Item\":");
		dynamo_write_json(call->to, item);
	}
	if (capacity) {
		(void)buffer_append_text(call->to, item != NULL ? "," : "");
		dynamo_write_capacity(call->to, table, 1);
	}
	(void)buffer_append_text(call->to, "}");
	return true;
}

/* ---- BatchGetItem ---- */

/* The keys requested of one table. */
struct dynamo_batch {
	const char *name;
	struct json_object *from;
	struct json_object *keys;
	struct dynamo_place *places;
	struct dynamo_scope scope;
	struct dynamo_branch root;
	bool consistent;
	size_t n_done;
};

static bool
dynamo_batch_plan(struct dynamo_call *call, struct dynamo_batch *b)
{
	size_t n;

	b->consistent = false;
	if (!dynamo_table_check_name(&call->error, b->name) ||
	    !dynamo_get_array(call, b->from, "Keys", &b->keys) ||
	    !dynamo_get_bool(call, b->from, "ConsistentRead",
	    &b->consistent))
		return false;
	n = b->keys == NULL ? 0 : json_object_array_length(b->keys);
	if (n == 0)
		return dynamo_invalid(&call->error, "1 validation error "
		    "detected: Value at 'requestItems.%s.member.keys' failed "
		    "to satisfy constraint: Member must have length greater "
		    "than or equal to 1", b->name);
	for (size_t i = 0; i < n; i++) {
		struct json_object *key =
		    json_object_array_get_idx(b->keys, i);

		if (!json_object_is_type(key, json_type_object))
			return dynamo_malformed(&call->error,
			    "Unexpected value type in payload");
		if (!dynamo_value_check_all(key, &call->error))
			return false;
	}
	b->places = dynamo_call_alloc(call, n * sizeof(*b->places));
	return dynamo_read_scope(call, b->from, &b->scope, &b->root);
}

static bool
dynamo_batch_locate(struct dynamo_call *call, struct dynamo_batch *b)
{
	struct dynamo_table *t;

	if (!dynamo_table_of(call, b->name, &t))
		return false;
	for (size_t i = 0; i < json_object_array_length(b->keys); i++) {
		if (!dynamo_place_find(t, json_object_array_get_idx(b->keys,
		    i), true, &b->places[i], &call->error))
			return false;
		for (size_t j = 0; j < i; j++) {
			if (dynamo_place_same(&b->places[i], &b->places[j]))
				return dynamo_invalid(&call->error, "Provided "
				    "list of item keys contains duplicates");
		}
	}
	return true;
}

/* The answer's part about one table; @left keys and @room bytes remain. */
static void
dynamo_batch_answer(struct dynamo_call *call, struct dynamo_batch *b,
    size_t *left, size_t *room)
{
	const char *comma = "";

	dynamo_write_text(call->to, b->name, strlen(b->name));
	(void)buffer_append_text(call->to, ":[");
	while (b->n_done < json_object_array_length(b->keys) && *left > 0) {
		struct json_object *item = dynamo_read_seen(call,
		    &b->places[b->n_done], b->consistent);
		size_t bytes = item == NULL ? 0 : dynamo_item_bytes(item);

		if (bytes > *room) {
			*left = 0;
			break;
		}
		if (!dynamo_capacity_has(call, &b->places[b->n_done], false)) {
			*left = 0;
			break;
		}
		dynamo_capacity_read(call, &b->places[b->n_done],
		    b->consistent);
		*room -= bytes;
		(*left)--;
		b->n_done++;
		item = dynamo_read_show(call, &b->scope, &b->root, item);
		if (item == NULL)
			continue;
		(void)buffer_append_text(call->to, comma);
		dynamo_write_json(call->to, item);
		comma = ",";
	}
	(void)buffer_append_text(call->to, "]");
}

/* As it was requested, with the remaining keys. */
static void
dynamo_batch_unprocessed(struct dynamo_call *call,
    const struct dynamo_batch *b)
{
	const char *comma = "{\"Keys\":[";

	dynamo_write_text(call->to, b->name, strlen(b->name));
	(void)buffer_append_text(call->to, ":");
	for (size_t i = b->n_done; i < json_object_array_length(b->keys);
	    i++) {
		(void)buffer_append_text(call->to, comma);
		dynamo_write_json(call->to,
		    json_object_array_get_idx(b->keys, i));
		comma = ",";
	}
	(void)buffer_append_text(call->to, "]");
	json_object_object_foreach(b->from, name, member) {
		if (strcmp(name, "Keys") == 0 || member == NULL)
			continue;
		(void)buffer_append_text(call->to, ",");
		dynamo_write_text(call->to, name, strlen(name));
		(void)buffer_append_text(call->to, ":");
		dynamo_write_json(call->to, member);
	}
	(void)buffer_append_text(call->to, "}");
}

static bool
dynamo_batch_answer_all(struct dynamo_call *call, struct dynamo_batch *b,
    size_t n, size_t left, bool capacity)
{
	static const struct dynamo_error none = { 0 };
	size_t room = DYNAMO_BATCH_BYTES_MAX;
	size_t n_done = 0;
	const char *comma = "";

	(void)buffer_append_text(call->to, "{\"Responses\":{");
	for (size_t i = 0; i < n; i++) {
		(void)buffer_append_text(call->to, i > 0 ? "," : "");
		dynamo_batch_answer(call, &b[i], &left, &room);
		n_done += b[i].n_done;
	}
	/* Only if nothing was read is the request itself throttled. */
	if (n_done == 0 && call->error.throttled != NULL)
		return false;
	call->error = none;
	(void)buffer_append_text(call->to, "},\"UnprocessedKeys\":{");
	for (size_t i = 0; i < n; i++) {
		if (b[i].n_done == json_object_array_length(b[i].keys))
			continue;
		(void)buffer_append_text(call->to, comma);
		dynamo_batch_unprocessed(call, &b[i]);
		comma = ",";
	}
	(void)buffer_append_text(call->to, "}");
	for (size_t i = 0; capacity && i < n; i++) {
		(void)buffer_append_text(call->to, i == 0 ?
		    ",\"ConsumedCapacity\":[{\"TableName\":" :
		    ",{\"TableName\":");
		dynamo_write_text(call->to, b[i].name, strlen(b[i].name));
		(void)buffer_printf(call->to, ",\"CapacityUnits\":%zu.0}",
		    b[i].n_done);
	}
	(void)buffer_append_text(call->to, capacity ? "]}" : "}");
	return true;
}

bool
dynamo_batch_get_item(struct dynamo_call *call)
{
	struct json_object *tables;
	struct dynamo_batch *b;
	size_t skipped = call->dynamo->n_unprocessed;
	size_t n_keys = 0;
	size_t n = 0;
	bool capacity;

	if (!dynamo_get_object(call, call->body, "RequestItems", &tables) ||
	    !dynamo_check_capacity(call, &capacity))
		return false;
	if (tables == NULL || json_object_object_length(tables) == 0)
		return dynamo_invalid(&call->error, "1 validation error "
		    "detected: Value at 'requestItems' failed to satisfy "
		    "constraint: Member must have length greater than or "
		    "equal to 1");
	b = dynamo_call_alloc(call,
	    (size_t)json_object_object_length(tables) * sizeof(*b));
	json_object_object_foreach(tables, name, from) {
		if (!json_object_is_type(from, json_type_object))
			return dynamo_malformed(&call->error,
			    "Unexpected value type in payload");
		b[n].name = name;
		b[n].from = from;
		if (!dynamo_batch_plan(call, &b[n]))
			return false;
		n_keys += json_object_array_length(b[n++].keys);
	}
	if (n_keys > DYNAMO_BATCH_MAX)
		return dynamo_invalid(&call->error, "Too many items requested "
		    "for the BatchGetItem call");
	for (size_t i = 0; i < n; i++) {
		if (!dynamo_batch_locate(call, &b[i]))
			return false;
	}
	call->dynamo->n_unprocessed = 0;
	return dynamo_batch_answer_all(call, b, n, skipped < n_keys ?
	    n_keys - skipped : 0, capacity);
}

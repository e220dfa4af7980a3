/*
 * PutItem, UpdateItem and DeleteItem. Each is planned (the part without the
 * table), located, prepared (the condition, the new item) and committed; a
 * transaction does so with several writes at once.
 */
#include <string.h>

#include "dynamo_state.h"

enum dynamo_return {
	RETURN_NONE,
	RETURN_ALL_OLD,
	RETURN_UPDATED_OLD,
	RETURN_ALL_NEW,
	RETURN_UPDATED_NEW,
};

/* The service has replaced these; the model does not have them. */
static bool
dynamo_write_refuse_legacy(struct dynamo_call *call, struct json_object *from)
{
	static const char *const names[] = { "Expected",
	    "ConditionalOperator", "AttributeUpdates" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (json_object_object_get(from, names[i]) != NULL)
			return dynamo_invalid(&call->error, "The model knows "
			    "no legacy parameters: %s", names[i]);
	}
	return true;
}

/* The new item, or the key. */
static bool
dynamo_write_object_of(struct dynamo_call *call, struct dynamo_write *w,
    struct json_object **ret)
{
	const char *name = w->kind == DYNAMO_PUT ? "Item" : "Key";

	if (!dynamo_get_object(call, w->from, name, ret))
		return false;
	if (*ret == NULL)
		return dynamo_invalid(&call->error, "1 validation error "
		    "detected: Value null at '%s' failed to satisfy "
		    "constraint: Member must not be null", name);
	json_object_object_foreach(*ret, attribute, value) {
		(void)value;
		if (attribute[0] == '\0')
			return dynamo_invalid(&call->error, "One or more "
			    "parameter values were invalid: An AttributeName "
			    "may not contain an empty string");
	}
	return dynamo_value_check_all(*ret, &call->error);
}

/* Is it small and flat enough? The item itself is the first level. */
static bool
dynamo_write_check_item(struct dynamo_call *call, struct json_object *item,
    const char *too_big, size_t *ret_bytes)
{
	json_object_object_foreach(item, name, value) {
		(void)name;
		if (dynamo_value_depth(value) >= DYNAMO_DEPTH_MAX)
			return dynamo_invalid(&call->error, "Nesting Levels "
			    "have exceeded supported limits");
	}
	*ret_bytes = dynamo_item_bytes(item);
	return *ret_bytes <= DYNAMO_ITEM_MAX ||
	    dynamo_invalid(&call->error, "%s", too_big);
}

bool
dynamo_write_plan(struct dynamo_call *call, struct dynamo_write *w)
{
	static const char *const words[] = { "NONE", "ALL_OLD", NULL };
	struct dynamo_scope *s = &w->scope;
	size_t word;

	if (!dynamo_table_name(call, w->from, &w->table) ||
	    !dynamo_write_refuse_legacy(call, w->from) ||
	    !dynamo_write_object_of(call, w, &w->object) ||
	    !dynamo_get_word(call, w->from,
	    "ReturnValuesOnConditionCheckFailure", words, &word) ||
	    !dynamo_scope_init(s, call, w->from, true) ||
	    !dynamo_scope_bind(s, w->from, DYNAMO_CONDITION) ||
	    (w->kind == DYNAMO_UPDATE_ITEM &&
	    !dynamo_scope_bind(s, w->from, DYNAMO_UPDATE)) ||
	    !dynamo_scope_finish(s))
		return false;
	w->on_failure_old = word == 1;
	if (w->kind == DYNAMO_PUT && !dynamo_write_check_item(call, w->object,
	    "Item size has exceeded the maximum allowed size", &w->bytes))
		return false;
	return s->update.x == NULL ||
	    dynamo_document_plant(call, &s->update, &w->root);
}

bool
dynamo_write_locate(struct dynamo_call *call, struct dynamo_write *w)
{
	struct dynamo_table *t;

	return dynamo_table_of(call, w->table, &t) &&
	    dynamo_place_find(t, w->object, w->kind != DYNAMO_PUT, &w->place,
	    &call->error) &&
	    dynamo_update_spares_key(t, &w->root, &call->error);
}

/* Does it only take away, from an item that is not there? */
static bool
dynamo_write_is_idle(const struct dynamo_write *w)
{
	const struct dynamo_node *n = w->scope.update.x == NULL ? NULL :
	    w->scope.update.x->root;

	if (w->place.item != NULL || n == NULL)
		return false;
	while (n != NULL && (n->kind == DYNAMO_NODE_REMOVE ||
	    n->kind == DYNAMO_NODE_DELETE))
		n = n->next;
	return n == NULL;
}

static bool
dynamo_write_prepare_update(struct dynamo_call *call, struct dynamo_write *w)
{
	struct json_object *item = w->place.item;

	if (item == NULL)
		item = dynamo_call_keep(call,
		    dynamo_place_key(w->place.table, w->object));
	if (!dynamo_update_apply(call, &w->scope.update, &w->root, item,
	    &w->after))
		return false;
	(void)dynamo_call_keep(call, w->after);
	if (!dynamo_write_check_item(call, w->after, "Item size to update has "
	    "exceeded the maximum allowed size", &w->bytes))
		return false;
	if (dynamo_write_is_idle(w))
		w->after = NULL;
	return true;
}

bool
dynamo_write_prepare(struct dynamo_call *call, struct dynamo_write *w)
{
	struct json_object *before = w->place.item;

	if (before != NULL)
		w->before = dynamo_call_keep(call, json_object_get(before));
	if (call->dynamo->refuses ||
	    !dynamo_condition_holds(call, &w->scope.condition, before)) {
		if (w->on_failure_old)
			call->error.item = w->before;
		return dynamo_error_set(&call->error,
		    "ConditionalCheckFailedException",
		    "The conditional request failed");
	}
	if (w->kind == DYNAMO_UPDATE_ITEM)
		return dynamo_write_prepare_update(call, w);
	w->after = w->kind == DYNAMO_PUT ? w->object :
	    w->kind == DYNAMO_CHECK ? w->before : NULL;
	return true;
}

void
dynamo_write_commit(struct dynamo_call *call, struct dynamo_write *w)
{
	if (w->kind != DYNAMO_CHECK)
		dynamo_place_write(call->dynamo, &w->place,
		    json_object_get(w->after), w->bytes, false);
}

/* ---- alone ---- */

static struct json_object *
dynamo_write_attributes(struct dynamo_call *call, const struct dynamo_write *w,
    enum dynamo_return what)
{
	struct json_object *shown;

	switch (what) {
	case RETURN_ALL_OLD:
		return w->before;
	case RETURN_ALL_NEW:
		return w->after;
	case RETURN_UPDATED_OLD:
	case RETURN_UPDATED_NEW:
		shown = dynamo_document_project(&w->root,
		    what == RETURN_UPDATED_OLD ? w->before : w->after);
		return dynamo_call_keep(call, shown);
	case RETURN_NONE:
		break;
	}
	return NULL;
}

static bool
dynamo_write_alone(struct dynamo_call *call, enum dynamo_write_kind kind)
{
	static const char *const words[] = { "NONE", "ALL_OLD",
	    "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW", NULL };
	struct dynamo_write w = { .kind = kind, .from = call->body };
	struct json_object *attributes;
	bool capacity, done;
	size_t what;

	if (!dynamo_get_word(call, call->body, "ReturnValues", words, &what) ||
	    !dynamo_check_capacity(call, &capacity))
		return false;
	if (kind != DYNAMO_UPDATE_ITEM && what > RETURN_ALL_OLD)
		return dynamo_invalid(&call->error,
		    "Return values set to invalid value");
	if (!dynamo_write_plan(call, &w) || !dynamo_write_locate(call, &w) ||
	    !dynamo_capacity_has(call, &w.place, true))
		return false;
	done = dynamo_write_prepare(call, &w);
	dynamo_capacity_write(call, &w, 1);
	if (!done)
		return false;
	dynamo_write_commit(call, &w);
	attributes = dynamo_write_attributes(call, &w,
	    (enum dynamo_return)what);
	(void)buffer_append_text(call->to, "{");
	if (attributes != NULL) {
		(void)buffer_append_text(call->to, "\"Attributes\":");
		dynamo_write_json(call->to, attributes);
	}
	if (capacity) {
		(void)buffer_append_text(call->to,
		    attributes != NULL ? "," : "");
		dynamo_write_capacity(call->to, w.table, 1);
	}
	(void)buffer_append_text(call->to, "}");
	return true;
}

bool
dynamo_put_item(struct dynamo_call *call)
{
	return dynamo_write_alone(call, DYNAMO_PUT);
}

bool
dynamo_update_item(struct dynamo_call *call)
{
	return dynamo_write_alone(call, DYNAMO_UPDATE_ITEM);
}

bool
dynamo_delete_item(struct dynamo_call *call)
{
	return dynamo_write_alone(call, DYNAMO_DELETE_ITEM);
}

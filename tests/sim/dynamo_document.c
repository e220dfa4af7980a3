/*
 * Several document paths as one tree, whose leaves are the ends of the paths.
 * An update and a projection are both a walk of that tree beside the item's.
 */
#include <string.h>

#include "dynamo_state.h"

static bool
dynamo_document_is(const struct dynamo_branch *b, const char *name,
    uint32_t index)
{
	if (name == NULL || b->name == NULL)
		return name == b->name && b->index == index;
	return strcmp(b->name, name) == 0;
}

/* The child of that name or index, made if need be; indexes are in order. */
static struct dynamo_branch *
dynamo_document_child(struct dynamo_call *call, struct dynamo_branch *parent,
    const char *name, uint32_t index)
{
	struct dynamo_branch **at = &parent->first;
	struct dynamo_branch *b;

	for (b = parent->first; b != NULL; b = b->next) {
		if (dynamo_document_is(b, name, index))
			return b;
	}
	while (*at != NULL && (name != NULL || (*at)->index < index))
		at = &(*at)->next;
	b = dynamo_call_alloc(call, sizeof(*b));
	b->name = name;
	b->index = index;
	b->next = *at;
	*at = b;
	return b;
}

/* @leaf is the owner of the path. */
static bool
dynamo_document_add(struct dynamo_call *call, const struct dynamo_bound *b,
    struct dynamo_branch *root, const struct dynamo_node *path,
    const struct dynamo_node *leaf)
{
	struct dynamo_branch *branch = root;
	const char *how = NULL;

	for (const struct dynamo_step *s = path->steps; s != NULL;
	    s = s->next) {
		const char *name = s->kind == DYNAMO_STEP_NAME ? s->name :
		    s->kind == DYNAMO_STEP_ALIAS ? b->names[s->number] : NULL;

		if (branch->leaf != NULL)
			how = "overlap";
		else if (branch->first != NULL &&
		    (branch->first->name == NULL) != (name == NULL))
			how = "conflict";
		if (how != NULL)
			break;
		branch = dynamo_document_child(call, branch, name,
		    name == NULL ? s->number : 0);
	}
	if (how == NULL && (branch->leaf != NULL || branch->first != NULL))
		how = "overlap";
	branch->leaf = leaf;
	return how == NULL || dynamo_invalid(&call->error, "Invalid %s: Two "
	    "document paths %s with each other; must remove or rewrite one of "
	    "these paths; path: [%.100s]", dynamo_expression_name(b->x->kind),
	    how, path->steps->kind == DYNAMO_STEP_NAME ? path->steps->name :
	    b->names[path->steps->number]);
}

bool
dynamo_document_plant(struct dynamo_call *call, const struct dynamo_bound *b,
    struct dynamo_branch *root)
{
	for (const struct dynamo_node *n = b->x->root; n != NULL;
	    n = n->next) {
		if (!dynamo_document_add(call, b, root,
		    b->x->kind == DYNAMO_UPDATE ? n->first : n, n))
			return false;
	}
	return true;
}

/* ---- changes ---- */

static bool dynamo_document_change(struct dynamo_branch *b,
    struct json_object *value, struct json_object **ret,
    struct dynamo_error *e);

static struct dynamo_branch *
dynamo_document_find(const struct dynamo_branch *parent, const char *name)
{
	for (struct dynamo_branch *b = parent->first; b != NULL; b = b->next) {
		if (!b->met && strcmp(b->name, name) == 0)
			return b;
	}
	return NULL;
}

/* The members of an item or a map, those of the tree changed. */
static bool
dynamo_document_change_members(const struct dynamo_branch *parent,
    struct json_object *members, struct json_object **ret,
    struct dynamo_error *e)
{
	struct json_object *after = dynamo_need(json_object_new_object());
	struct json_object *changed;

	json_object_object_foreach(members, name, value) {
		struct dynamo_branch *b = dynamo_document_find(parent, name);

		changed = NULL;
		if (b == NULL)
			changed = json_object_get(value);
		else if (!dynamo_document_change(b, value, &changed, e))
			goto fail;
		if (changed != NULL)
			dynamo_add_new(after, name, changed);
	}
	for (struct dynamo_branch *b = parent->first; b != NULL; b = b->next) {
		if (b->met)
			continue;
		if (!dynamo_document_change(b, NULL, &changed, e))
			goto fail;
		if (changed != NULL)
			dynamo_add_new(after, b->name, changed);
	}
	*ret = after;
	return true;
fail:
	json_object_put(after);
	return false;
}

static bool
dynamo_document_change_elements(const struct dynamo_branch *parent,
    struct json_object *list, struct json_object **ret, struct dynamo_error *e)
{
	struct json_object *after = dynamo_need(json_object_new_array());
	struct dynamo_branch *b = parent->first;
	size_t n = json_object_array_length(list);

	/* Elements beyond the end follow in their order. */
	for (size_t i = 0; i < n || b != NULL; i++) {
		struct json_object *changed = NULL;
		struct json_object *value = i < n ?
		    json_object_array_get_idx(list, i) : NULL;

		if (b == NULL || (i < n && b->index != i)) {
			changed = json_object_get(value);
		} else if (!dynamo_document_change(b, value, &changed, e)) {
			json_object_put(after);
			return false;
		} else {
			b = b->next;
		}
		if (changed != NULL)
			(void)json_object_array_add(after, changed);
	}
	*ret = after;
	return true;
}

/* @value: the present value; NULL: none. */
static bool
dynamo_document_change(struct dynamo_branch *b, struct json_object *value,
    struct json_object **ret, struct dynamo_error *e)
{
	enum dynamo_type type = b->first == NULL || b->first->name != NULL ?
	    DYNAMO_M : DYNAMO_L;
	struct json_object *content;

	b->met = true;
	if (b->leaf != NULL) {
		*ret = json_object_get(b->result);
		return true;
	}
	if (value == NULL || dynamo_value_type(value) != type)
		return dynamo_invalid(e, "The document path provided in the "
		    "update expression is invalid for update");
	content = dynamo_value_content(value);
	if (!(type == DYNAMO_M ?
	    dynamo_document_change_members(b, content, &content, e) :
	    dynamo_document_change_elements(b, content, &content, e)))
		return false;
	*ret = dynamo_value_new(type, content);
	return true;
}

bool
dynamo_document_apply(const struct dynamo_branch *root,
    struct json_object *item, struct json_object **ret, struct dynamo_error *e)
{
	return dynamo_document_change_members(root, item, ret, e);
}

/* ---- projections ---- */

static struct json_object *
dynamo_document_show(const struct dynamo_branch *b, struct json_object *value)
{
	enum dynamo_type type;
	struct json_object *content, *shown;
	struct json_object *list = NULL;

	if (b->leaf != NULL)
		return json_object_get(value);
	type = dynamo_value_type(value);
	content = dynamo_value_content(value);
	if (type != (b->first->name != NULL ? DYNAMO_M : DYNAMO_L))
		return NULL;
	if (type == DYNAMO_M) {
		shown = dynamo_document_project(b, content);
		return shown == NULL ? NULL : dynamo_value_new(type, shown);
	}
	for (b = b->first; b != NULL; b = b->next) {
		value = json_object_array_get_idx(content, b->index);
		shown = value == NULL ? NULL : dynamo_document_show(b, value);
		if (shown == NULL)
			continue;
		if (list == NULL)
			list = dynamo_need(json_object_new_array());
		(void)json_object_array_add(list, shown);
	}
	return list == NULL ? NULL : dynamo_value_new(type, list);
}

struct json_object *
dynamo_document_project(const struct dynamo_branch *root,
    struct json_object *item)
{
	struct json_object *found = NULL;
	struct json_object *value, *shown;

	for (const struct dynamo_branch *b = root->first; b != NULL;
	    b = b->next) {
		if (item == NULL ||
		    !json_object_object_get_ex(item, b->name, &value))
			continue;
		shown = dynamo_document_show(b, value);
		if (shown == NULL)
			continue;
		if (found == NULL)
			found = dynamo_need(json_object_new_object());
		dynamo_add_new(found, b->name, shown);
	}
	return found;
}

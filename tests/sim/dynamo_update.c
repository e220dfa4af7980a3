/*
 * Updates: each action's result is made from the item as it was, then all of
 * them are put in their places at once.
 */
#include <string.h>

#include "dynamo_state.h"

struct dynamo_worker {
	struct dynamo_call *call;
	const struct dynamo_bound *bound;
	struct json_object *item;
};

static bool
dynamo_update_wrong_type(struct dynamo_error *e)
{
	return dynamo_invalid(e, "An operand in the update expression has an "
	    "incorrect data type");
}

static bool dynamo_update_value(const struct dynamo_worker *w,
    const struct dynamo_node *n, struct json_object **ret);

/* @a + @b, or @a - @b; both must be numbers. */
static bool
dynamo_update_sum(const struct dynamo_worker *w, struct json_object *a,
    struct json_object *b, bool minus, struct json_object **ret)
{
	enum dynamo_number_error error;
	struct dynamo_number m, n, sum;

	if (dynamo_value_type(a) != DYNAMO_N ||
	    dynamo_value_type(b) != DYNAMO_N)
		return dynamo_update_wrong_type(&w->call->error);
	dynamo_value_number(a, &m);
	dynamo_value_number(b, &n);
	n.negative = minus && n.n > 0 ? !n.negative : n.negative;
	error = dynamo_number_add(&m, &n, &sum);
	if (error != DYNAMO_NUMBER_OK)
		return dynamo_number_invalid(&w->call->error, error);
	*ret = dynamo_call_keep(w->call, dynamo_value_new_number(&sum));
	return true;
}

static bool
dynamo_update_append(const struct dynamo_worker *w, struct json_object *a,
    struct json_object *b, struct json_object **ret)
{
	struct json_object *lists[] = { a, b };
	struct json_object *all;

	if (dynamo_value_type(a) != DYNAMO_L ||
	    dynamo_value_type(b) != DYNAMO_L)
		return dynamo_update_wrong_type(&w->call->error);
	all = dynamo_need(json_object_new_array());
	for (size_t i = 0; i < 2; i++) {
		struct json_object *list = dynamo_value_content(lists[i]);

		for (size_t j = 0; j < json_object_array_length(list); j++)
			(void)json_object_array_add(all, json_object_get(
			    json_object_array_get_idx(list, j)));
	}
	*ret = dynamo_call_keep(w->call, dynamo_value_new(DYNAMO_L, all));
	return true;
}

static bool
dynamo_update_two(const struct dynamo_worker *w, const struct dynamo_node *n,
    struct json_object **ret)
{
	struct json_object *a, *b;

	if (!dynamo_update_value(w, n->first, &a) ||
	    !dynamo_update_value(w, n->first->next, &b))
		return false;
	if (n->kind == DYNAMO_NODE_CALL)
		return dynamo_update_append(w, a, b, ret);
	return dynamo_update_sum(w, a, b, n->kind == DYNAMO_NODE_MINUS, ret);
}

/* The value to the right of "="; borrowed. */
static bool
dynamo_update_value(const struct dynamo_worker *w,
    const struct dynamo_node *n, struct json_object **ret)
{
	struct json_object *old;

	if (n->kind == DYNAMO_NODE_PLUS || n->kind == DYNAMO_NODE_MINUS ||
	    n->function == DYNAMO_LIST_APPEND)
		return dynamo_update_two(w, n, ret);
	if (n->function == DYNAMO_IF_NOT_EXISTS) {
		/* The other operand must exist even if it is not needed. */
		if (!dynamo_update_value(w, n->first->next, ret))
			return false;
		old = dynamo_path_find(w->bound, n->first, w->item);
		*ret = old != NULL ? old : *ret;
		return true;
	}
	*ret = dynamo_operand(w->call, w->bound, n, w->item);
	return *ret != NULL || dynamo_invalid(&w->call->error, "The provided "
	    "expression refers to an attribute that does not exist in the "
	    "item");
}

/* The elements of @a that are not in @b (NULL: all); added. */
static void
dynamo_update_filter(struct json_object *to, struct json_object *a,
    struct json_object *b)
{
	for (size_t i = 0; i < json_object_array_length(a); i++) {
		struct json_object *one = json_object_array_get_idx(a, i);

		if (b == NULL || !dynamo_value_in_set(b, one))
			(void)json_object_array_add(to, json_object_get(one));
	}
}

/* ADD and DELETE: @old is the present value, or NULL. */
static bool
dynamo_update_set(const struct dynamo_worker *w, enum dynamo_node_kind kind,
    struct json_object *old, struct json_object *value,
    struct json_object **ret)
{
	struct json_object *before, *change, *all;
	enum dynamo_type type = dynamo_value_type(value);

	if (old == NULL) {
		*ret = kind == DYNAMO_NODE_ADD ? value : NULL;
		return true;
	}
	if (type == DYNAMO_N)
		return dynamo_update_sum(w, old, value, false, ret);
	if (dynamo_value_type(old) != type)
		return dynamo_update_wrong_type(&w->call->error);
	before = dynamo_value_content(old);
	change = dynamo_value_content(value);
	all = dynamo_need(json_object_new_array());
	if (kind == DYNAMO_NODE_ADD) {
		dynamo_update_filter(all, before, NULL);
		dynamo_update_filter(all, change, before);
	} else {
		dynamo_update_filter(all, before, change);
	}
	value = dynamo_call_keep(w->call, dynamo_value_new(type, all));
	/* There are no empty sets. */
	*ret = json_object_array_length(all) > 0 ? value : NULL;
	return true;
}

static bool
dynamo_update_leaf(const struct dynamo_worker *w, struct dynamo_branch *b)
{
	const struct dynamo_node *action = b->leaf;
	const struct dynamo_node *operand = action->first->next;

	switch (action->kind) {
	case DYNAMO_NODE_SET:
		return dynamo_update_value(w, operand, &b->result);
	case DYNAMO_NODE_ADD:
	case DYNAMO_NODE_DELETE:
		return dynamo_update_set(w, action->kind, dynamo_path_find(
		    w->bound, action->first, w->item),
		    w->bound->values[operand->value], &b->result);
	default:
		b->result = NULL;
		return true;
	}
}

static bool
dynamo_update_leaves(const struct dynamo_worker *w,
    struct dynamo_branch *parent)
{
	for (struct dynamo_branch *b = parent->first; b != NULL; b = b->next) {
		b->met = false;
		if (!(b->leaf != NULL ? dynamo_update_leaf(w, b) :
		    dynamo_update_leaves(w, b)))
			return false;
	}
	return true;
}

bool
dynamo_update_spares_key(const struct dynamo_table *t,
    const struct dynamo_branch *root, struct dynamo_error *e)
{
	for (const struct dynamo_branch *b = root->first; b != NULL;
	    b = b->next) {
		for (size_t i = 0; i < t->n_parts; i++) {
			if (strcmp(b->name, t->parts[i].name) == 0)
				return dynamo_invalid(e, "One or more "
				    "parameter values were invalid: Cannot "
				    "update attribute %.100s. This attribute "
				    "is part of the key", b->name);
		}
	}
	return true;
}

bool
dynamo_update_apply(struct dynamo_call *call, const struct dynamo_bound *b,
    struct dynamo_branch *root, struct json_object *item,
    struct json_object **ret)
{
	struct dynamo_worker w = { call, b, item };

	if (b->x == NULL) {
		*ret = json_object_get(item);
		return true;
	}
	return dynamo_update_leaves(&w, root) &&
	    dynamo_document_apply(root, item, ret, &call->error);
}

/*
 * Conditions: does a condition hold for an item? A value that is absent, or of
 * another type, makes a comparison false, never an error.
 */
#include "dynamo_state.h"

struct dynamo_judge {
	struct dynamo_call *call;
	const struct dynamo_bound *bound;
	struct json_object *item;
};

static struct json_object *
dynamo_condition_operand(const struct dynamo_judge *j,
    const struct dynamo_node *n)
{
	return dynamo_operand(j->call, j->bound, n, j->item);
}

/* @a compared with @b, in the order of its type. False: they have no order. */
static bool
dynamo_condition_order(struct json_object *a, struct json_object *b, int *ret)
{
	enum dynamo_type type;

	if (a == NULL || b == NULL)
		return false;
	type = dynamo_value_type(a);
	if (type != dynamo_value_type(b) ||
	    (DYNAMO_IS(type) & DYNAMO_SCALAR) == 0)
		return false;
	*ret = dynamo_value_compare(a, b);
	return true;
}

static bool
dynamo_condition_compare(const struct dynamo_judge *j,
    const struct dynamo_node *n)
{
	struct json_object *a = dynamo_condition_operand(j, n->first);
	struct json_object *b = dynamo_condition_operand(j, n->first->next);
	int order;

	if (n->kind == DYNAMO_NODE_EQUAL)
		return a != NULL && b != NULL && dynamo_value_equal(a, b);
	if (n->kind == DYNAMO_NODE_UNEQUAL)
		return a == NULL || b == NULL || !dynamo_value_equal(a, b);
	if (!dynamo_condition_order(a, b, &order))
		return false;
	switch (n->kind) {
	case DYNAMO_NODE_LESS:
		return order < 0;
	case DYNAMO_NODE_LESS_EQUAL:
		return order <= 0;
	case DYNAMO_NODE_GREATER:
		return order > 0;
	default:
		return order >= 0;
	}
}

static bool
dynamo_condition_between(const struct dynamo_judge *j,
    const struct dynamo_node *n)
{
	struct json_object *value = dynamo_condition_operand(j, n->first);
	const struct dynamo_node *low = n->first->next;
	int order;

	return dynamo_condition_order(value,
	    dynamo_condition_operand(j, low), &order) && order >= 0 &&
	    dynamo_condition_order(value,
	    dynamo_condition_operand(j, low->next), &order) && order <= 0;
}

static bool
dynamo_condition_in(const struct dynamo_judge *j, const struct dynamo_node *n)
{
	struct json_object *value = dynamo_condition_operand(j, n->first);

	for (const struct dynamo_node *o = n->first->next; o != NULL;
	    o = o->next) {
		struct json_object *one = dynamo_condition_operand(j, o);

		if (value != NULL && one != NULL &&
		    dynamo_value_equal(value, one))
			return true;
	}
	return false;
}

static bool
dynamo_condition_call(const struct dynamo_judge *j,
    const struct dynamo_node *n)
{
	struct json_object *a = dynamo_condition_operand(j, n->first);
	struct json_object *b = n->n_children < 2 ? NULL :
	    dynamo_condition_operand(j, n->first->next);

	if (n->function == DYNAMO_ATTRIBUTE_EXISTS)
		return a != NULL;
	if (n->function == DYNAMO_ATTRIBUTE_NOT_EXISTS)
		return a == NULL;
	if (a == NULL || b == NULL)
		return false;
	if (n->function == DYNAMO_ATTRIBUTE_TYPE)
		return dynamo_value_type(a) == dynamo_type_find(
		    json_object_get_string(dynamo_value_content(b)));
	if (n->function == DYNAMO_BEGINS_WITH)
		return dynamo_value_begins_with(a, b);
	return dynamo_value_contains(a, b);
}

static bool
dynamo_condition_node(const struct dynamo_judge *j,
    const struct dynamo_node *n)
{
	switch (n->kind) {
	case DYNAMO_NODE_AND:
		return dynamo_condition_node(j, n->first) &&
		    dynamo_condition_node(j, n->first->next);
	case DYNAMO_NODE_OR:
		return dynamo_condition_node(j, n->first) ||
		    dynamo_condition_node(j, n->first->next);
	case DYNAMO_NODE_NOT:
		return !dynamo_condition_node(j, n->first);
	case DYNAMO_NODE_CALL:
		return dynamo_condition_call(j, n);
	case DYNAMO_NODE_BETWEEN:
		return dynamo_condition_between(j, n);
	case DYNAMO_NODE_IN:
		return dynamo_condition_in(j, n);
	default:
		return dynamo_condition_compare(j, n);
	}
}

bool
dynamo_condition_holds(struct dynamo_call *call, const struct dynamo_bound *b,
    struct json_object *item)
{
	struct dynamo_judge j = { call, b, item };

	return b->x == NULL || dynamo_condition_node(&j, b->x->root);
}

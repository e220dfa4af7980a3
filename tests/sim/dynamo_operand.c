/*
 * Operands: the value of a path, a placeholder or size(), and which operands
 * are allowed where. The checks need no item: they are made before an item is
 * read.
 */
#include <stdio.h>
#include <string.h>

#include "dynamo_state.h"

#define OPERAND_SIZED (DYNAMO_IS(DYNAMO_S) | DYNAMO_IS(DYNAMO_B) | \
    DYNAMO_SETS | DYNAMO_IS(DYNAMO_L) | DYNAMO_IS(DYNAMO_M))
#define OPERAND_TEXT (DYNAMO_IS(DYNAMO_S) | DYNAMO_IS(DYNAMO_B))

struct json_object *
dynamo_path_find(const struct dynamo_bound *b, const struct dynamo_node *path,
    struct json_object *item)
{
	struct json_object *members = item;
	struct json_object *value = NULL;

	for (const struct dynamo_step *s = path->steps; s != NULL;
	    s = s->next) {
		if (s != path->steps)
			members = dynamo_value_content(value);
		if (s->kind == DYNAMO_STEP_INDEX) {
			if (dynamo_value_type(value) != DYNAMO_L)
				return NULL;
			value = json_object_array_get_idx(members, s->number);
		} else {
			if (s != path->steps &&
			    dynamo_value_type(value) != DYNAMO_M)
				return NULL;
			if (!json_object_object_get_ex(members,
			    s->kind == DYNAMO_STEP_ALIAS ?
			    b->names[s->number] : s->name, &value))
				return NULL;
		}
		if (value == NULL)
			return NULL;
	}
	return value;
}

struct json_object *
dynamo_operand(struct dynamo_call *call, const struct dynamo_bound *b,
    const struct dynamo_node *n, struct json_object *item)
{
	struct json_object *value;
	char text[24];
	size_t size;

	if (n->kind == DYNAMO_NODE_VALUE)
		return b->values[n->value];
	if (n->kind == DYNAMO_NODE_PATH)
		return dynamo_path_find(b, n, item);
	value = dynamo_operand(call, b, n->first, item);
	if (value == NULL || !dynamo_value_size(value, &size))
		return NULL;
	(void)snprintf(text, sizeof(text), "%zu", size);
	return dynamo_call_keep(call, dynamo_value_new(DYNAMO_N,
	    dynamo_need(json_object_new_string(text))));
}

/* ---- checks ---- */

static const char *
dynamo_operand_step_name(const struct dynamo_bound *b,
    const struct dynamo_step *s)
{
	return s->kind == DYNAMO_STEP_ALIAS ? b->names[s->number] : s->name;
}

/* Are they the same path? */
static bool
dynamo_operand_same(const struct dynamo_bound *b, const struct dynamo_node *m,
    const struct dynamo_node *n)
{
	const struct dynamo_step *s = m->steps;
	const struct dynamo_step *t = n->steps;

	if (m->kind != DYNAMO_NODE_PATH || n->kind != DYNAMO_NODE_PATH)
		return false;
	for (; s != NULL && t != NULL; s = s->next, t = t->next) {
		bool index = s->kind == DYNAMO_STEP_INDEX;

		if (index != (t->kind == DYNAMO_STEP_INDEX))
			return false;
		if (index ? s->number != t->number :
		    strcmp(dynamo_operand_step_name(b, s),
		    dynamo_operand_step_name(b, t)) != 0)
			return false;
	}
	return s == t;
}

static const char *
dynamo_operand_of(const struct dynamo_node *n)
{
	return n->kind == DYNAMO_NODE_CALL ?
	    dynamo_function_name(n->function) : dynamo_node_name(n->kind);
}

/* The first operand must not be repeated among the others. */
static bool
dynamo_operand_distinct(const struct dynamo_bound *b,
    const struct dynamo_node *n, struct dynamo_error *e)
{
	for (const struct dynamo_node *o = n->first->next; o != NULL;
	    o = o->next) {
		if (dynamo_operand_same(b, n->first, o))
			return dynamo_invalid(e, "Invalid %s: The first "
			    "operand must be distinct from the remaining "
			    "operands for this operator or function; "
			    "operator: %s, first operand: [%.100s]",
			    dynamo_expression_name(b->x->kind),
			    dynamo_operand_of(n), dynamo_operand_step_name(b,
			    n->first->steps));
	}
	return true;
}

/* The type of the operand, or 0: only the item will tell. */
static enum dynamo_type
dynamo_operand_type(const struct dynamo_bound *b, const struct dynamo_node *n)
{
	if (n->kind == DYNAMO_NODE_VALUE)
		return dynamo_value_type(b->values[n->value]);
	return n->function == DYNAMO_SIZE ? DYNAMO_N : 0;
}

static bool
dynamo_operand_allow(const struct dynamo_bound *b, const struct dynamo_node *n,
    const struct dynamo_node *operand, unsigned types, struct dynamo_error *e)
{
	enum dynamo_type type = dynamo_operand_type(b, operand);

	if (type == 0 || (types & DYNAMO_IS(type)) != 0)
		return true;
	return dynamo_invalid(e, "Invalid %s: Incorrect operand type for "
	    "operator or function; operator or function: %s, operand type: "
	    "%s", dynamo_expression_name(b->x->kind), dynamo_operand_of(n),
	    dynamo_type_name(type));
}

static bool
dynamo_operand_allow_all(const struct dynamo_bound *b,
    const struct dynamo_node *n, unsigned types, struct dynamo_error *e)
{
	for (const struct dynamo_node *o = n->first; o != NULL; o = o->next) {
		if (!dynamo_operand_allow(b, n, o, types, e))
			return false;
	}
	return true;
}

static bool
dynamo_operand_check_between(const struct dynamo_bound *b,
    const struct dynamo_node *n, struct dynamo_error *e)
{
	const struct dynamo_node *low = n->first->next;
	const struct dynamo_node *high = low->next;
	const char *wrong = NULL;

	if (!dynamo_operand_distinct(b, n, e) ||
	    !dynamo_operand_allow_all(b, n, DYNAMO_SCALAR, e))
		return false;
	if (low->kind != DYNAMO_NODE_VALUE || high->kind != DYNAMO_NODE_VALUE)
		return true;
	if (dynamo_operand_type(b, low) != dynamo_operand_type(b, high))
		wrong = "same data type for lower and upper bounds";
	else if (dynamo_value_compare(b->values[low->value],
	    b->values[high->value]) > 0)
		wrong = "upper bound to be greater than or equal to lower "
		    "bound";
	return wrong == NULL || dynamo_invalid(e, "Invalid %s: The BETWEEN "
	    "operator requires %s; lower bound operand: %s, upper bound "
	    "operand: %s", dynamo_expression_name(b->x->kind), wrong,
	    b->x->values[low->value], b->x->values[high->value]);
}

static bool
dynamo_operand_check_type_name(const struct dynamo_bound *b,
    const struct dynamo_node *n, struct dynamo_error *e)
{
	const struct dynamo_node *name = n->first->next;
	const char *text;

	if (name->kind != DYNAMO_NODE_VALUE)
		return dynamo_invalid(e, "Invalid %s: Incorrect operand type "
		    "for operator or function; operator or function: "
		    "attribute_type, operand type: a document path",
		    dynamo_expression_name(b->x->kind));
	if (!dynamo_operand_allow(b, n, name, DYNAMO_IS(DYNAMO_S), e))
		return false;
	text = json_object_get_string(dynamo_value_content(
	    b->values[name->value]));
	return dynamo_type_find(text) != 0 || dynamo_invalid(e, "Invalid %s: "
	    "Invalid attribute type name found; type: %.20s, valid types: "
	    "{B,NULL,SS,BOOL,L,BS,N,NS,S,M}",
	    dynamo_expression_name(b->x->kind), text);
}

static bool
dynamo_operand_check_call(const struct dynamo_bound *b,
    const struct dynamo_node *n, struct dynamo_error *e)
{
	switch (n->function) {
	case DYNAMO_SIZE:
		return dynamo_operand_allow_all(b, n, OPERAND_SIZED, e);
	case DYNAMO_ATTRIBUTE_TYPE:
		return dynamo_operand_check_type_name(b, n, e);
	case DYNAMO_BEGINS_WITH:
		return dynamo_operand_distinct(b, n, e) &&
		    dynamo_operand_allow_all(b, n, OPERAND_TEXT, e);
	case DYNAMO_CONTAINS:
	case DYNAMO_IF_NOT_EXISTS:
		return dynamo_operand_distinct(b, n, e);
	case DYNAMO_LIST_APPEND:
		return dynamo_operand_allow_all(b, n, DYNAMO_IS(DYNAMO_L), e);
	case DYNAMO_ATTRIBUTE_EXISTS:
	case DYNAMO_ATTRIBUTE_NOT_EXISTS:
		break;
	}
	return true;
}

static bool
dynamo_operand_check_one(const struct dynamo_bound *b,
    const struct dynamo_node *n, struct dynamo_error *e)
{
	const unsigned sets = DYNAMO_SETS;

	switch (n->kind) {
	case DYNAMO_NODE_CALL:
		return dynamo_operand_check_call(b, n, e);
	case DYNAMO_NODE_EQUAL:
	case DYNAMO_NODE_UNEQUAL:
	case DYNAMO_NODE_IN:
		return dynamo_operand_distinct(b, n, e);
	case DYNAMO_NODE_LESS:
	case DYNAMO_NODE_LESS_EQUAL:
	case DYNAMO_NODE_GREATER:
	case DYNAMO_NODE_GREATER_EQUAL:
		return dynamo_operand_distinct(b, n, e) &&
		    dynamo_operand_allow_all(b, n, DYNAMO_SCALAR, e);
	case DYNAMO_NODE_BETWEEN:
		return dynamo_operand_check_between(b, n, e);
	case DYNAMO_NODE_PLUS:
	case DYNAMO_NODE_MINUS:
		return dynamo_operand_allow_all(b, n, DYNAMO_IS(DYNAMO_N), e);
	case DYNAMO_NODE_ADD:
		return dynamo_operand_allow(b, n, n->first->next,
		    sets | DYNAMO_IS(DYNAMO_N), e);
	case DYNAMO_NODE_DELETE:
		return dynamo_operand_allow(b, n, n->first->next, sets, e);
	default:
		return true;
	}
}

bool
dynamo_operand_check(const struct dynamo_bound *b, const struct dynamo_node *n,
    struct dynamo_error *e)
{
	for (; n != NULL; n = n->next) {
		if (!dynamo_operand_check_one(b, n, e) ||
		    !dynamo_operand_check(b, n->first, e))
			return false;
	}
	return true;
}

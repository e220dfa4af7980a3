/*
 * Expressions: their lives and their names.
 */
#include <stdlib.h>

#include "dynamo_parse.h"
#include "dynamo_state.h"

void *
dynamo_expression_alloc(struct dynamo_expression *x, size_t n)
{
	return dynamo_memory_alloc(&x->memory, n);
}

struct dynamo_expression *
dynamo_expression_parse(enum dynamo_expression_kind kind, const char *text)
{
	struct dynamo_expression *x = dynamo_need(calloc(1, sizeof(*x)));

	x->kind = kind;
	dynamo_parse(x, text);
	return x;
}

void
dynamo_expression_free(struct dynamo_expression *x)
{
	if (x == NULL)
		return;
	dynamo_memory_done(&x->memory);
	free(x->key);
	free(x);
}

const char *
dynamo_expression_name(enum dynamo_expression_kind kind)
{
	static const char *const names[] = {
		[DYNAMO_CONDITION] = "ConditionExpression",
		[DYNAMO_FILTER] = "FilterExpression",
		[DYNAMO_UPDATE] = "UpdateExpression",
		[DYNAMO_PROJECTION] = "ProjectionExpression",
	};

	return names[kind];
}

const char *
dynamo_node_name(enum dynamo_node_kind kind)
{
	static const char *const names[] = {
		[DYNAMO_NODE_PLUS] = "+",
		[DYNAMO_NODE_MINUS] = "-",
		[DYNAMO_NODE_EQUAL] = "=",
		[DYNAMO_NODE_UNEQUAL] = "<>",
		[DYNAMO_NODE_LESS] = "<",
		[DYNAMO_NODE_LESS_EQUAL] = "<=",
		[DYNAMO_NODE_GREATER] = ">",
		[DYNAMO_NODE_GREATER_EQUAL] = ">=",
		[DYNAMO_NODE_BETWEEN] = "BETWEEN",
		[DYNAMO_NODE_IN] = "IN",
		[DYNAMO_NODE_NOT] = "NOT",
		[DYNAMO_NODE_AND] = "AND",
		[DYNAMO_NODE_OR] = "OR",
		[DYNAMO_NODE_SET] = "SET",
		[DYNAMO_NODE_REMOVE] = "REMOVE",
		[DYNAMO_NODE_ADD] = "ADD",
		[DYNAMO_NODE_DELETE] = "DELETE",
	};

	return names[kind] != NULL ? names[kind] : "";
}

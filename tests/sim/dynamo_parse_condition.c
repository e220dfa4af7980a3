/*
 * Conditions become trees: the upper half of their grammar.
 */
#include "dynamo_parse.h"

static enum dynamo_node_kind
dynamo_parse_comparator(const struct dynamo_token *t)
{
	bool longer = t->length == 2;

	switch (t->text[0]) {
	case '=':
		return DYNAMO_NODE_EQUAL;
	case '<':
		if (longer && t->text[1] == '>')
			return DYNAMO_NODE_UNEQUAL;
		return longer ? DYNAMO_NODE_LESS_EQUAL : DYNAMO_NODE_LESS;
	default:
		return longer ? DYNAMO_NODE_GREATER_EQUAL :
		    DYNAMO_NODE_GREATER;
	}
}

static struct dynamo_node *
dynamo_parse_between(struct dynamo_parser *p, struct dynamo_node *n)
{
	dynamo_parse_advance(p);
	if (!dynamo_parse_adopt(n, dynamo_parse_role(p,
	    dynamo_parse_operand(p), true)))
		return NULL;
	if (!dynamo_parse_take_word(p, "AND"))
		return dynamo_parse_syntax(p);
	return dynamo_parse_adopt(n, dynamo_parse_role(p,
	    dynamo_parse_operand(p), true)) ? n : NULL;
}

static struct dynamo_node *
dynamo_parse_in(struct dynamo_parser *p, struct dynamo_node *n)
{
	dynamo_parse_advance(p);
	if (!dynamo_parse_list(p, n))
		return NULL;
	if (n->n_children - 1 > DYNAMO_IN_MAX)
		return dynamo_parse_fail(p, "Incorrect number of operands for "
		    "operator or function; operator or function: IN, number "
		    "of operands: %u", n->n_children - 1);
	return n;
}

static struct dynamo_node *
dynamo_parse_test(struct dynamo_parser *p)
{
	struct dynamo_node *left = dynamo_parse_operand(p);
	enum dynamo_node_kind kind = 0;
	struct dynamo_node *n;

	if (left == NULL)
		return NULL;
	if (p->now.kind == DYNAMO_TOKEN_COMPARE)
		kind = dynamo_parse_comparator(&p->now);
	else if (dynamo_token_is_word(&p->now, "BETWEEN"))
		kind = DYNAMO_NODE_BETWEEN;
	else if (dynamo_token_is_word(&p->now, "IN"))
		kind = DYNAMO_NODE_IN;
	else
		return left;
	n = dynamo_parse_node(p, kind);
	if (n == NULL ||
	    !dynamo_parse_adopt(n, dynamo_parse_role(p, left, true)))
		return NULL;
	if (kind == DYNAMO_NODE_BETWEEN)
		return dynamo_parse_between(p, n);
	if (kind == DYNAMO_NODE_IN)
		return dynamo_parse_in(p, n);
	dynamo_parse_advance(p);
	return dynamo_parse_adopt(n, dynamo_parse_role(p,
	    dynamo_parse_operand(p), true)) ? n : NULL;
}

static struct dynamo_node *
dynamo_parse_not(struct dynamo_parser *p)
{
	struct dynamo_node *n;

	if (!dynamo_parse_take_word(p, "NOT"))
		return dynamo_parse_test(p);
	n = dynamo_parse_node(p, DYNAMO_NODE_NOT);
	if (n == NULL)
		return NULL;
	return dynamo_parse_adopt(n, dynamo_parse_role(p,
	    dynamo_parse_not(p), false)) ? n : NULL;
}

/* @word joins the terms that @one reads; a single term stays as it is. */
static struct dynamo_node *
dynamo_parse_chain(struct dynamo_parser *p, const char *word,
    enum dynamo_node_kind kind,
    struct dynamo_node *(*one)(struct dynamo_parser *))
{
	struct dynamo_node *left = one(p);
	struct dynamo_node *n;

	while (left != NULL && dynamo_token_is_word(&p->now, word)) {
		n = dynamo_parse_node(p, kind);
		if (n == NULL ||
		    !dynamo_parse_adopt(n, dynamo_parse_role(p, left, false)))
			return NULL;
		dynamo_parse_advance(p);
		if (!dynamo_parse_adopt(n, dynamo_parse_role(p, one(p),
		    false)))
			return NULL;
		left = n;
	}
	return left;
}

static struct dynamo_node *
dynamo_parse_and(struct dynamo_parser *p)
{
	return dynamo_parse_chain(p, "AND", DYNAMO_NODE_AND,
	    dynamo_parse_not);
}

struct dynamo_node *
dynamo_parse_or(struct dynamo_parser *p)
{
	return dynamo_parse_chain(p, "OR", DYNAMO_NODE_OR, dynamo_parse_and);
}

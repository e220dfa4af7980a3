/*
 * Expressions become trees: recursive descent over the grammar in
 * dynamo_expression.h.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dynamo_parse.h"
#include "dynamo_value.h"

#define PARSE_DEPTH_MAX 320	/* more than there may be operators */

static struct dynamo_node *dynamo_parse_value(struct dynamo_parser *p);

/* NULL, after storing the first error. */
void *
dynamo_parse_fail(struct dynamo_parser *p, const char *format, ...)
{
	char message[DYNAMO_MESSAGE_SIZE];
	va_list arguments;
	char *text;
	int n;

	if (p->x->error != NULL)
		return NULL;
	n = snprintf(message, sizeof(message), "Invalid %s: ",
	    dynamo_expression_name(p->x->kind));
	va_start(arguments, format);
	(void)vsnprintf(message + n, sizeof(message) - (size_t)n, format,
	    arguments);
	va_end(arguments);
	text = dynamo_expression_alloc(p->x, strlen(message) + 1);
	memcpy(text, message, strlen(message));
	p->x->error = text;
	return NULL;
}

void *
dynamo_parse_syntax(struct dynamo_parser *p)
{
	const char *from = p->before.text;
	bool end = p->now.kind == DYNAMO_TOKEN_END;

	return dynamo_parse_fail(p, "Syntax error; token: \"%.*s\", "
	    "near: \"%.*s\"", end ? 5 : (int)p->now.length,
	    end ? "<EOF>" : p->now.text,
	    (int)(p->next.text + p->next.length - from), from);
}

void
dynamo_parse_advance(struct dynamo_parser *p)
{
	p->before = p->now;
	p->now = p->next;
	p->next = dynamo_token_read(p->now.text + p->now.length);
}

bool
dynamo_parse_take_sign(struct dynamo_parser *p, char sign)
{
	if (!dynamo_token_is_sign(&p->now, sign))
		return false;
	dynamo_parse_advance(p);
	return true;
}

bool
dynamo_parse_take_word(struct dynamo_parser *p, const char *word)
{
	if (!dynamo_token_is_word(&p->now, word))
		return false;
	dynamo_parse_advance(p);
	return true;
}

struct dynamo_node *
dynamo_parse_node(struct dynamo_parser *p, enum dynamo_node_kind kind)
{
	struct dynamo_node *n = dynamo_expression_alloc(p->x, sizeof(*n));

	n->kind = kind;
	if (kind >= DYNAMO_NODE_CALL && kind <= DYNAMO_NODE_OR &&
	    ++p->x->n_operators > DYNAMO_OPERATORS_MAX)
		return dynamo_parse_fail(p, "The expression contains too many "
		    "operators; operator count: %u", p->x->n_operators);
	return n;
}

bool
dynamo_parse_adopt(struct dynamo_node *parent, struct dynamo_node *child)
{
	struct dynamo_node **at = &parent->first;

	if (child == NULL)
		return false;
	while (*at != NULL)
		at = &(*at)->next;
	*at = child;
	parent->n_children++;
	return true;
}

/* The number of this name or value; a new one gets the next number. */
static uint32_t
dynamo_parse_number(struct dynamo_parser *p, const char ***texts,
    uint32_t *n, const struct dynamo_token *t)
{
	const char **more;
	char *text;

	for (uint32_t i = 0; i < *n; i++) {
		if (strlen((*texts)[i]) == t->length &&
		    memcmp((*texts)[i], t->text, t->length) == 0)
			return i;
	}
	if (*n % 16 == 0) {
		more = dynamo_expression_alloc(p->x,
		    (*n + 16) * sizeof(*more));
		if (*n > 0)
			memcpy(more, *texts, *n * sizeof(*more));
		*texts = more;
	}
	text = dynamo_expression_alloc(p->x, t->length + 1);
	memcpy(text, t->text, t->length);
	(*texts)[*n] = text;
	return (*n)++;
}

/* ---- paths ---- */

static struct dynamo_step *
dynamo_parse_name(struct dynamo_parser *p)
{
	struct dynamo_step *s = dynamo_expression_alloc(p->x, sizeof(*s));
	char *name;

	if (p->now.kind == DYNAMO_TOKEN_ALIAS) {
		s->kind = DYNAMO_STEP_ALIAS;
		s->number = dynamo_parse_number(p, &p->x->names,
		    &p->x->n_names, &p->now);
	} else if (p->now.kind == DYNAMO_TOKEN_NAME) {
		name = dynamo_expression_alloc(p->x, p->now.length + 1);
		memcpy(name, p->now.text, p->now.length);
		s->kind = DYNAMO_STEP_NAME;
		s->name = name;
		if (dynamo_word_is_reserved(name))
			return dynamo_parse_fail(p, "Attribute name is a "
			    "reserved keyword; reserved keyword: %s", name);
	} else {
		return dynamo_parse_syntax(p);
	}
	dynamo_parse_advance(p);
	return s;
}

static struct dynamo_step *
dynamo_parse_index(struct dynamo_parser *p)
{
	struct dynamo_step *s = dynamo_expression_alloc(p->x, sizeof(*s));
	unsigned long long index;

	if (p->now.kind != DYNAMO_TOKEN_NUMBER)
		return dynamo_parse_syntax(p);
	index = strtoull(p->now.text, NULL, 10);
	if (index > INT32_MAX)
		return dynamo_parse_fail(p, "List index is not within the "
		    "allowable range; index: [%.*s]", (int)p->now.length,
		    p->now.text);
	s->kind = DYNAMO_STEP_INDEX;
	s->number = (uint32_t)index;
	dynamo_parse_advance(p);
	return dynamo_parse_take_sign(p, ']') ? s : dynamo_parse_syntax(p);
}

static struct dynamo_node *
dynamo_parse_path(struct dynamo_parser *p)
{
	struct dynamo_node *n = dynamo_parse_node(p, DYNAMO_NODE_PATH);
	struct dynamo_step **end = &n->steps;
	size_t n_steps = 0;

	*end = dynamo_parse_name(p);
	while (*end != NULL) {
		end = &(*end)->next;
		if (++n_steps > DYNAMO_DEPTH_MAX)
			return dynamo_parse_fail(p, "The document path has "
			    "too many nesting elements; nesting elements: %zu",
			    n_steps);
		if (dynamo_parse_take_sign(p, '.'))
			*end = dynamo_parse_name(p);
		else if (dynamo_parse_take_sign(p, '['))
			*end = dynamo_parse_index(p);
		else
			return n;
	}
	return NULL;
}

/* ---- operands ---- */

static const struct {
	const char *name;
	bool update;		/* or for conditions */
	uint32_t n;
} dynamo_parse_functions[] = {
	[DYNAMO_ATTRIBUTE_EXISTS] = { "attribute_exists", false, 1 },
	[DYNAMO_ATTRIBUTE_NOT_EXISTS] = { "attribute_not_exists", false, 1 },
	[DYNAMO_ATTRIBUTE_TYPE] = { "attribute_type", false, 2 },
	[DYNAMO_BEGINS_WITH] = { "begins_with", false, 2 },
	[DYNAMO_CONTAINS] = { "contains", false, 2 },
	[DYNAMO_SIZE] = { "size", false, 1 },
	[DYNAMO_IF_NOT_EXISTS] = { "if_not_exists", true, 2 },
	[DYNAMO_LIST_APPEND] = { "list_append", true, 2 },
};

const char *
dynamo_function_name(enum dynamo_function f)
{
	return dynamo_parse_functions[f].name;
}

struct dynamo_node *
dynamo_parse_role(struct dynamo_parser *p, struct dynamo_node *n,
    bool operand)
{
	bool fits;

	if (n == NULL)
		return NULL;
	if (n->kind != DYNAMO_NODE_CALL) {
		fits = operand ? n->kind <= DYNAMO_NODE_CALL :
		    n->kind >= DYNAMO_NODE_EQUAL;
		return fits ? n : dynamo_parse_syntax(p);
	}
	fits = n->function >= DYNAMO_SIZE;
	if (fits != operand)
		return dynamo_parse_fail(p, "The function is not allowed to "
		    "be used this way in an expression; function: %s",
		    dynamo_function_name(n->function));
	return n;
}

bool
dynamo_parse_list(struct dynamo_parser *p, struct dynamo_node *n)
{
	if (!dynamo_parse_take_sign(p, '('))
		return dynamo_parse_syntax(p) != NULL;
	do {
		if (!dynamo_parse_adopt(n, dynamo_parse_role(p,
		    dynamo_parse_operand(p), true)))
			return false;
	} while (dynamo_parse_take_sign(p, ','));
	return dynamo_parse_take_sign(p, ')') ||
	    dynamo_parse_syntax(p) != NULL;
}

static bool
dynamo_parse_check_call(struct dynamo_parser *p, struct dynamo_node *n)
{
	const char *name = dynamo_function_name(n->function);
	bool update = p->x->kind == DYNAMO_UPDATE;
	struct dynamo_node *second;

	if (dynamo_parse_functions[n->function].update != update)
		return dynamo_parse_fail(p, "The function is not allowed in "
		    "a%s expression; function: %s", update ? "n update" :
		    " condition", name) != NULL;
	if (n->n_children != dynamo_parse_functions[n->function].n)
		return dynamo_parse_fail(p, "Incorrect number of operands for "
		    "operator or function; operator or function: %s, number "
		    "of operands: %u", name, n->n_children) != NULL;
	if (n->first->kind != DYNAMO_NODE_PATH &&
	    (n->function <= DYNAMO_ATTRIBUTE_NOT_EXISTS ||
	    n->function == DYNAMO_IF_NOT_EXISTS))
		return dynamo_parse_fail(p, "Operator or function requires a "
		    "document path; operator or function: %s", name) != NULL;
	if (n->function == DYNAMO_SIZE && n->first->kind == DYNAMO_NODE_CALL)
		return dynamo_parse_fail(p, "Incorrect operand type for "
		    "operator or function; operator or function: size, "
		    "operand type: N") != NULL;
	second = n->first->next;
	/* Only if_not_exists() may be nested in another function. */
	if (update && (n->first->function == DYNAMO_LIST_APPEND ||
	    second->function == DYNAMO_LIST_APPEND))
		return dynamo_parse_fail(p, "The function is not allowed to "
		    "be used this way in an expression; function: %s",
		    name) != NULL;
	return true;
}

static struct dynamo_node *
dynamo_parse_call(struct dynamo_parser *p)
{
	struct dynamo_node *n = dynamo_parse_node(p, DYNAMO_NODE_CALL);
	size_t count = sizeof(dynamo_parse_functions) /
	    sizeof(dynamo_parse_functions[0]);

	if (n == NULL)
		return NULL;
	for (size_t i = 1; i < count; i++) {
		const char *name = dynamo_parse_functions[i].name;

		if (strlen(name) == p->now.length &&
		    memcmp(name, p->now.text, p->now.length) == 0)
			n->function = (enum dynamo_function)i;
	}
	if (n->function == 0)
		return dynamo_parse_fail(p, "Invalid function name; function: "
		    "%.*s", (int)p->now.length, p->now.text);
	dynamo_parse_advance(p);
	if (!dynamo_parse_list(p, n) || !dynamo_parse_check_call(p, n))
		return NULL;
	return n;
}

static struct dynamo_node *
dynamo_parse_group(struct dynamo_parser *p)
{
	struct dynamo_node *n;

	dynamo_parse_advance(p);
	n = p->x->kind == DYNAMO_UPDATE ?
	    dynamo_parse_value(p) : dynamo_parse_or(p);
	if (n == NULL)
		return NULL;
	if (!dynamo_parse_take_sign(p, ')'))
		return dynamo_parse_syntax(p);
	if (n->grouped)
		return dynamo_parse_fail(p,
		    "The expression has redundant parentheses;");
	n->grouped = true;
	return n;
}

struct dynamo_node *
dynamo_parse_operand(struct dynamo_parser *p)
{
	struct dynamo_node *n;

	if (++p->depth > PARSE_DEPTH_MAX)
		return dynamo_parse_fail(p, "The expression is nested too "
		    "deep;");
	if (dynamo_token_is_sign(&p->now, '(')) {
		n = dynamo_parse_group(p);
	} else if (p->now.kind == DYNAMO_TOKEN_NAME &&
	    dynamo_token_is_sign(&p->next, '(')) {
		n = dynamo_parse_call(p);
	} else if (p->now.kind == DYNAMO_TOKEN_VALUE) {
		n = dynamo_parse_node(p, DYNAMO_NODE_VALUE);
		n->value = dynamo_parse_number(p, &p->x->values,
		    &p->x->n_values, &p->now);
		dynamo_parse_advance(p);
	} else {
		n = dynamo_parse_path(p);
	}
	p->depth--;
	return n;
}

/* ---- updates ---- */

static struct dynamo_node *
dynamo_parse_value(struct dynamo_parser *p)
{
	struct dynamo_node *left = dynamo_parse_operand(p);
	struct dynamo_node *n;

	if (left == NULL || (!dynamo_token_is_sign(&p->now, '+') &&
	    !dynamo_token_is_sign(&p->now, '-')))
		return left;
	n = dynamo_parse_node(p, p->now.text[0] == '+' ?
	    DYNAMO_NODE_PLUS : DYNAMO_NODE_MINUS);
	if (n == NULL ||
	    !dynamo_parse_adopt(n, dynamo_parse_role(p, left, true)))
		return NULL;
	dynamo_parse_advance(p);
	return dynamo_parse_adopt(n, dynamo_parse_role(p,
	    dynamo_parse_operand(p), true)) ? n : NULL;
}

static bool
dynamo_parse_action(struct dynamo_parser *p, enum dynamo_node_kind kind)
{
	struct dynamo_node *n = dynamo_parse_node(p, kind);

	if (!dynamo_parse_adopt(n, dynamo_parse_path(p)))
		return false;
	if (kind == DYNAMO_NODE_SET) {
		if (p->now.kind != DYNAMO_TOKEN_COMPARE ||
		    p->now.text[0] != '=')
			return dynamo_parse_syntax(p) != NULL;
		dynamo_parse_advance(p);
		if (!dynamo_parse_adopt(n, dynamo_parse_value(p)))
			return false;
	} else if (kind != DYNAMO_NODE_REMOVE) {
		if (p->now.kind != DYNAMO_TOKEN_VALUE)
			return dynamo_parse_syntax(p) != NULL;
		if (!dynamo_parse_adopt(n, dynamo_parse_operand(p)))
			return false;
	}
	*p->end = n;
	p->end = &n->next;
	return true;
}

static void
dynamo_parse_update(struct dynamo_parser *p)
{
	static const char *const words[] = { "SET", "REMOVE", "ADD",
	    "DELETE" };
	bool seen[4] = { false };

	do {
		size_t i = 0;

		while (i < 4 && !dynamo_token_is_word(&p->now, words[i]))
			i++;
		if (i == 4) {
			(void)dynamo_parse_syntax(p);
			return;
		}
		if (seen[i]) {
			(void)dynamo_parse_fail(p, "The \"%s\" section can "
			    "only be used once in an update expression;",
			    words[i]);
			return;
		}
		seen[i] = true;
		do {
			dynamo_parse_advance(p);
			if (!dynamo_parse_action(p, (enum dynamo_node_kind)
			    (DYNAMO_NODE_SET + i)))
				return;
		} while (dynamo_token_is_sign(&p->now, ','));
	} while (p->now.kind != DYNAMO_TOKEN_END);
}

static void
dynamo_parse_projection(struct dynamo_parser *p)
{
	do {
		*p->end = dynamo_parse_path(p);
		if (*p->end == NULL)
			return;
		p->end = &(*p->end)->next;
	} while (dynamo_parse_take_sign(p, ','));
}

/* The whole text; an error is stored with it. */
void
dynamo_parse(struct dynamo_expression *x, const char *text)
{
	struct dynamo_parser p = { .x = x, .end = &x->root };

	p.before.text = text;
	p.now = dynamo_token_read(text);
	p.next = dynamo_token_read(p.now.text + p.now.length);
	if (text[0] == '\0') {
		(void)dynamo_parse_fail(&p, "The expression can not be "
		    "empty;");
		return;
	}
	if (x->kind == DYNAMO_UPDATE)
		dynamo_parse_update(&p);
	else if (x->kind == DYNAMO_PROJECTION)
		dynamo_parse_projection(&p);
	else
		x->root = dynamo_parse_role(&p, dynamo_parse_or(&p), false);
	if (x->error == NULL && p.now.kind != DYNAMO_TOKEN_END)
		(void)dynamo_parse_syntax(&p);
}

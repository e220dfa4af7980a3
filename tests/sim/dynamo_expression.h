/*
 * Expressions: conditions (and filters), updates and projections, as trees.
 *
 *     condition   or      = and *("OR" and)
 *                 and     = not *("AND" not)
 *                 not     = "NOT" not / test
 *                 test    = operand [compare operand /
 *                           "BETWEEN" operand "AND" operand /
 *                           "IN" "(" operand *("," operand) ")"] /
 *                           "(" or ")"
 *     update      1*(("SET" path "=" value / "REMOVE" path /
 *                 "ADD" path :value / "DELETE" path :value) *("," ...))
 *                 value   = operand [("+" / "-") operand] / "(" value ")"
 *     projection  path *("," path)
 *     all         operand = path / :value / function / "(" operand ")"
 *                 function = name "(" operand *("," operand) ")"
 *                 path    = name *("." name / "[" index "]")
 *
 * A tree knows nothing of a request: names (#x) and values (:x) are numbered,
 * and a request's own are looked up for each (dynamo_scope.c). So a text is
 * parsed once, and its tree is cached; a text with an error as well.
 */
#ifndef DDBLOCKD_TESTS_DYNAMO_EXPRESSION_H
#define DDBLOCKD_TESTS_DYNAMO_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uthash.h>

#include "dynamo_memory.h"

#define DYNAMO_EXPRESSION_MAX 4096	/* bytes */
#define DYNAMO_OPERATORS_MAX 300
#define DYNAMO_IN_MAX 100		/* operands */

enum dynamo_expression_kind {
	DYNAMO_CONDITION = 1,
	DYNAMO_FILTER,
	DYNAMO_UPDATE,
	DYNAMO_PROJECTION,
};

enum dynamo_node_kind {
	/* operands */
	DYNAMO_NODE_PATH = 1,
	DYNAMO_NODE_VALUE,
	DYNAMO_NODE_CALL,	/* some are operands, some conditions */
	/* the value of a SET */
	DYNAMO_NODE_PLUS,
	DYNAMO_NODE_MINUS,
	/* conditions */
	DYNAMO_NODE_EQUAL,
	DYNAMO_NODE_UNEQUAL,
	DYNAMO_NODE_LESS,
	DYNAMO_NODE_LESS_EQUAL,
	DYNAMO_NODE_GREATER,
	DYNAMO_NODE_GREATER_EQUAL,
	DYNAMO_NODE_BETWEEN,
	DYNAMO_NODE_IN,
	DYNAMO_NODE_NOT,
	DYNAMO_NODE_AND,
	DYNAMO_NODE_OR,
	/* an update's action on a path (its first child) */
	DYNAMO_NODE_SET,
	DYNAMO_NODE_REMOVE,
	DYNAMO_NODE_ADD,
	DYNAMO_NODE_DELETE,
};

enum dynamo_function {
	DYNAMO_ATTRIBUTE_EXISTS = 1,
	DYNAMO_ATTRIBUTE_NOT_EXISTS,
	DYNAMO_ATTRIBUTE_TYPE,
	DYNAMO_BEGINS_WITH,
	DYNAMO_CONTAINS,
	DYNAMO_SIZE,
	DYNAMO_IF_NOT_EXISTS,
	DYNAMO_LIST_APPEND,
};

enum dynamo_step_kind {
	DYNAMO_STEP_NAME = 1,
	DYNAMO_STEP_ALIAS,	/* a #name */
	DYNAMO_STEP_INDEX,
};

/* One step of a document path. */
struct dynamo_step {
	enum dynamo_step_kind kind;
	uint32_t number;	/* ALIAS: which; INDEX: of the list */
	const char *name;	/* NAME */
	struct dynamo_step *next;
};

struct dynamo_node {
	enum dynamo_node_kind kind;
	enum dynamo_function function;	/* CALL */
	bool grouped;			/* it is in parentheses */
	uint32_t value;			/* VALUE: which */
	struct dynamo_step *steps;	/* PATH */
	struct dynamo_node *first;	/* child */
	struct dynamo_node *next;	/* sibling */
	uint32_t n_children;
};

struct dynamo_expression {
	enum dynamo_expression_kind kind;
	const char *error;		/* NULL: it is well-formed */
	/* A condition; else the first of the actions or of the paths. */
	struct dynamo_node *root;
	const char **names;		/* "#x", each once */
	const char **values;		/* ":x" */
	uint32_t n_names, n_values;
	uint32_t n_operators;
	struct dynamo_memory memory;	/* all of the above */

	char *key;			/* in the cache: its kind and text */
	UT_hash_handle hh;
};

/* For messages: "ConditionExpression". */
const char *dynamo_expression_name(enum dynamo_expression_kind);
const char *dynamo_function_name(enum dynamo_function);
/* "<=", "BETWEEN" */
const char *dynamo_node_name(enum dynamo_node_kind);

struct dynamo_expression *dynamo_expression_parse(
    enum dynamo_expression_kind, const char *text);
void dynamo_expression_free(struct dynamo_expression *);
/* Memory that goes away with it, zeroed. */
void *dynamo_expression_alloc(struct dynamo_expression *, size_t);

/* dynamo_words.c; in any case of letters */
bool dynamo_word_is_reserved(const char *word);

/* dynamo_token.c */
enum dynamo_token_kind {
	DYNAMO_TOKEN_END = 1,
	DYNAMO_TOKEN_BAD,	/* a character that has no meaning */
	DYNAMO_TOKEN_NAME,
	DYNAMO_TOKEN_ALIAS,
	DYNAMO_TOKEN_VALUE,
	DYNAMO_TOKEN_NUMBER,
	DYNAMO_TOKEN_SIGN,	/* one of ()[].,+- */
	DYNAMO_TOKEN_COMPARE,
};

struct dynamo_token {
	enum dynamo_token_kind kind;
	const char *text;
	size_t length;
};

/* The token at @text, after white space. */
struct dynamo_token dynamo_token_read(const char *text);
/* In any case of letters. */
bool dynamo_token_is_word(const struct dynamo_token *, const char *word);
bool dynamo_token_is_sign(const struct dynamo_token *, char);

#endif

/*
 * Shared by the two halves of the parser. Functions that return a node return
 * NULL after an error, which is stored in the expression.
 */
#ifndef DDBLOCKD_TESTS_DYNAMO_PARSE_H
#define DDBLOCKD_TESTS_DYNAMO_PARSE_H

#include "dynamo_expression.h"

struct dynamo_parser {
	struct dynamo_expression *x;
	struct dynamo_token before, now, next;
	struct dynamo_node **end;	/* where the next action goes */
	unsigned depth;
};

/* dynamo_parse.c */
void dynamo_parse(struct dynamo_expression *, const char *text);
void *dynamo_parse_fail(struct dynamo_parser *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void *dynamo_parse_syntax(struct dynamo_parser *);
void dynamo_parse_advance(struct dynamo_parser *);
bool dynamo_parse_take_sign(struct dynamo_parser *, char sign);
bool dynamo_parse_take_word(struct dynamo_parser *, const char *word);
struct dynamo_node *dynamo_parse_node(struct dynamo_parser *,
    enum dynamo_node_kind);
/* False, if there is no child. */
bool dynamo_parse_adopt(struct dynamo_node *parent, struct dynamo_node *child);
/* Is it used where its kind is allowed, as an operand or a condition? */
struct dynamo_node *dynamo_parse_role(struct dynamo_parser *,
    struct dynamo_node *, bool operand);
/* "(" operand *("," operand) ")" */
bool dynamo_parse_list(struct dynamo_parser *, struct dynamo_node *parent);
/* An operand, or a condition in parentheses. */
struct dynamo_node *dynamo_parse_operand(struct dynamo_parser *);

/* dynamo_parse_condition.c */
struct dynamo_node *dynamo_parse_or(struct dynamo_parser *);

#endif

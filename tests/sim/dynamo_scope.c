/*
 * The names and values that a request gives to its expressions.
 */
#include <stdlib.h>
#include <string.h>

#include "dynamo_state.h"

#define SCOPE_NAME_MAX 65535
#define SCOPE_ALIAS_MAX 255	/* with its first sign */

static bool
dynamo_scope_is_alias(const char *text, char first)
{
	struct dynamo_token t = dynamo_token_read(text);

	return text[0] == first && t.length > 1 && text[t.length] == '\0' &&
	    t.length <= SCOPE_ALIAS_MAX;
}

static bool
dynamo_scope_check_names(struct dynamo_scope *s, struct dynamo_error *e)
{
	if (json_object_object_length(s->names) == 0)
		return dynamo_invalid(e,
		    "ExpressionAttributeNames must not be empty");
	json_object_object_foreach(s->names, alias, name) {
		if (!dynamo_scope_is_alias(alias, '#'))
			return dynamo_invalid(e, "ExpressionAttributeNames "
			    "contains invalid key: Syntax error; key: \"%s\"",
			    alias);
		if (name != NULL && !json_object_is_type(name,
		    json_type_string))
			return dynamo_malformed(e,
			    "Unexpected value type in payload");
		if (name == NULL || json_object_get_string_len(name) == 0 ||
		    json_object_get_string_len(name) > SCOPE_NAME_MAX)
			return dynamo_invalid(e, "ExpressionAttributeNames "
			    "contains invalid value for key %s", alias);
	}
	return true;
}

static bool
dynamo_scope_check_values(struct dynamo_scope *s, struct dynamo_error *e)
{
	if (json_object_object_length(s->values) == 0)
		return dynamo_invalid(e,
		    "ExpressionAttributeValues must not be empty");
	json_object_object_foreach(s->values, alias, value) {
		(void)value;
		if (!dynamo_scope_is_alias(alias, ':'))
			return dynamo_invalid(e, "ExpressionAttributeValues "
			    "contains invalid key: Syntax error; key: \"%s\"",
			    alias);
	}
	return dynamo_value_check_all(s->values, e);
}

bool
dynamo_scope_init(struct dynamo_scope *s, struct dynamo_call *call,
    struct json_object *from, bool values)
{
	memset(s, 0, sizeof(*s));
	s->call = call;
	if (!dynamo_get_object(call, from, "ExpressionAttributeNames",
	    &s->names) || (values && !dynamo_get_object(call, from,
	    "ExpressionAttributeValues", &s->values)))
		return false;
	return (s->names == NULL ||
	    dynamo_scope_check_names(s, &call->error)) &&
	    (s->values == NULL || dynamo_scope_check_values(s, &call->error));
}

/* The tree of this text, which stays at least until the request is done. */
static const struct dynamo_expression *
dynamo_scope_parse(struct dynamo *d, enum dynamo_expression_kind kind,
    const char *text)
{
	char key[DYNAMO_EXPRESSION_MAX + 2];
	size_t length = strlen(text) + 1;
	struct dynamo_expression *x;

	key[0] = (char)('0' + kind);
	memcpy(key + 1, text, length);
	HASH_FIND(hh, d->cache, key, length, x);
	if (x != NULL)
		return x;
	x = dynamo_expression_parse(kind, text);
	x->key = dynamo_need(malloc(length));
	memcpy(x->key, key, length);
	HASH_ADD_KEYPTR(hh, d->cache, x->key, length, x);
	return x;
}

/* No request is under way: the oldest go if there are too many. */
void
dynamo_scope_trim(struct dynamo *d, unsigned max)
{
	struct dynamo_expression *x;

	while (HASH_COUNT(d->cache) > max) {
		x = d->cache;
		HASH_DEL(d->cache, x);
		dynamo_expression_free(x);
	}
}

static bool
dynamo_scope_has(const char *const *texts, uint32_t n, const char *text)
{
	for (uint32_t i = 0; i < n; i++) {
		if (strcmp(texts[i], text) == 0)
			return true;
	}
	return false;
}

/* Is it new, in none of the expressions bound before? */
static bool
dynamo_scope_is_new(const struct dynamo_scope *s, const char *text)
{
	const struct dynamo_bound *all[] = { &s->condition, &s->update,
	    &s->projection };

	for (size_t i = 0; i < 3; i++) {
		const struct dynamo_expression *x = all[i]->x;

		if (x == NULL)
			continue;
		if (text[0] == '#' ?
		    dynamo_scope_has(x->names, x->n_names, text) :
		    dynamo_scope_has(x->values, x->n_values, text))
			return false;
	}
	return true;
}

static bool
dynamo_scope_bind_names(struct dynamo_scope *s, struct dynamo_bound *b)
{
	struct json_object *name;

	b->names = dynamo_call_alloc(s->call,
	    b->x->n_names * sizeof(*b->names));
	for (uint32_t i = 0; i < b->x->n_names; i++) {
		if (s->names == NULL || !json_object_object_get_ex(s->names,
		    b->x->names[i], &name))
			return dynamo_invalid(&s->call->error,
			    "Invalid %s: An expression attribute name used in "
			    "the document path is not defined; attribute "
			    "name: %.100s", dynamo_expression_name(b->x->kind),
			    b->x->names[i]);
		b->names[i] = json_object_get_string(name);
		s->n_names_used += dynamo_scope_is_new(s, b->x->names[i]);
	}
	return true;
}

static bool
dynamo_scope_bind_values(struct dynamo_scope *s, struct dynamo_bound *b)
{
	b->values = dynamo_call_alloc(s->call,
	    b->x->n_values * sizeof(struct json_object *));
	for (uint32_t i = 0; i < b->x->n_values; i++) {
		if (s->values == NULL || !json_object_object_get_ex(s->values,
		    b->x->values[i], &b->values[i]))
			return dynamo_invalid(&s->call->error,
			    "Invalid %s: An expression attribute value used "
			    "in expression is not defined; attribute value: "
			    "%.100s", dynamo_expression_name(b->x->kind),
			    b->x->values[i]);
		s->n_values_used += dynamo_scope_is_new(s, b->x->values[i]);
	}
	return true;
}

bool
dynamo_scope_bind(struct dynamo_scope *s, struct json_object *from,
    enum dynamo_expression_kind kind)
{
	struct dynamo_error *e = &s->call->error;
	const char *name = dynamo_expression_name(kind);
	struct dynamo_bound b = { 0 };
	const char *text;

	if (!dynamo_get_text(s->call, from, name, &text))
		return false;
	if (text == NULL)
		return true;
	if (strlen(text) > DYNAMO_EXPRESSION_MAX)
		return dynamo_invalid(e, "Invalid %s: Expression size has "
		    "exceeded the maximum allowed size; expression size: %zu",
		    name, strlen(text));
	b.x = dynamo_scope_parse(s->call->dynamo, kind, text);
	if (b.x->error != NULL)
		return dynamo_invalid(e, "%s", b.x->error);
	if (!dynamo_scope_bind_names(s, &b) ||
	    !dynamo_scope_bind_values(s, &b))
		return false;
	if (kind == DYNAMO_UPDATE)
		s->update = b;
	else if (kind == DYNAMO_PROJECTION)
		s->projection = b;
	else
		s->condition = b;
	return kind == DYNAMO_PROJECTION ||
	    dynamo_operand_check(&b, b.x->root, e);
}

static bool
dynamo_scope_unused(const struct dynamo_scope *s, struct json_object *given,
    const char *what)
{
	json_object_object_foreach(given, alias, value) {
		(void)value;
		if (dynamo_scope_is_new(s, alias))
			return dynamo_invalid(&s->call->error, "Value "
			    "provided in %s unused in expressions: keys: {%s}",
			    what, alias);
	}
	return true;
}

bool
dynamo_scope_finish(struct dynamo_scope *s)
{
	bool any = s->condition.x != NULL || s->update.x != NULL ||
	    s->projection.x != NULL;

	if (s->names != NULL && !any)
		return dynamo_invalid(&s->call->error,
		    "ExpressionAttributeNames can only be specified when "
		    "using expressions");
	if (s->values != NULL && !any)
		return dynamo_invalid(&s->call->error,
		    "ExpressionAttributeValues can only be specified when "
		    "using expressions");
	if (s->names != NULL && s->n_names_used !=
	    (uint32_t)json_object_object_length(s->names))
		return dynamo_scope_unused(s, s->names,
		    "ExpressionAttributeNames");
	if (s->values != NULL && s->n_values_used !=
	    (uint32_t)json_object_object_length(s->values))
		return dynamo_scope_unused(s, s->values,
		    "ExpressionAttributeValues");
	return true;
}

/*
 * TransactWriteItems: all writes or none; and once only, for ten minutes, under
 * a client token.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dynamo_state.h"

#define TRANSACT_TOKEN_MAX 36	/* characters */

void
dynamo_token_free(struct dynamo_token_entry *e)
{
	json_object_put(e->body);
	free(e->token);
	free(e);
}

/* Forget old tokens, and find this token. */
static struct dynamo_token_entry *
dynamo_transact_find(struct dynamo_call *call, const char *token)
{
	struct dynamo_token_entry **at = &call->dynamo->tokens;
	struct dynamo_token_entry *e;

	while ((e = *at) != NULL) {
		if (call->wall_ms >= e->wall_ms + DYNAMO_TOKEN_MS) {
			*at = e->next;
			dynamo_token_free(e);
		} else if (strcmp(e->token, token) == 0) {
			return e;
		} else {
			at = &e->next;
		}
	}
	return NULL;
}

static void
dynamo_transact_remember(struct dynamo_call *call, const char *token)
{
	struct dynamo_token_entry *e = dynamo_need(calloc(1, sizeof(*e)));

	e->token = dynamo_need(strdup(token));
	e->body = json_object_get(call->body);
	e->wall_ms = call->wall_ms;
	e->next = call->dynamo->tokens;
	call->dynamo->tokens = e;
}

/* Which of the four actions it is, and its content. */
static bool
dynamo_transact_kind(struct dynamo_call *call, struct json_object *action,
    struct dynamo_write *w)
{
	static const char *const names[] = { [DYNAMO_PUT] = "Put",
	    [DYNAMO_UPDATE_ITEM] = "Update", [DYNAMO_DELETE_ITEM] = "Delete",
	    [DYNAMO_CHECK] = "ConditionCheck" };

	if (!json_object_is_type(action, json_type_object))
		return dynamo_malformed(&call->error,
		    "Unexpected value type in payload");
	for (int i = DYNAMO_PUT; i <= DYNAMO_CHECK; i++) {
		struct json_object *from;

		if (!dynamo_get_object(call, action, names[i], &from))
			return false;
		if (from != NULL && w->kind != 0)
			return dynamo_invalid(&call->error, "TransactItems "
			    "can only contain one of Check, Put, Update or "
			    "Delete");
		if (from != NULL) {
			w->kind = (enum dynamo_write_kind)i;
			w->from = from;
		}
	}
	return w->kind != 0 || dynamo_invalid(&call->error, "Invalid Request: "
	    "TransactWriteRequest should contain Delete or Put or Update "
	    "request");
}

static bool
dynamo_transact_plan(struct dynamo_call *call, struct json_object *actions,
    struct dynamo_write *writes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct dynamo_write *w = &writes[i];
		const char *required = NULL;

		if (!dynamo_transact_kind(call,
		    json_object_array_get_idx(actions, i), w) ||
		    !dynamo_write_plan(call, w))
			return false;
		if (w->kind == DYNAMO_CHECK && w->scope.condition.x == NULL)
			required = "conditionCheck.member.conditionExpression";
		if (w->kind == DYNAMO_UPDATE_ITEM && w->scope.update.x == NULL)
			required = "update.member.updateExpression";
		if (required != NULL)
			return dynamo_invalid(&call->error, "1 validation "
			    "error detected: Value null at 'transactItems."
			    "%zu.member.%s' failed to satisfy constraint: "
			    "Member must not be null", i + 1, required);
	}
	return true;
}

static bool
dynamo_transact_locate(struct dynamo_call *call, struct dynamo_write *writes,
    size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!dynamo_write_locate(call, &writes[i]))
			return false;
		for (size_t j = 0; j < i; j++) {
			if (dynamo_place_same(&writes[i].place,
			    &writes[j].place))
				return dynamo_invalid(&call->error,
				    "Transaction request cannot include "
				    "multiple operations on one item");
		}
	}
	return true;
}

/* Why this action cancels the transaction; or that it does not. */
static struct json_object *
dynamo_transact_reason(const struct dynamo_error *e)
{
	struct json_object *reason = dynamo_need(json_object_new_object());
	bool condition = e->name != NULL &&
	    strcmp(e->name, "ConditionalCheckFailedException") == 0;

	dynamo_add_constant(reason, "Code", dynamo_need(
	    json_object_new_string(e->name == NULL ? "None" : condition ?
	    "ConditionalCheckFailed" : e->throttled != NULL ?
	    "ThrottlingError" : "ValidationError")));
	if (e->name == NULL)
		return reason;
	dynamo_add_constant(reason, "Message", dynamo_need(
	    json_object_new_string(e->message)));
	if (e->item != NULL)
		dynamo_add_constant(reason, "Item",
		    json_object_get(e->item));
	return reason;
}

/* Prepare all actions, and report the result of each. */
static bool
dynamo_transact_prepare(struct dynamo_call *call, struct dynamo_write *writes,
    size_t n)
{
	static const struct dynamo_error none = { 0 };
	struct json_object *reasons = dynamo_call_keep(call,
	    dynamo_need(json_object_new_array()));
	char codes[DYNAMO_MESSAGE_SIZE - 120] = "";
	size_t length = 0;
	bool failed = false, throttled = false;

	for (size_t i = 0; i < n; i++) {
		struct json_object *reason;

		call->error = none;
		if (!dynamo_capacity_has(call, &writes[i].place, true))
			failed = throttled = true;
		else if (!dynamo_write_prepare(call, &writes[i]))
			failed = true;
		reason = dynamo_transact_reason(&call->error);
		(void)json_object_array_add(reasons, reason);
		if (length < sizeof(codes) - 1)
			length += (size_t)snprintf(codes + length,
			    sizeof(codes) - length, "%s%s", i > 0 ? ", " : "",
			    json_object_get_string(
			    json_object_object_get(reason, "Code")));
	}
	call->error = none;
	for (size_t i = 0; i < n && !throttled; i++)
		dynamo_capacity_write(call, &writes[i], 2);
	if (!failed)
		return true;
	call->error.reasons = reasons;
	return dynamo_error_set(&call->error, "TransactionCanceledException",
	    "Transaction cancelled, please refer cancellation reasons for "
	    "specific reasons [%s]", codes);
}

/* One for each table that is written to. */
static void
dynamo_transact_answer(struct dynamo_call *call,
    const struct dynamo_write *writes, size_t n, bool capacity)
{
	const char *comma = "\"ConsumedCapacity\":[";

	(void)buffer_append_text(call->to, "{");
	for (size_t i = 0; capacity && i < n; i++) {
		size_t units = 0;
		bool first = true;

		for (size_t j = 0; j < n; j++) {
			if (strcmp(writes[j].table, writes[i].table) != 0)
				continue;
			first = first && j >= i;
			units += 2;
		}
		if (!first)
			continue;
		(void)buffer_printf(call->to, "%s{\"TableName\":\"%s\","
		    "\"CapacityUnits\":%zu.0}", comma, writes[i].table,
		    units);
		comma = ",";
	}
	(void)buffer_append_text(call->to, capacity ? "]}" : "}");
}

/* Is it the request of its token? */
static bool
dynamo_transact_is_repeated(struct dynamo_call *call, const char *token,
    bool *ret)
{
	const struct dynamo_token_entry *e = dynamo_transact_find(call, token);

	*ret = e != NULL;
	if (e == NULL || json_object_equal(e->body, call->body))
		return true;
	return dynamo_error_set(&call->error,
	    "IdempotentParameterMismatchException", "Idempotent parameters "
	    "do not match previous request");
}

bool
dynamo_transact_write_items(struct dynamo_call *call)
{
	struct json_object *actions;
	struct dynamo_write *writes;
	const char *token;
	bool repeated = false;
	bool capacity;
	size_t n;

	if (!dynamo_get_array(call, call->body, "TransactItems", &actions) ||
	    !dynamo_get_text(call, call->body, "ClientRequestToken", &token) ||
	    !dynamo_check_capacity(call, &capacity))
		return false;
	n = actions == NULL ? 0 : json_object_array_length(actions);
	if (n < 1 || n > DYNAMO_TRANSACTION_MAX)
		return dynamo_invalid(&call->error, "1 validation error "
		    "detected: Value at 'transactItems' failed to satisfy "
		    "constraint: Member must have length between 1 and %d",
		    DYNAMO_TRANSACTION_MAX);
	if (token != NULL && (token[0] == '\0' ||
	    strlen(token) > TRANSACT_TOKEN_MAX))
		return dynamo_invalid(&call->error, "1 validation error "
		    "detected: Value at 'clientRequestToken' failed to "
		    "satisfy constraint: Member must have length between 1 "
		    "and %d", TRANSACT_TOKEN_MAX);
	writes = dynamo_call_alloc(call, n * sizeof(*writes));
	if (!dynamo_transact_plan(call, actions, writes, n))
		return false;
	if (token != NULL &&
	    !dynamo_transact_is_repeated(call, token, &repeated))
		return false;
	if (!repeated) {
		if (!dynamo_transact_locate(call, writes, n) ||
		    !dynamo_transact_prepare(call, writes, n))
			return false;
		for (size_t i = 0; i < n; i++)
			dynamo_write_commit(call, &writes[i]);
		if (token != NULL)
			dynamo_transact_remember(call, token);
	}
	dynamo_transact_answer(call, writes, n, capacity);
	return true;
}

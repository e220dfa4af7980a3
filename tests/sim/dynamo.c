/*
 * A model of DynamoDB: requests come in here, and answers go out.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_shape.h"
#include "dynamo_state.h"

#define DYNAMO_JSON_DEPTH 200	/* 32 values in each other take far less */
#define DYNAMO_ANSWER_MAX (20 * 1024 * 1024)	/* bytes */

static const struct {
	const char *name;
	bool (*run)(struct dynamo_call *);
} dynamo_operations[] = {
	{ "UpdateItem", dynamo_update_item },
	{ "GetItem", dynamo_get_item },
	{ "PutItem", dynamo_put_item },
	{ "BatchGetItem", dynamo_batch_get_item },
	{ "DeleteItem", dynamo_delete_item },
	{ "Scan", dynamo_scan },
	{ "TransactWriteItems", dynamo_transact_write_items },
	{ "CreateTable", dynamo_create_table },
	{ "DescribeTable", dynamo_describe_table },
	{ "DeleteTable", dynamo_delete_table },
	{ "UpdateTimeToLive", dynamo_update_ttl },
	{ "DescribeTimeToLive", dynamo_describe_ttl },
};

void *
dynamo_need(void *memory)
{
	if (memory == NULL) {
		(void)fprintf(stderr,
		    "the model of DynamoDB is out of memory\n");
		exit(EXIT_FAILURE);
	}
	return memory;
}

void
dynamo_add_constant(struct json_object *o, const char *name,
    struct json_object *value)
{
	if (json_object_object_add_ex(o, name, value,
	    JSON_C_OBJECT_ADD_KEY_IS_NEW | JSON_C_OBJECT_ADD_CONSTANT_KEY) < 0)
		(void)dynamo_need(NULL);
}

void
dynamo_add_new(struct json_object *o, const char *name,
    struct json_object *value)
{
	if (json_object_object_add_ex(o, name, value,
	    JSON_C_OBJECT_ADD_KEY_IS_NEW) < 0)
		(void)dynamo_need(NULL);
}

struct json_object *
dynamo_call_keep(struct dynamo_call *call, struct json_object *o)
{
	if (call->n_kept == call->sim_contents_size) {
		call->sim_contents_size = call->sim_contents_size * 2 + 16;
		call->kept = dynamo_need(realloc(call->kept,
		    call->sim_contents_size * sizeof(struct json_object *)));
	}
	call->kept[call->n_kept++] = o;
	return o;
}

void *
dynamo_call_alloc(struct dynamo_call *call, size_t n)
{
	return dynamo_memory_alloc(&call->dynamo->memory, n);
}

void
dynamo_answer_init(struct dynamo_answer *a)
{
	a->status = 0;
	buffer_init(&a->body, DYNAMO_ANSWER_MAX);
}

void
dynamo_answer_done(struct dynamo_answer *a)
{
	buffer_done(&a->body);
}

struct dynamo *
dynamo_new(void)
{
	return calloc(1, sizeof(struct dynamo));
}

void
dynamo_free(struct dynamo *d)
{
	struct dynamo_table *t;
	struct dynamo_token_entry *e;

	if (d == NULL)
		return;
	while ((t = d->tables) != NULL) {
		d->tables = t->next;
		dynamo_table_free(t);
	}
	while ((e = d->tokens) != NULL) {
		d->tokens = e->next;
		dynamo_token_free(e);
	}
	dynamo_scope_trim(d, 0);
	dynamo_memory_done(&d->memory);
	if (d->tokener != NULL)
		json_tokener_free(d->tokener);
	free(d);
}

void
dynamo_set_lag(struct dynamo *d, uint64_t ms)
{
	d->lag_ms = ms;
}

void
dynamo_refuse_transactions(struct dynamo *d)
{
	d->no_transactions = true;
}

void
dynamo_set_meter(struct dynamo *d, const struct dynamo_meter *meter)
{
	d->meter = meter;
}

void
dynamo_watch(struct dynamo *d, dynamo_watch_fn watch, void *arg)
{
	d->watch = watch;
	d->watch_arg = arg;
}

void
dynamo_refuse_condition(struct dynamo *d)
{
	d->refuses = true;
}

void
dynamo_set_page(struct dynamo *d, size_t n)
{
	d->page = n;
}

void
dynamo_leave_unprocessed(struct dynamo *d, size_t n)
{
	d->n_unprocessed = n;
}

void
dynamo_fail(struct dynamo_answer *ret, int status, const char *name,
    const char *message)
{
	struct dynamo_error e = { 0 };

	(void)dynamo_error_set(&e, name, "%s", message);
	dynamo_write_error(ret, status, &e);
}

/* The body of a request; NULL: it is no JSON. */
static struct json_object *
dynamo_read(struct dynamo *d, const char *body, size_t length)
{
	struct json_object *o;

	/* As strict as the service; json-c is not, unless it is told to be, and
	 * then version 0.18 takes nothing but ASCII. */
	if (length > INT32_MAX || !json_shape_is_object(body, length))
		return NULL;
	if (d->tokener == NULL) {
		d->tokener = dynamo_need(
		    json_tokener_new_ex(DYNAMO_JSON_DEPTH));
		json_tokener_set_flags(d->tokener,
		    JSON_TOKENER_VALIDATE_UTF8);
	}
	json_tokener_reset(d->tokener);
	o = json_tokener_parse_ex(d->tokener, body, (int)length);
	if (json_tokener_get_error(d->tokener) == json_tokener_success)
		return o;
	/* A reset does not make it forget half of a surrogate pair. */
	json_tokener_free(d->tokener);
	d->tokener = NULL;
	json_object_put(o);
	return NULL;
}

static bool
dynamo_carry_out(struct dynamo_call *call, const char *operation,
    const char *body, size_t length)
{
	size_t n = sizeof(dynamo_operations) / sizeof(dynamo_operations[0]);
	size_t i = 0;

	while (i < n && strcmp(dynamo_operations[i].name, operation) != 0)
		i++;
	if (i == n || (call->dynamo->no_transactions &&
	    strcmp(operation, "TransactWriteItems") == 0))
		return dynamo_error_set(&call->error,
		    "UnknownOperationException", "%s", "");
	call->body = dynamo_read(call->dynamo, body, length);
	if (!json_object_is_type(call->body, json_type_object))
		return dynamo_malformed(&call->error, "%s", "");
	return dynamo_operations[i].run(call);
}

void
dynamo_request(struct dynamo *d, uint64_t wall_ms, const char *operation,
    const char *body, size_t length, struct dynamo_answer *ret)
{
	struct dynamo_call call = {
		.dynamo = d, .wall_ms = wall_ms, .to = &ret->body,
	};

	d->now_ms = wall_ms;
	buffer_clear(&ret->body);
	ret->status = 200;
	if (!dynamo_carry_out(&call, operation, body, length))
		dynamo_write_error(ret, 400, &call.error);
	d->refuses = false;
	if (buffer_failed(&ret->body) != 0)
		(void)dynamo_need(NULL);
	for (size_t i = 0; i < call.n_kept; i++)
		json_object_put(call.kept[i]);
	free(call.kept);
	json_object_put(call.body);
	dynamo_memory_clear(&d->memory);
	dynamo_scope_trim(d, DYNAMO_CACHE_MAX);
}

/* Has this item lived too long? */
static bool
dynamo_is_expired(const struct dynamo_table *t, struct json_object *item,
    uint64_t wall_s)
{
	struct dynamo_number n, now, oldest;
	struct json_object *value;
	char text[24];

	if (!json_object_object_get_ex(item, t->ttl_attribute, &value) ||
	    dynamo_value_type(value) != DYNAMO_N)
		return false;
	dynamo_value_number(value, &n);
	(void)dynamo_number_parse(text, (size_t)snprintf(text, sizeof(text),
	    "%llu", (unsigned long long)wall_s), &now);
	/* An older time is taken for another kind of number. */
	(void)dynamo_number_parse(text, (size_t)snprintf(text, sizeof(text),
	    "%lld", (long long)wall_s - DYNAMO_TTL_OLDEST_S), &oldest);
	return dynamo_number_compare(&n, &now) < 0 &&
	    dynamo_number_compare(&n, &oldest) >= 0;
}

void
dynamo_expire(struct dynamo *d, uint64_t wall_s)
{
	struct dynamo_error e = { 0 };
	struct dynamo_place p;

	for (struct dynamo_table *t = d->tables; t != NULL; t = t->next) {
		if (t->ttl_attribute == NULL)
			continue;
		for (size_t i = t->n_items; i > 0; i--) {
			struct json_object *item = t->items[i - 1].tree;

			if (dynamo_is_expired(t, item, wall_s) &&
			    dynamo_place_find(t, item, false, &p, &e))
				dynamo_place_write(d, &p, NULL, 0, true);
		}
	}
}

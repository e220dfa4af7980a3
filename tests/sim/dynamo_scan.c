/*
 * Scan: pages of a table, in the order of its items.
 */
#include <string.h>

#include "dynamo_state.h"

#define SCAN_SEGMENTS_MAX 1000000

enum dynamo_select {
	SELECT_NONE,
	SELECT_ALL,
	SELECT_COUNT,
	SELECT_SPECIFIC,
};

struct dynamo_scan {
	const char *name;
	struct dynamo_table *table;
	struct dynamo_scope scope;
	struct dynamo_branch root;
	struct json_object *start;	/* the key before; or NULL */
	int64_t limit;			/* 0: none */
	int64_t segment, segments;	/* segments 0: the whole table */
	enum dynamo_select select;
	bool capacity;
};

static bool
dynamo_scan_numbers(struct dynamo_call *call, struct dynamo_scan *s)
{
	s->limit = s->segment = s->segments = -1;
	if (!dynamo_get_number(call, call->body, "Limit", &s->limit) ||
	    !dynamo_get_number(call, call->body, "Segment", &s->segment) ||
	    !dynamo_get_number(call, call->body, "TotalSegments",
	    &s->segments))
		return false;
	if (json_object_object_get(call->body, "Limit") != NULL &&
	    s->limit < 1)
		return dynamo_invalid(&call->error, "1 validation error "
		    "detected: Value '%lld' at 'limit' failed to satisfy "
		    "constraint: Member must have value greater than or equal "
		    "to 1", (long long)s->limit);
	if ((json_object_object_get(call->body, "Segment") != NULL) !=
	    (json_object_object_get(call->body, "TotalSegments") != NULL))
		return dynamo_invalid(&call->error, "The Segment and the "
		    "TotalSegments parameters must both be present in the "
		    "request");
	if (json_object_object_get(call->body, "TotalSegments") == NULL) {
		s->segments = 0;
	} else if (s->segments < 1 || s->segments > SCAN_SEGMENTS_MAX ||
	    s->segment < 0 || s->segment >= s->segments) {
		return dynamo_invalid(&call->error, "The Segment parameter is "
		    "zero-based and must be less than parameter "
		    "TotalSegments: Segment: %lld, TotalSegments: %lld",
		    (long long)s->segment, (long long)s->segments);
	}
	if (s->limit < 0)
		s->limit = 0;
	return true;
}

static bool
dynamo_scan_plan(struct dynamo_call *call, struct dynamo_scan *s)
{
	static const char *const words[] = { "", "ALL_ATTRIBUTES", "COUNT",
	    "SPECIFIC_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES", NULL };
	bool consistent = false;
	size_t word;

	if (!dynamo_table_name(call, call->body, &s->name) ||
	    !dynamo_get_bool(call, call->body, "ConsistentRead",
	    &consistent) || !dynamo_check_capacity(call, &s->capacity) ||
	    !dynamo_get_word(call, call->body, "Select", words, &word) ||
	    !dynamo_get_object(call, call->body, "ExclusiveStartKey",
	    &s->start) || !dynamo_scan_numbers(call, s))
		return false;
	s->select = (enum dynamo_select)word;
	if (s->start != NULL && !dynamo_value_check_all(s->start,
	    &call->error))
		return false;
	if (!dynamo_scope_init(&s->scope, call, call->body, true) ||
	    !dynamo_scope_bind(&s->scope, call->body, DYNAMO_FILTER) ||
	    !dynamo_scope_bind(&s->scope, call->body, DYNAMO_PROJECTION) ||
	    !dynamo_scope_finish(&s->scope))
		return false;
	if (word > SELECT_SPECIFIC ||
	    (s->select == SELECT_SPECIFIC && s->scope.projection.x == NULL) ||
	    (s->scope.projection.x != NULL &&
	    (s->select == SELECT_ALL || s->select == SELECT_COUNT)))
		return dynamo_invalid(&call->error, "Cannot specify the "
		    "ProjectionExpression when choosing to get %s",
		    words[word]);
	return s->scope.projection.x == NULL ||
	    dynamo_document_plant(call, &s->scope.projection, &s->root);
}

static bool
dynamo_scan_in_segment(const struct dynamo_scan *s, uint64_t hash)
{
	return s->segments == 0 ||
	    (int64_t)((hash >> 32) * (uint64_t)s->segments >> 32) ==
	    s->segment;
}

/* Does this item go into the page? Then it is written there. */
static bool
dynamo_scan_item(struct dynamo_call *call, struct dynamo_scan *s,
    struct json_object *item, bool first)
{
	struct json_object *shown = item;

	if (!dynamo_condition_holds(call, &s->scope.condition, item))
		return false;
	if (s->select == SELECT_COUNT)
		return true;
	if (s->scope.projection.x != NULL) {
		shown = dynamo_document_project(&s->root, item);
		if (shown == NULL)
			shown = dynamo_need(json_object_new_object());
		(void)dynamo_call_keep(call, shown);
	}
	(void)buffer_append_text(call->to, first ? "" : ",");
	dynamo_write_json(call->to, shown);
	return true;
}

static void
dynamo_scan_page(struct dynamo_call *call, struct dynamo_scan *s, size_t index)
{
	struct dynamo_table *t = s->table;
	struct json_object *last = NULL;
	size_t bytes = 0;
	int64_t scanned = 0;
	int64_t count = 0;

	(void)buffer_append_text(call->to, s->select == SELECT_COUNT ? "{" :
	    "{\"Items\":[");
	for (; index < t->n_items; index++) {
		struct dynamo_item *i = &t->items[index];

		if (!dynamo_scan_in_segment(s, i->hash))
			continue;
		if (dynamo_scan_item(call, s, i->tree, count == 0))
			count++;
		scanned++;
		bytes += dynamo_place_item_bytes(i);
		if (scanned == s->limit || bytes >= DYNAMO_PAGE_MAX ||
		    (size_t)scanned == call->dynamo->page) {
			last = i->tree;
			break;
		}
	}
	(void)buffer_printf(call->to, "%s\"Count\":%lld,\"ScannedCount\":%lld",
	    s->select == SELECT_COUNT ? "" : "],", (long long)count,
	    (long long)scanned);
	if (last != NULL) {
		(void)buffer_append_text(call->to, ",\"LastEvaluatedKey\":");
		dynamo_write_json(call->to, dynamo_call_keep(call,
		    dynamo_place_key(t, last)));
	}
	if (s->capacity) {
		(void)buffer_append_text(call->to, ",");
		dynamo_write_capacity(call->to, s->name, bytes / 4096 + 1);
	}
	(void)buffer_append_text(call->to, "}");
}

bool
dynamo_scan(struct dynamo_call *call)
{
	struct dynamo_scan s = { 0 };
	struct dynamo_place start = { 0 };

	if (!dynamo_scan_plan(call, &s) ||
	    !dynamo_table_of(call, s.name, &s.table))
		return false;
	if (s.start != NULL) {
		if (!dynamo_place_find(s.table, s.start, true, &start,
		    &call->error))
			return dynamo_invalid(&call->error, "The provided "
			    "starting key is invalid: The provided key "
			    "element does not match the schema");
		if (!dynamo_scan_in_segment(&s, start.hash))
			return dynamo_invalid(&call->error, "The provided "
			    "starting key is invalid: it is not in the "
			    "segment");
	}
	dynamo_scan_page(call, &s, start.index + (start.item != NULL ? 1 : 0));
	return true;
}

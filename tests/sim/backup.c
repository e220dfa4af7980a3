/*
 * A backup of a table, and its restoration: all items are as they were, and
 * those that are newer are gone.
 */
#include "world_state.h"

#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

static struct json_object *
backup_request(struct world *w, const char *operation,
    struct json_object *body)
{
	const char *text = json_object_to_json_string(body);
	struct dynamo_answer answer;
	struct json_object *ret;

	dynamo_answer_init(&answer);
	w->writer = FACT_BY_HAND;
	dynamo_request(w->dynamo, WORLD_WALL_MS + w->now, operation, text,
	    strlen(text), &answer);
	ret = json_tokener_parse(answer.body.data);
	dynamo_answer_done(&answer);
	json_object_put(body);
	return ret;
}

static struct json_object *
backup_body(const struct world *w, uint32_t index)
{
	struct json_object *body = json_object_new_object();

	json_object_object_add(body, "TableName",
	    json_object_new_string(w->tables[index].table));
	return body;
}

/* All items, in an array. */
static struct json_object *
backup_scan(struct world *w, uint32_t index)
{
	struct json_object *items = json_object_new_array();
	struct json_object *page, *at, *last = NULL;

	do {
		struct json_object *body = backup_body(w, index);

		if (last != NULL)
			json_object_object_add(body, "ExclusiveStartKey", last);
		page = backup_request(w, "Scan", body);
		json_object_object_get_ex(page, "Items", &at);
		for (size_t i = 0; i < json_object_array_length(at); i++)
			json_object_array_add(items, json_object_get(
			    json_object_array_get_idx(at, i)));
		last = NULL;
		if (json_object_object_get_ex(page, "LastEvaluatedKey", &last))
			last = json_object_get(last);
		json_object_put(page);
	} while (last != NULL);
	return items;
}

static void
backup_copy(struct json_object *to, struct json_object *item, const char *name)
{
	struct json_object *value;

	if (name != NULL && json_object_object_get_ex(item, name, &value))
		json_object_object_add(to, name, json_object_get(value));
}

static struct json_object *
backup_key(const struct world *w, uint32_t index, struct json_object *item)
{
	struct json_object *key = json_object_new_object();

	backup_copy(key, item, w->tables[index].key_attribute);
	backup_copy(key, item, w->tables[index].sort_attribute);
	return key;
}

static bool
backup_has(const struct world *w, uint32_t index, struct json_object *items,
    struct json_object *item)
{
	struct json_object *key = backup_key(w, index, item);
	bool found = false;

	for (size_t i = 0; items != NULL && !found &&
	    i < json_object_array_length(items); i++) {
		struct json_object *other = backup_key(w, index,
		    json_object_array_get_idx(items, i));

		found = json_object_equal(key, other) != 0;
		json_object_put(other);
	}
	json_object_put(key);
	return found;
}

static void
backup_restore(struct world *w, uint32_t index)
{
	struct json_object *now = backup_scan(w, index), *body;
	struct json_object *then = w->backups[index];

	for (size_t i = 0; i < json_object_array_length(now); i++) {
		struct json_object *item = json_object_array_get_idx(now, i);

		if (backup_has(w, index, then, item))
			continue;
		body = backup_body(w, index);
		json_object_object_add(body, "Key",
		    backup_key(w, index, item));
		json_object_put(backup_request(w, "DeleteItem", body));
	}
	for (size_t i = 0; then != NULL && i < json_object_array_length(then);
	    i++) {
		body = backup_body(w, index);
		json_object_object_add(body, "Item", json_object_get(
		    json_object_array_get_idx(then, i)));
		json_object_put(backup_request(w, "PutItem", body));
	}
	json_object_put(now);
}

void
backup_step(struct world *w, uint32_t index, bool restore)
{
	if (restore) {
		backup_restore(w, index);
		return;
	}
	json_object_put(w->backups[index]);
	w->backups[index] = backup_scan(w, index);
}

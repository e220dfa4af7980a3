/*
 * The native record format: answers that show many records.
 *
 * Each record is judged by itself: a record that is not in the format, or was
 * not read this time, does not affect the others.
 */
#include <string.h>

#include <json-c/json.h>

#include "ddblock.h"
#include "dialect/dialect_item.h"
#include "dialect/json.h"
#include "dialect/native/native.h"

/* The index in @o of the key of @item. n_keys: none. */
static int
native_find_item(const struct dialect_table *table, const struct operation *o,
    struct json_object *item, struct dialect_view *view, size_t *ret)
{
	struct key name;
	int r = native_item_name(table, item, view, &name);
	size_t i = 0;

	if (r < 0)
		return r;
	if (r == 0)
		i = o->n_keys;
	while (i < o->n_keys && !key_equal(o->keys[i], name))
		i++;
	*ret = i;
	return 0;
}

/* An unprocessed key is not an absent one. */
static int
native_read_unprocessed(const struct dialect_table *table,
    const struct operation *o, struct json_object *root,
    struct dialect_view *view)
{
	struct json_object *keys = json_find(json_find(json_find(root,
	    "UnprocessedKeys"), table->table), "Keys");
	size_t n = json_object_is_type(keys, json_type_array) ?
	    json_object_array_length(keys) : 0;

	for (size_t i = 0; i < n; i++) {
		size_t at = 0;
		int r = native_find_item(table, o,
		    json_object_array_get_idx(keys, i), view, &at);

		if (r < 0)
			return r;
		if (at < o->n_keys)
			view->parts[at] = DIALECT_PART_UNSEEN;
	}
	return 0;
}

static int
native_read_many_items(const struct dialect_table *table,
    const struct operation *o, struct json_object *items,
    struct dialect_view *view)
{
	bool multi = o->kind == OPERATION_MULTI;
	size_t n = json_object_is_type(items, json_type_array) ?
	    json_object_array_length(items) : 0;

	for (size_t i = 0; i < n; i++) {
		struct json_object *item = json_object_array_get_idx(items, i);
		size_t at = 0;
		int r = native_find_item(table, o, item, view, &at);

		if (r < 0)
			return r;
		if (at == o->n_keys)
			continue;
		r = native_read_row(table, item, o->keys[at],
		    multi ? o->parts[at] : NULL, view, &view->locks[at]);
		if (r == DDBLOCK_E_NOMEM)
			return r;
		if (r < 0)
			view->parts[at] = DIALECT_PART_BAD;
	}
	return 0;
}

int
native_read_many(const struct dialect_table *table, const struct operation *o,
    struct json_object *root, struct dialect_view *view)
{
	struct json_object *responses = json_find(root, "Responses");
	int r;

	if (responses == NULL)
		return DDBLOCK_E_PROTOCOL;
	view->locks = dialect_view_alloc(view, o->n_keys,
	    sizeof(*view->locks));
	view->processed = dialect_view_alloc(view, o->n_keys, sizeof(bool));
	view->parts = dialect_view_alloc(view, o->n_keys,
	    sizeof(*view->parts));
	if (view->locks == NULL || view->processed == NULL ||
	    view->parts == NULL)
		return DDBLOCK_E_NOMEM;
	for (size_t i = 0; i < o->n_keys; i++)
		view->parts[i] = DIALECT_PART_SEEN;
	r = native_read_unprocessed(table, o, root, view);
	if (r == 0)
		r = native_read_many_items(table, o,
		    json_find(responses, table->table), view);
	if (r < 0)
		return r;
	for (size_t i = 0; i < o->n_keys; i++)
		view->processed[i] = view->parts[i] == DIALECT_PART_SEEN;
	view->has_record = true;
	return 0;
}

/* What one reason of a cancelled transaction says of its key. */
static int
native_read_reason(const struct dialect_table *table,
    const struct operation *o, size_t i, struct json_object *reason,
    struct dialect_view *view)
{
	struct json_object *item = json_find(reason, "Item");
	size_t length;
	const char *code = json_string(json_find(reason, "Code"), &length);
	int r = 0;

	if (code == NULL || strcmp(code, "ConditionalCheckFailed") != 0) {
		view->parts[i] = DIALECT_PART_SPARED;
	} else if (item != NULL) {
		r = native_read_row(table, item, o->keys[i], o->parts[i],
		    view, &view->locks[i]);
		view->parts[i] = r == 0 ? DIALECT_PART_SEEN :
		    DIALECT_PART_BAD;
	}
	return r == DDBLOCK_E_NOMEM ? r : 0;
}

static int
native_read_reasons(const struct dialect_table *table,
    const struct operation *o, struct dialect_view *view)
{
	struct json_object *reasons =
	    json_find(view->json, "CancellationReasons");

	if (!json_object_is_type(reasons, json_type_array) ||
	    json_object_array_length(reasons) != o->n_keys)
		return DDBLOCK_E_PROTOCOL;
	view->locks = dialect_view_alloc(view, o->n_keys,
	    sizeof(*view->locks));
	view->parts = dialect_view_alloc(view, o->n_keys,
	    sizeof(*view->parts));
	if (view->locks == NULL || view->parts == NULL)
		return DDBLOCK_E_NOMEM;
	for (size_t i = 0; i < o->n_keys; i++) {
		int r = native_read_reason(table, o, i,
		    json_object_array_get_idx(reasons, i), view);

		if (r < 0)
			return r;
	}
	view->has_record = true;
	return 0;
}

/* The write itself shows no record: the look that follows does. */
int
native_read_multi(const struct dialect_table *table,
    const struct operation *o, const struct dialect_attempt *a,
    bool conflict, struct dialect_view *view)
{
	if (conflict)
		return native_read_reasons(table, o, view);
	if (a->step == DIALECT_LOOK)
		return native_read_many(table, o, view->json, view);
	return 0;
}

int
native_read_page(const struct dialect_table *table, struct json_object *root,
    struct dialect_view *view)
{
	struct json_object *items = json_find(root, "Items");
	struct json_object *last = json_find(root, "LastEvaluatedKey");
	size_t n;
	int r;

	if (!json_object_is_type(items, json_type_array))
		return DDBLOCK_E_PROTOCOL;
	n = json_object_array_length(items);
	if (n > SCAN_PAGE_MAX)
		return DDBLOCK_E_PROTOCOL;
	view->rows = dialect_view_alloc(view, n + 1, sizeof(*view->rows));
	if (view->rows == NULL)
		return DDBLOCK_E_NOMEM;
	for (size_t i = 0; i < n; i++) {
		struct json_object *item = json_object_array_get_idx(items, i);
		struct scan_row *row = &view->rows[view->n_rows];

		r = native_item_name(table, item, view, &row->key);
		if (r < 0)
			return r;
		if (r == 0)
			continue;
		r = native_read_row(table, item, row->key, NULL, view,
		    &row->record);
		if (r == DDBLOCK_E_NOMEM)
			return r;
		if (r == 0)
			view->n_rows++;
	}
	r = last == NULL ? 0 :
	    native_item_cursor(table, last, view, &view->next_cursor);
	if (r < 0)
		return r;
	dialect_read_cost(root, view);
	view->has_record = true;
	return 0;
}

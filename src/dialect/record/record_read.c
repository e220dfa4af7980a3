/*
 * Formats of one item and one holder: answers.
 *
 * Records are written by several clients, and by hand. An attribute of a wrong
 * type or form is refused with its place named, because to guess the holder is
 * worse than to stop.
 */
#include <string.h>

#include <json-c/json.h>

#include "ddblock.h"
#include "dialect/dialect_item.h"
#include "dialect/json.h"
#include "dialect/record/record.h"

static int
read_lock(struct record_reader *r, struct json_object *item,
    struct lock_record *ret)
{
	struct lock_record l = {
		.exists = true, .mode = LOCK_MODE_EXCLUSIVE,
	};

	if (!json_object_is_type(item, json_type_object))
		return DDBLOCK_E_PROTOCOL;
	r->format->read(r, item, &l);
	if (r->error == 0 && r->format->to_mark != NULL)
		record_read_marks(r, item, &l);
	l.broken = ret->broken;
	if (r->error == 0)
		*ret = l;
	return r->error;
}

/* The item of a request for one; an absent one is a record too. */
static int
read_item(struct record_reader *r, struct json_object *item)
{
	char bytes[RECORD_KEY_MAX];

	r->view->has_record = true;
	if (item == NULL)
		return 0;
	if (record_item_of(r->table, r->operation->key, bytes, &r->item) !=
	    NULL)
		return DDBLOCK_E_PROTOCOL;
	return read_lock(r, item, &r->view->lock);
}

/*
 * One record of many. A record that is not in the format does not affect the
 * others: it is left out, and the view's text names the first such record.
 */
static int
read_row(struct record_reader *r, struct json_object *item, struct key name,
    struct lock_record *ret)
{
	struct record_reader row = *r;
	char bytes[RECORD_KEY_MAX];
	char first[OUTCOME_TEXT_MAX];
	int error;

	row.operation = NULL;
	memcpy(first, r->view->text, sizeof(first));
	error = record_item_of(r->table, name, bytes, &row.item) != NULL ?
	    DDBLOCK_E_BAD_RECORD : read_lock(&row, item, ret);
	if (first[0] != '\0')
		memcpy(r->view->text, first, sizeof(first));
	return error;
}

/* ---- many -------------------------------------------------------------- */

/* The index of the key of @item. n_keys: none. */
static int
read_find(struct record_reader *r, struct json_object *item, size_t *ret)
{
	const struct operation *o = r->operation;
	struct key name;
	int found = record_item_name(r->table, item, r->view, &name);

	if (found < 0)
		return found;
	*ret = found == 0 ? o->n_keys : 0;
	while (*ret < o->n_keys && !key_equal(o->keys[*ret], name))
		++*ret;
	return 0;
}

static size_t
read_length(struct json_object *array)
{
	return json_object_is_type(array, json_type_array) ?
	    json_object_array_length(array) : 0;
}

/* An unprocessed key is not an absent one. */
static int
read_unprocessed(struct record_reader *r, struct json_object *root)
{
	struct json_object *keys = json_find(json_find(json_find(root,
	    "UnprocessedKeys"), r->table->table), "Keys");

	for (size_t i = 0; i < read_length(keys); i++) {
		size_t at;
		int e = read_find(r, json_object_array_get_idx(keys, i), &at);

		if (e < 0)
			return e;
		if (at < r->operation->n_keys)
			r->view->processed[at] = false;
	}
	return 0;
}

static int
read_many_items(struct record_reader *r, struct json_object *items)
{
	const struct operation *o = r->operation;

	for (size_t i = 0; i < read_length(items); i++) {
		struct json_object *item = json_object_array_get_idx(items, i);
		size_t at;
		int e = read_find(r, item, &at);

		if (e < 0)
			return e;
		if (at == o->n_keys)
			continue;
		e = read_row(r, item, o->keys[at], &r->view->locks[at]);
		if (e == DDBLOCK_E_NOMEM)
			return e;
		if (e < 0)
			r->view->processed[at] = false;
	}
	return 0;
}

static int
read_many(struct record_reader *r, struct json_object *root)
{
	struct json_object *responses = json_find(root, "Responses");
	struct dialect_view *view = r->view;
	size_t n = r->operation->n_keys;
	int e;

	if (responses == NULL)
		return DDBLOCK_E_PROTOCOL;
	view->locks = dialect_view_alloc(view, n, sizeof(*view->locks));
	view->processed = dialect_view_alloc(view, n, sizeof(bool));
	if (view->locks == NULL || view->processed == NULL)
		return DDBLOCK_E_NOMEM;
	for (size_t i = 0; i < n; i++)
		view->processed[i] = true;
	e = read_unprocessed(r, root);
	if (e == 0)
		e = read_many_items(r, json_find(responses, r->table->table));
	view->has_record = e == 0;
	return e;
}

/* ---- a page of a listing ----------------------------------------------- */

static bool
read_matches(const struct operation *o, struct key name,
    const struct lock_record *l)
{
	if (o->held_only && l->n_holders == 0)
		return false;
	return name.length >= o->prefix.length && (o->prefix.length == 0 ||
	    memcmp(name.bytes, o->prefix.bytes, o->prefix.length) == 0);
}

static int
read_page_item(struct record_reader *r, struct json_object *item)
{
	struct dialect_view *view = r->view;
	struct scan_row *row = &view->rows[view->n_rows];
	int e = record_item_name(r->table, item, view, &row->key);

	if (e <= 0)
		return e;
	e = read_row(r, item, row->key, &row->record);
	if (e == DDBLOCK_E_NOMEM)
		return e;
	if (e == 0 && read_matches(r->operation, row->key, &row->record))
		view->n_rows++;
	return 0;
}

static int
read_page(struct record_reader *r, struct json_object *root)
{
	struct json_object *items = json_find(root, "Items");
	struct json_object *last = json_find(root, "LastEvaluatedKey");
	struct dialect_view *view = r->view;
	size_t n = read_length(items);
	int e = 0;

	if (!json_object_is_type(items, json_type_array) || n > SCAN_PAGE_MAX)
		return DDBLOCK_E_PROTOCOL;
	view->rows = dialect_view_alloc(view, n + 1, sizeof(*view->rows));
	if (view->rows == NULL)
		return DDBLOCK_E_NOMEM;
	for (size_t i = 0; i < n && e == 0; i++)
		e = read_page_item(r, json_object_array_get_idx(items, i));
	if (e == 0 && last != NULL)
		e = record_item_cursor(r->table, last, view,
		    &view->next_cursor);
	if (e < 0)
		return e;
	dialect_read_cost(root, view);
	view->has_record = true;
	return 0;
}

/* ---- answers ----------------------------------------------------------- */

/* The answer to a put shows no record; the record is what the request says. */
static int
read_put(struct record_reader *r, const struct record_plan *plan)
{
	struct dialect_view *view = r->view;
	struct buffer item;
	struct record_writer w = {
		.table = r->table, .operation = r->operation,
		.attempt = r->attempt, .to = &item, .format = r->format,
	};
	int e;

	buffer_init(&item, DIALECT_BODY_MAX);
	record_write_item(&w, plan);
	e = buffer_failed(&item);
	if (e == 0) {
		json_object_put(view->json);
		view->json = json_read_object(view->tokener, item.data,
		    item.length);
		e = view->json == NULL ? DDBLOCK_E_NOMEM :
		    read_item(r, view->json);
	}
	buffer_done(&item);
	return e;
}

static int
read_written(struct record_reader *r)
{
	struct record_plan plan = { .verb = RECORD_UPDATE };
	struct json_object *item;

	record_plan(r->format, r->table, r->operation, &plan);
	switch (plan.verb) {
	case RECORD_PUT:
		return read_put(r, &plan);
	case RECORD_DELETE:
		return read_item(r, NULL);
	case RECORD_UPDATE:
		break;
	}
	item = json_find(r->view->json, "Attributes");
	return item == NULL ? DDBLOCK_E_PROTOCOL : read_item(r, item);
}

int
record_answer(const struct record_format *f, const struct dialect_table *table,
    const struct operation *o, const struct dialect_attempt *a, bool conflict,
    const char *body, size_t length, struct dialect_view *view)
{
	struct record_reader r = {
		.format = f, .table = table, .operation = o, .attempt = a,
		.view = view,
	};
	struct json_object *item;

	view->json = json_read_object(view->tokener, body, length);
	if (view->json == NULL)
		return DDBLOCK_E_PROTOCOL;
	if (o->kind == OPERATION_BREAK)
		view->lock.broken = f->hold_of(o->version);
	item = json_find(view->json, "Item");
	/* Absent, or an endpoint that does not return it. */
	if (conflict && item == NULL)
		return 0;
	if (conflict || a->step == DIALECT_LOOK || o->kind == OPERATION_READ)
		return read_item(&r, item);
	if (o->kind == OPERATION_READ_MANY)
		return read_many(&r, view->json);
	if (o->kind == OPERATION_SCAN)
		return read_page(&r, view->json);
	return read_written(&r);
}

/*
 * Formats of one item and one holder: requests.
 *
 * Names and values go through placeholders only, and are collected from the
 * expressions, so that a request has exactly those that it needs.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "ddblock.h"
#include "dialect/dialect_item.h"
#include "dialect/json.h"
#include "dialect/record/record.h"

#define WRITE_PLACES_MAX 16
#define WRITE_PLACE_SIZE 32
#define WRITE_BARE_SIZE 512

static const char write_letters[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";

/* The placeholders of expressions, each once, without their '#' or ':'. */
struct write_places {
	char names[WRITE_PLACES_MAX][WRITE_PLACE_SIZE];
	size_t n;
};

/* The letters at @at; returns the text after them. */
static const char *
write_take(const char *at, char name[WRITE_PLACE_SIZE])
{
	size_t n = strspn(at, write_letters);

	assert(n > 0 && n < WRITE_PLACE_SIZE);
	memcpy(name, at, n);
	name[n] = '\0';
	return at + n;
}

static void
write_collect(const char *expression, char mark, struct write_places *places)
{
	const char *at = expression;
	size_t i;

	while (at != NULL && (at = strchr(at, mark)) != NULL) {
		char *name = places->names[places->n];

		assert(places->n < WRITE_PLACES_MAX);
		at = write_take(at + 1, name);
		for (i = 0; strcmp(places->names[i], name) != 0; i++)
			;
		if (i == places->n)
			places->n++;
	}
}

static void
write_names(struct record_writer *w, const char *one, const char *other)
{
	struct write_places p = { .n = 0 };

	write_collect(one, '#', &p);
	write_collect(other, '#', &p);
	(void)buffer_append_text(w->to, ",\"ExpressionAttributeNames\":{");
	for (size_t i = 0; i < p.n; i++) {
		(void)buffer_printf(w->to, "%s\"#%s\":", i > 0 ? "," : "",
		    p.names[i]);
		json_append_text(w->to,
		    record_name(w->format, w->table, p.names[i]));
	}
	(void)buffer_append_text(w->to, "}");
}

/* The beginning of the keys of a listing. */
static void
write_prefix(struct record_writer *w)
{
	bool bytes = w->table->key_type == DIALECT_KEY_BYTES;
	const char *of_all = w->table->prefix != NULL ? w->table->prefix : "";
	struct buffer prefix;	/* both are short */

	buffer_init(&prefix, RECORD_KEY_MAX + KEY_BYTES_MAX);
	(void)buffer_append_text(&prefix, of_all);
	(void)buffer_append(&prefix, w->operation->prefix.bytes,
	    w->operation->prefix.length);
	if (buffer_failed(&prefix) != 0)
		w->to->error = buffer_failed(&prefix);
	else if (bytes)
		record_append_bytes(w, prefix.data, prefix.length);
	else
		record_append_text(w, prefix.data);
	buffer_done(&prefix);
}

static void
write_values(struct record_writer *w, const char *one, const char *other)
{
	struct write_places p = { .n = 0 };

	write_collect(one, ':', &p);
	write_collect(other, ':', &p);
	if (p.n == 0)
		return;		/* an empty object would be refused */
	(void)buffer_append_text(w->to, ",\"ExpressionAttributeValues\":{");
	for (size_t i = 0; i < p.n; i++) {
		(void)buffer_printf(w->to, "%s\":%s\":", i > 0 ? "," : "",
		    p.names[i]);
		if (strcmp(p.names[i], "prefix") == 0)
			write_prefix(w);
		else if (!record_mark_value(w, p.names[i]))
			w->format->value(w, p.names[i]);
	}
	(void)buffer_append_text(w->to, "}");
}

/* ---- the frames of requests -------------------------------------------- */

static void
write_begin(struct record_writer *w)
{
	(void)buffer_append_text(w->to,
	    "{\"ReturnConsumedCapacity\":\"TOTAL\",\"TableName\":");
	json_append_text(w->to, w->table->table);
}

static void
write_member(struct record_writer *w, const char *name, const char *text)
{
	(void)buffer_append_text(w->to, ",\"");
	(void)buffer_append_text(w->to, name);
	(void)buffer_append_text(w->to, "\":");
	json_append_text(w->to, text);
}

/* The names were checked when the operation was refused or not. One that gets
 * here all the same, by a way that nobody thought of, fails its operation. */
static void
write_item_of(struct record_writer *w, struct key name)
{
	char bytes[RECORD_KEY_MAX];
	struct key_parts item;
	const char *refused = record_item_of(w->table, name, bytes, &item);

	if (refused != NULL) {
		w->to->error = DDBLOCK_E_BAD_REQUEST;
		return;
	}
	record_append_item(w->to, w->table, &item);
}

static void
write_key(struct record_writer *w)
{
	(void)buffer_append_text(w->to, ",\"Key\":{");
	write_item_of(w, w->operation->key);
	(void)buffer_append_text(w->to, "}");
}

/* All attributes of the format, without the contents. */
static void
write_bare(struct record_writer *w, char bare[WRITE_BARE_SIZE])
{
	const struct record_format *f = w->format;
	size_t n = (size_t)snprintf(bare, WRITE_BARE_SIZE, "#key%s",
	    w->table->sort_attribute != NULL ? ", #sort" : "");

	for (size_t i = 0; f->names[i] != NULL; i++) {
		if (f->data != NULL && strcmp(f->names[i], f->data) == 0)
			continue;
		n += (size_t)snprintf(bare + n, WRITE_BARE_SIZE - n, ", #%s",
		    f->names[i]);
		assert(n < WRITE_BARE_SIZE);
	}
}

static void
write_project(struct record_writer *w, const char *filter)
{
	char bare[WRITE_BARE_SIZE];

	write_bare(w, bare);
	write_member(w, "ProjectionExpression", bare);
	write_names(w, bare, filter);
}

static void
write_read(struct record_writer *w)
{
	const struct operation *o = w->operation;

	write_begin(w);
	(void)buffer_append_text(w->to, ",\"ConsistentRead\":true");
	if (o->kind == OPERATION_READ && !o->with_contents)
		write_project(w, NULL);
	write_key(w);
}

static void
write_read_many(struct record_writer *w)
{
	const struct operation *o = w->operation;

	(void)buffer_append_text(w->to,
	    "{\"ReturnConsumedCapacity\":\"TOTAL\",\"RequestItems\":{");
	json_append_text(w->to, w->table->table);
	(void)buffer_append_text(w->to, ":{\"ConsistentRead\":true,\"Keys\":[");
	for (size_t i = 0; i < o->n_keys; i++) {
		(void)buffer_append_text(w->to, i > 0 ? ",{" : "{");
		write_item_of(w, o->keys[i]);
		(void)buffer_append_text(w->to, "}");
	}
	(void)buffer_append_text(w->to, "]");
	write_project(w, NULL);
	(void)buffer_append_text(w->to, "}}");
}

/* Numbers have no begins_with(); the reader of the page checks the prefix. */
static void
write_scan(struct record_writer *w)
{
	const struct operation *o = w->operation;
	bool begins = w->table->key_type != DIALECT_KEY_NUMBER &&
	    (o->prefix.length > 0 || w->table->prefix != NULL);
	struct key_parts from;
	char filter[WRITE_BARE_SIZE];

	write_begin(w);
	(void)buffer_printf(w->to, ",\"ConsistentRead\":true,\"Limit\":%d",
	    SCAN_PAGE_MAX);
	if (o->cursor.length > 0) {
		(void)buffer_append_text(w->to, ",\"ExclusiveStartKey\":{");
		(void)record_cursor_item(o->cursor, &from);
		record_append_item(w->to, w->table, &from);
		(void)buffer_append_text(w->to, "}");
	}
	(void)snprintf(filter, sizeof(filter), "%s%s%s%s",
	    w->format->is_ours, o->held_only ? " AND " : "",
	    o->held_only ? w->format->is_held : "",
	    begins ? " AND begins_with(#key, :prefix)" : "");
	write_member(w, "FilterExpression", filter);
	write_project(w, filter);
	write_values(w, filter, NULL);
}

/* ---- writes ------------------------------------------------------------ */

/* "#a = :b, ..." as members of an item. */
static void
write_members(struct record_writer *w, const char *set)
{
	char name[WRITE_PLACE_SIZE];
	const char *at = set;

	while ((at = strchr(at, '#')) != NULL) {
		at = write_take(at + 1, name);
		(void)buffer_append_text(w->to, ",");
		json_append_text(w->to,
		    record_name(w->format, w->table, name));
		assert(memcmp(at, " = :", 4) == 0);
		at = write_take(at + 4, name);
		(void)buffer_append_text(w->to, ":");
		w->format->value(w, name);
	}
}

void
record_write_item(struct record_writer *w, const struct record_plan *p)
{
	const struct record_format *f = w->format;
	const struct contents *c = &w->operation->contents;

	(void)buffer_append_text(w->to, "{");
	write_item_of(w, w->operation->key);
	write_members(w, p->set);
	if (p->contents && c->data.length > 0) {
		(void)buffer_append_text(w->to, ",");
		json_append_text(w->to, record_name(f, w->table, f->data));
		(void)buffer_append_text(w->to, ":");
		record_append_bytes(w, c->data.bytes, c->data.length);
	}
	if (p->contents && c->n_attributes > 0) {
		(void)buffer_append_text(w->to, ",");
		dialect_append_attributes(w->to, c);
	}
	(void)buffer_append_text(w->to, "}");
}

/* Remove the time to live that an earlier holder set: the item of a held lock
 * must not be deleted. */
static bool
write_outlives(const struct record_writer *w)
{
	return w->operation->kind == OPERATION_ACQUIRE &&
	    w->format->ttl == NULL && w->table->ttl_attribute != NULL;
}

static void
write_update(struct record_writer *w, const struct record_plan *p,
    char update[WRITE_BARE_SIZE])
{
	const char *remove[] = {
		p->remove,
		write_outlives(w) ? "#ttl" : NULL,
		w->format->to_mark != NULL &&
		    w->operation->kind != OPERATION_MARK ?
		    "#" RECORD_MARKS : NULL,
	};
	const char *word = " REMOVE ";
	int n = snprintf(update, WRITE_BARE_SIZE, "%s %s",
	    p->add != NULL ? "ADD" : "SET", p->add != NULL ? p->add : p->set);

	for (size_t i = 0; i < sizeof(remove) / sizeof(remove[0]); i++) {
		if (remove[i] == NULL)
			continue;
		n += snprintf(update + n, WRITE_BARE_SIZE - (size_t)n, "%s%s",
		    word, remove[i]);
		assert(n < WRITE_BARE_SIZE);
		word = ", ";
	}
}

static const char *
write_plan(struct record_writer *w, const struct record_plan *p)
{
	char update[WRITE_BARE_SIZE];
	bool updates = p->verb == RECORD_UPDATE;

	write_begin(w);
	write_member(w, "ReturnValuesOnConditionCheckFailure", "ALL_OLD");
	if (updates) {
		write_update(w, p, update);
		write_member(w, "ReturnValues", "ALL_NEW");
		write_member(w, "UpdateExpression", update);
	}
	if (p->verb == RECORD_PUT) {
		(void)buffer_append_text(w->to, ",\"Item\":");
		record_write_item(w, p);
	} else {
		write_key(w);
	}
	write_member(w, "ConditionExpression", p->condition);
	write_names(w, p->condition, updates ? update : NULL);
	write_values(w, p->condition, updates ? update : NULL);
	return updates ? "UpdateItem" :
	    p->verb == RECORD_PUT ? "PutItem" : "DeleteItem";
}

const char *
record_write(struct record_writer *w)
{
	enum operation_kind kind = w->operation->kind;
	struct record_plan plan = { .verb = RECORD_UPDATE };
	const char *name;

	if (w->attempt->step == DIALECT_LOOK || kind == OPERATION_READ) {
		write_read(w);
		name = "GetItem";
	} else if (kind == OPERATION_READ_MANY) {
		write_read_many(w);
		name = "BatchGetItem";
	} else if (kind == OPERATION_SCAN) {
		write_scan(w);
		name = "Scan";
	} else {
		record_plan(w->format, w->table, w->operation, &plan);
		name = write_plan(w, &plan);
	}
	(void)buffer_append_text(w->to, "}");
	return name;
}

/*
 * Keys, and where the item with a key is in its table. Items are in the order
 * of a hash of their partition key, as the service's are.
 */
#include <stdlib.h>
#include <string.h>

#include "dynamo_state.h"

static uint64_t
dynamo_place_hash(struct json_object *content)
{
	const unsigned char *text =
	    (const unsigned char *)json_object_get_string(content);
	int n = json_object_get_string_len(content);
	uint64_t hash = UINT64_C(14695981039346656037);

	for (int i = 0; i < n; i++)
		hash = (hash ^ text[i]) * UINT64_C(1099511628211);
	/* Texts that differ in their ends only go far apart, too. */
	hash ^= hash >> 32;
	hash *= UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

/* The order of an item against a place. */
static int
dynamo_place_compare(const struct dynamo_item *i, const struct dynamo_place *p)
{
	struct json_object *value;
	int r;

	if (i->hash != p->hash)
		return i->hash < p->hash ? -1 : 1;
	for (size_t k = 0; k < p->table->n_parts; k++) {
		value = json_object_object_get(i->tree,
		    p->table->parts[k].name);
		r = dynamo_value_compare(value, p->parts[k]);
		if (r != 0)
			return r;
	}
	return 0;
}

/* Its index, and the item that is there. */
static void
dynamo_place_search(struct dynamo_place *p)
{
	size_t low = 0;
	size_t high = p->table->n_items;

	p->item = NULL;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int r = dynamo_place_compare(&p->table->items[middle], p);

		if (r == 0) {
			p->item = p->table->items[middle].tree;
			low = middle;
			break;
		}
		if (r < 0)
			low = middle + 1;
		else
			high = middle;
	}
	p->index = low;
}

static bool
dynamo_place_check(const struct dynamo_key_part *part, size_t i,
    struct json_object *value, bool alone, struct dynamo_error *e)
{
	static const char *const too_long[] = {
		"Size of hashkey has exceeded the maximum size limit of2048 "
		    "bytes",
		"Aggregated size of all range keys has exceeded the size "
		    "limit of 1024 bytes",
	};
	size_t n;

	if (dynamo_value_type(value) != part->type) {
		if (alone)
			return dynamo_invalid(e, "The provided key element "
			    "does not match the schema");
		return dynamo_invalid(e, "One or more parameter values were "
		    "invalid: Type mismatch for key %s expected: %s actual: "
		    "%s", part->name, dynamo_type_name(part->type),
		    dynamo_type_name(dynamo_value_type(value)));
	}
	n = dynamo_value_bytes(value);
	if (n == 0)
		return dynamo_invalid(e, "One or more parameter values are "
		    "not valid. The AttributeValue for a key attribute cannot "
		    "contain an empty %s value. Key: %s", part->type ==
		    DYNAMO_S ? "string" : "binary", part->name);
	return n <= (i == 0 ? DYNAMO_PARTITION_KEY_MAX : DYNAMO_SORT_KEY_MAX)
	    || dynamo_invalid(e, "One or more parameter values were invalid: "
	    "%s", too_long[i]);
}

bool
dynamo_place_find(struct dynamo_table *t, struct json_object *from, bool alone,
    struct dynamo_place *ret, struct dynamo_error *e)
{
	struct dynamo_place p = { .table = t };

	for (size_t i = 0; i < t->n_parts; i++) {
		const struct dynamo_key_part *part = &t->parts[i];

		if (!json_object_object_get_ex(from, part->name, &p.parts[i]))
			return alone ? dynamo_invalid(e, "The provided key "
			    "element does not match the schema") :
			    dynamo_invalid(e, "One or more parameter values "
			    "were invalid: Missing the key %s in the item",
			    part->name);
		if (!dynamo_place_check(part, i, p.parts[i], alone, e))
			return false;
	}
	if (alone && json_object_object_length(from) != (int)t->n_parts)
		return dynamo_invalid(e, "The provided key element does not "
		    "match the schema");
	p.hash = dynamo_place_hash(dynamo_value_content(p.parts[0]));
	dynamo_place_search(&p);
	*ret = p;
	return true;
}

bool
dynamo_place_same(const struct dynamo_place *a, const struct dynamo_place *b)
{
	if (a->table != b->table)
		return false;
	for (size_t i = 0; i < a->table->n_parts; i++) {
		if (!dynamo_value_equal(a->parts[i], b->parts[i]))
			return false;
	}
	return true;
}

size_t
dynamo_place_item_bytes(struct dynamo_item *i)
{
	if (i->bytes == 0)
		i->bytes = dynamo_item_bytes(i->tree);
	return i->bytes;
}

size_t
dynamo_place_bytes(const struct dynamo_place *p)
{
	return p->item == NULL ? 0 :
	    dynamo_place_item_bytes(&p->table->items[p->index]);
}

struct json_object *
dynamo_place_key(const struct dynamo_table *t, struct json_object *item)
{
	struct json_object *key = dynamo_need(json_object_new_object());

	for (size_t i = 0; i < t->n_parts; i++)
		dynamo_add_new(key, t->parts[i].name, json_object_get(
		    json_object_object_get(item, t->parts[i].name)));
	return key;
}

static void
dynamo_place_insert(struct dynamo_place *p, struct json_object *item)
{
	struct dynamo_table *t = p->table;

	if (t->n_items == t->size) {
		t->size = t->size == 0 ? 64 : t->size * 2;
		t->items = dynamo_need(realloc(t->items,
		    t->size * sizeof(*t->items)));
	}
	memmove(&t->items[p->index + 1], &t->items[p->index],
	    (t->n_items - p->index) * sizeof(*t->items));
	t->items[p->index] = (struct dynamo_item){ .hash = p->hash,
		.tree = item };
	t->n_items++;
}

static void
dynamo_place_remove(struct dynamo_place *p)
{
	struct dynamo_table *t = p->table;

	t->n_items--;
	json_object_put(t->items[p->index].before);
	memmove(&t->items[p->index], &t->items[p->index + 1],
	    (t->n_items - p->index) * sizeof(*t->items));
}

void
dynamo_place_write(struct dynamo *d, struct dynamo_place *p,
    struct json_object *item, size_t bytes, bool expired)
{
	struct json_object *before;
	struct dynamo_item *i;

	/* Others of a transaction may have moved it. */
	dynamo_place_search(p);
	before = p->item;
	if (before == NULL && item != NULL)
		dynamo_place_insert(p, item);
	else if (before != NULL && item == NULL)
		dynamo_place_remove(p);
	if (item != NULL) {
		i = &p->table->items[p->index];
		i->tree = item;
		i->bytes = bytes;
		json_object_put(i->before);
		i->before = json_object_get(before);
		i->changed_ms = d->now_ms;
	}
	if (d->watch != NULL && (before != NULL || item != NULL))
		d->watch(d->watch_arg, p->table->name, before, item, expired);
	/* The key of the place may be a part of it. */
	json_object_put(before);
}

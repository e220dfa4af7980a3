/*
 * The structures of the model of DynamoDB. Private to it.
 *
 * Items are trees that are never changed: an update makes a new item that
 * shares the unchanged parts. So little is copied, a transaction is undone by
 * dropping the new items, and a watcher sees both.
 *
 * Functions that return bool fill the error when they return false.
 */
#ifndef DDBLOCKD_TESTS_DYNAMO_STATE_H
#define DDBLOCKD_TESTS_DYNAMO_STATE_H

#include "dynamo.h"
#include "dynamo_expression.h"
#include "dynamo_memory.h"
#include "dynamo_value.h"

#define DYNAMO_ITEM_MAX (400 * 1024)		/* bytes */
#define DYNAMO_PARTITION_KEY_MAX 2048
#define DYNAMO_SORT_KEY_MAX 1024
#define DYNAMO_PAGE_MAX (1024 * 1024)		/* of a scan */
#define DYNAMO_BATCH_BYTES_MAX (16 * 1024 * 1024)
#define DYNAMO_BATCH_MAX 100			/* keys */
#define DYNAMO_TRANSACTION_MAX 100		/* actions */
#define DYNAMO_TRANSACTION_BYTES_MAX (4 * 1024 * 1024)
#define DYNAMO_TOKEN_MS (10u * 60 * 1000)	/* of a transaction */
#define DYNAMO_CACHE_MAX 512			/* expressions */
#define DYNAMO_LARGE_MIN 32			/* elements of a set, a list */
#define DYNAMO_TTL_OLDEST_S (5ll * 365 * 86400)	/* five years */

struct dynamo_key_part {
	char *name;
	enum dynamo_type type;
};

struct dynamo_item {
	uint64_t hash;			/* of the partition key */
	struct json_object *tree;
	size_t bytes;			/* 0: not known yet */
	struct json_object *before;	/* the last change; NULL: none */
	uint64_t changed_ms;
};

struct dynamo_table {
	struct dynamo_table *next;
	char *name;
	struct dynamo_key_part parts[2];	/* partition and sort key */
	size_t n_parts;
	struct dynamo_item *items;	/* by hash, then partition, then sort */
	size_t n_items, size;
	char *ttl_attribute;		/* NULL: none */
	uint64_t created_ms;
	bool on_demand;
};

/* Where an item is, or would be. */
struct dynamo_place {
	struct dynamo_table *table;
	struct json_object *parts[2];	/* its key; borrowed */
	uint64_t hash;
	size_t index;
	struct json_object *item;	/* NULL: there is none; borrowed */
};

/* A transaction that was carried out. */
struct dynamo_token_entry {
	struct dynamo_token_entry *next;
	char *token;
	struct json_object *body;
	uint64_t wall_ms;
};

struct dynamo {
	struct dynamo_table *tables;
	struct dynamo_expression *cache;	/* uthash, the oldest first */
	struct dynamo_memory memory;		/* of the request */
	struct json_tokener *tokener;		/* NULL: none yet */
	struct dynamo_token_entry *tokens;
	size_t n_unprocessed;		/* to leave, of the next batch */
	uint64_t now_ms;		/* of the request */
	uint64_t lag_ms;		/* of reads that may be old */
	bool no_transactions;
	bool refuses;			/* the next request's condition */
	size_t page;			/* items of a scan's; 0: no bound */
	const struct dynamo_meter *meter;	/* or NULL */
	dynamo_watch_fn watch;
	void *watch_arg;
};

/* A request that is being carried out. */
struct dynamo_call {
	struct dynamo *dynamo;
	uint64_t wall_ms;
	struct json_object *body;
	struct dynamo_error error;
	struct buffer *to;		/* the answer */
	struct json_object **kept;	/* put at the end of the request */
	size_t n_kept, sim_contents_size;
};

/* NULL ends the process: there is no memory. */
void *dynamo_need(void *);
/* The name is a constant that is not in the object yet; takes @value. */
void dynamo_add_constant(struct json_object *, const char *name,
    struct json_object *value);
/* As above, but the name is copied. */
void dynamo_add_new(struct json_object *, const char *name,
    struct json_object *value);
/* Takes @o, which lives until the request is done. */
struct json_object *dynamo_call_keep(struct dynamo_call *,
    struct json_object *o);
void *dynamo_call_alloc(struct dynamo_call *, size_t);

/* ---- dynamo_scope.c: expressions with a request's names and values ---- */
struct dynamo_bound {
	const struct dynamo_expression *x;	/* NULL: not given */
	const char **names;
	struct json_object **values;
};

struct dynamo_scope {
	struct dynamo_call *call;
	struct json_object *names, *values;	/* or NULL */
	struct dynamo_bound condition, update, projection;
	uint32_t n_names_used, n_values_used;
};

/* @from: the request, or its part with expressions. @values: it has some. */
bool dynamo_scope_init(struct dynamo_scope *, struct dynamo_call *,
    struct json_object *from, bool values);
bool dynamo_scope_bind(struct dynamo_scope *, struct json_object *from,
    enum dynamo_expression_kind);
/* All are bound: is each name and value used? */
bool dynamo_scope_finish(struct dynamo_scope *);

void dynamo_scope_trim(struct dynamo *, unsigned max);

/* ---- dynamo_operand.c ---- */
/* The value at the path; NULL: none. Borrowed. */
struct json_object *dynamo_path_find(const struct dynamo_bound *,
    const struct dynamo_node *path, struct json_object *item);
/* The value of a PATH, a VALUE or size(); NULL: it has none. Borrowed. */
struct json_object *dynamo_operand(struct dynamo_call *,
    const struct dynamo_bound *, const struct dynamo_node *,
    struct json_object *item);
/* Can the operands be of the right types? Judged from the request only. */
bool dynamo_operand_check(const struct dynamo_bound *,
    const struct dynamo_node *, struct dynamo_error *);

/* ---- dynamo_condition.c ---- */
bool dynamo_condition_holds(struct dynamo_call *, const struct dynamo_bound *,
    struct json_object *item);

/* ---- dynamo_document.c: paths as one tree ---- */
struct dynamo_branch {
	const char *name;		/* NULL: @index counts */
	uint32_t index;
	struct dynamo_branch *first, *next;
	const struct dynamo_node *leaf;	/* NULL: it has children */
	struct json_object *result;	/* the new value; NULL: none */
	bool met;
};

/* A leaf for each of the paths; they must not touch each other. */
bool dynamo_document_plant(struct dynamo_call *, const struct dynamo_bound *,
    struct dynamo_branch *root);
/* The item with each leaf's result in its place; the caller's to put. */
bool dynamo_document_apply(const struct dynamo_branch *root,
    struct json_object *item, struct json_object **ret,
    struct dynamo_error *);
/* The values at the leaves; NULL: none; the caller puts it. */
struct json_object *dynamo_document_project(const struct dynamo_branch *root,
    struct json_object *item);

/* ---- dynamo_update.c ---- */
bool dynamo_update_spares_key(const struct dynamo_table *,
    const struct dynamo_branch *root, struct dynamo_error *);
/* @item as it was (with its key, if it is new). */
bool dynamo_update_apply(struct dynamo_call *, const struct dynamo_bound *,
    struct dynamo_branch *root, struct json_object *item,
    struct json_object **ret);

/* ---- dynamo_table.c ---- */
struct dynamo_table *dynamo_table_find(struct dynamo *, const char *name);
/* Of the request's or @from's TableName. */
bool dynamo_table_get(struct dynamo_call *, struct json_object *from,
    struct dynamo_table **ret);
bool dynamo_table_name(struct dynamo_call *, struct json_object *from,
    const char **ret);
bool dynamo_table_check_name(struct dynamo_error *, const char *name);
bool dynamo_table_of(struct dynamo_call *, const char *name,
    struct dynamo_table **ret);
void dynamo_table_free(struct dynamo_table *);
bool dynamo_create_table(struct dynamo_call *);
bool dynamo_describe_table(struct dynamo_call *);
bool dynamo_delete_table(struct dynamo_call *);
bool dynamo_update_ttl(struct dynamo_call *);
bool dynamo_describe_ttl(struct dynamo_call *);

/* ---- dynamo_place.c ---- */
/* @from: a key, and (@alone) nothing but the key. */
bool dynamo_place_find(struct dynamo_table *, struct json_object *from,
    bool alone, struct dynamo_place *ret, struct dynamo_error *);
bool dynamo_place_same(const struct dynamo_place *,
    const struct dynamo_place *);
size_t dynamo_place_item_bytes(struct dynamo_item *);	/* its size */
/* The same; 0: there is none. */
size_t dynamo_place_bytes(const struct dynamo_place *);
/* A new object with the key of @item. */
struct json_object *dynamo_place_key(const struct dynamo_table *,
    struct json_object *item);
/* Write it (NULL: remove it), of that size (0: not known), and tell the
 * watcher; takes @item. */
void dynamo_place_write(struct dynamo *, struct dynamo_place *,
    struct json_object *item, size_t bytes, bool expired);

/* ---- dynamo_write.c: Put, Update and Delete, alone or together ---- */
enum dynamo_write_kind {
	DYNAMO_PUT = 1,
	DYNAMO_UPDATE_ITEM,
	DYNAMO_DELETE_ITEM,
	DYNAMO_CHECK,
};

struct dynamo_write {
	enum dynamo_write_kind kind;
	struct json_object *from;	/* the request, or its part */
	const char *table;
	struct json_object *object;	/* the Item, or the Key */
	struct dynamo_scope scope;
	struct dynamo_place place;
	struct dynamo_branch root;	/* UPDATE_ITEM */
	bool on_failure_old;		/* return the conflicting item */
	struct json_object *before, *after;	/* NULL: none; borrowed */
	size_t bytes;			/* of @after, or 0: not known */
};

/* All that can be said without looking at the item. */
bool dynamo_write_plan(struct dynamo_call *, struct dynamo_write *);
bool dynamo_write_locate(struct dynamo_call *, struct dynamo_write *);
/* Judge the condition and make the new item. */
bool dynamo_write_prepare(struct dynamo_call *, struct dynamo_write *);
void dynamo_write_commit(struct dynamo_call *, struct dynamo_write *);
bool dynamo_put_item(struct dynamo_call *);
bool dynamo_update_item(struct dynamo_call *);
bool dynamo_delete_item(struct dynamo_call *);

/* ---- dynamo_capacity.c: what requests use, and throttling ---- */
/* Has the item's partition anything left? If not, the error says so. */
bool dynamo_capacity_has(struct dynamo_call *, const struct dynamo_place *,
    bool write);
void dynamo_capacity_read(struct dynamo_call *, const struct dynamo_place *,
    bool consistent);
/* Prepared, and not committed yet; @times so much as alone. */
void dynamo_capacity_write(struct dynamo_call *, const struct dynamo_write *,
    unsigned times);

/* ---- dynamo_read.c, dynamo_scan.c, dynamo_transact.c ---- */
bool dynamo_get_item(struct dynamo_call *);
bool dynamo_batch_get_item(struct dynamo_call *);
bool dynamo_scan(struct dynamo_call *);
bool dynamo_transact_write_items(struct dynamo_call *);
void dynamo_token_free(struct dynamo_token_entry *);

/* ---- dynamo_json.c: members of requests, and answers ---- */
/* The member, NULL if it is absent or null; false if it is of another type. */
bool dynamo_get_text(struct dynamo_call *, struct json_object *from,
    const char *name, const char **ret);
bool dynamo_get_object(struct dynamo_call *, struct json_object *from,
    const char *name, struct json_object **ret);
bool dynamo_get_array(struct dynamo_call *, struct json_object *from,
    const char *name, struct json_object **ret);
bool dynamo_get_bool(struct dynamo_call *, struct json_object *from,
    const char *name, bool *ret);
/* *ret stays as it is if there is no such member. */
bool dynamo_get_number(struct dynamo_call *, struct json_object *from,
    const char *name, int64_t *ret);
/* One of the words, which end with NULL; *ret is its number, 0 if absent. */
bool dynamo_get_word(struct dynamo_call *, struct json_object *from,
    const char *name, const char *const *words, size_t *ret);
bool dynamo_check_capacity(struct dynamo_call *, bool *ret);
void dynamo_write_json(struct buffer *, struct json_object *);
void dynamo_write_text(struct buffer *, const char *bytes, size_t length);
/* ,"ConsumedCapacity":{...} without the comma */
void dynamo_write_capacity(struct buffer *, const char *table, size_t units);
void dynamo_write_error(struct dynamo_answer *, int status,
    const struct dynamo_error *);

#endif

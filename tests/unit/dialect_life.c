/*
 * A record format in the hands of a test.
 */
#include "dialect_life.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "ddblock.h"
#include "dialect/json.h"

#define HIGH UINT64_C(0x1111222233334444)
#define LOW UINT64_C(0x8555666600000000)

const struct holder me = {
	{ HIGH, LOW }, { HIGH, LOW }, 20000, false,
};
const struct holder you = {
	{ HIGH + 1, LOW }, { HIGH + 1, LOW }, 20000, false,
};

static const char *const type_names[] = { "S", "N", "B" };

/* @text with " for '. */
static char *
life_json(const char *text)
{
	char *json = strdup(text);

	ck_assert(json != NULL);
	for (char *at = json; (at = strchr(at, '\'')) != NULL; at++)
		*at = '"';
	return json;
}

static struct dynamo_answer
life_request(struct life *l, const char *operation, const char *body)
{
	struct dynamo_answer a;

	dynamo_answer_init(&a);
	dynamo_request(l->dynamo, WALL + l->now_ms - BOOT, operation, body,
	    strlen(body), &a);
	return a;
}

void
life_init(struct life *l, const struct dialect *dialect,
    const struct dialect_table *table)
{
	struct dynamo_answer a;
	char body[1024];

	memset(l, 0, sizeof(*l));
	l->dialect = dialect;
	l->table = *table;
	l->now_ms = BOOT;
	l->dynamo = dynamo_new();
	ck_assert(l->dynamo != NULL);
	(void)snprintf(body, sizeof(body),
	    "{\"TableName\":\"%s\",\"BillingMode\":\"PAY_PER_REQUEST\","
	    "\"AttributeDefinitions\":[{\"AttributeName\":\"%s\","
	    "\"AttributeType\":\"%s\"}%s%s%s%s%s],\"KeySchema\":["
	    "{\"AttributeName\":\"%s\",\"KeyType\":\"HASH\"}%s%s%s]}",
	    table->table, table->key_attribute, type_names[table->key_type],
	    table->sort_attribute ? ",{\"AttributeName\":\"" : "",
	    table->sort_attribute ? table->sort_attribute : "",
	    table->sort_attribute ? "\",\"AttributeType\":\"" : "",
	    table->sort_attribute ? type_names[table->sort_type] : "",
	    table->sort_attribute ? "\"}" : "", table->key_attribute,
	    table->sort_attribute ? ",{\"AttributeName\":\"" : "",
	    table->sort_attribute ? table->sort_attribute : "",
	    table->sort_attribute ? "\",\"KeyType\":\"RANGE\"}" : "");
	a = life_request(l, "CreateTable", body);
	ck_assert_msg(a.status == 200, "%s", a.body.data);
	dynamo_answer_done(&a);
}

static void
life_end(struct life *l)
{
	if (l->running)
		translation_done(&l->translation);
	l->running = false;
}

void
life_done(struct life *l)
{
	life_end(l);
	for (size_t i = 0; i < l->n_late; i++)
		dialect_request_done(&l->late[i]);
	dynamo_free(l->dynamo);
}

struct operation
life_make(enum operation_kind kind)
{
	return (struct operation){
		.kind = kind, .key = { "k", 1 }, .me = me, .tokens = 1,
		.mode = LOCK_MODE_EXCLUSIVE, .holders = &me, .n_holders = 1,
		.owner = "us", .with_contents = true,
	};
}

/* ---- the network ------------------------------------------------------- */

static struct translation_answer
life_translate(const struct dynamo_answer *a, bool strip)
{
	struct translation_answer e = {
		.class = TRANSLATION_OK, .body = a->body.data,
		.body_length = a->body.length,
	};

	if (a->status == 200)
		return e;
	e.code = DDBLOCK_E_INTERNAL;
	e.text = a->body.data;
	e.class = TRANSLATION_INVALID;
	if (strstr(a->body.data, "ConditionalCheckFailed") != NULL) {
		e.class = TRANSLATION_CONDITION;
		if (strip) {
			e.body = "{}";
			e.body_length = 2;
		}
	}
	return e;
}

static void
life_hold(struct life *l, const struct dialect_request *r)
{
	struct dialect_request *late = &l->late[l->n_late++];

	ck_assert_uint_le(l->n_late, sizeof(l->late) / sizeof(l->late[0]));
	dialect_request_init(late);
	late->operation = r->operation;
	ck_assert_int_eq(buffer_append(&late->body, r->body.data,
	    r->body.length), 0);
}

/* Send the next attempt through a network that does @what to it. */
static enum translation_verdict
life_attempt(struct life *l, char what)
{
	const struct dialect_request *request;
	struct translation_answer e = {
		.class = TRANSLATION_LOST, .code = DDBLOCK_E_UNREACHABLE,
	};
	struct dynamo_answer a;
	enum translation_verdict verdict;
	uint32_t attempt;

	translation_set_wall(&l->translation, WALL + l->now_ms - BOOT);
	if (translation_next(&l->translation, l->now_ms, &request,
	    &attempt) < 0) {
		translation_give_up(&l->translation, &l->outcome);
		return TRANSLATION_FINAL;
	}
	l->n_requests++;
	if (what == 't') {
		e.class = TRANSLATION_AGAIN;
		e.code = DDBLOCK_E_THROTTLED;
	}
	if (what == 'h')
		life_hold(l, request);
	if (what == 'r' || what == 'h' || what == 't')
		return translation_answer(&l->translation, attempt, &e,
		    &l->outcome);
	dynamo_answer_init(&a);
	dynamo_request(l->dynamo, WALL + l->now_ms - BOOT, request->operation,
	    request->body.data, request->body.length, &a);
	if (what != 'a')
		e = life_translate(&a, what == 's');
	verdict = translation_answer(&l->translation, attempt, &e, &l->outcome);
	dynamo_answer_done(&a);
	return verdict;
}

const struct outcome *
life_run(struct life *l, const struct operation *o, const char *net)
{
	life_end(l);
	translation_init(&l->translation, l->dialect, &l->table, o,
	    WALL + l->now_ms - BOOT);
	l->running = true;
	l->n_requests = 0;
	for (;;) {
		if (*net == '!') {
			translation_give_up(&l->translation, &l->outcome);
			break;
		}
		if (life_attempt(l, *net != '\0' ? *net : '.') ==
		    TRANSLATION_FINAL)
			break;
		if (*net != '\0')
			net++;
		l->now_ms += STEP;
	}
	return &l->outcome;
}

const struct outcome *
life_expect(struct life *l, const struct operation *o, const char *net,
    enum outcome_kind kind)
{
	const struct outcome *out = life_run(l, o, net);

	ck_assert_msg(out->kind == kind, "%s \"%s\": %s, %d, %s; %s",
	    operation_kind_name(o->kind), net, outcome_kind_name(out->kind),
	    out->code, out->text, life_item(l));
	return out;
}

bool
life_land(struct life *l, size_t i)
{
	struct dynamo_answer a =
	    life_request(l, l->late[i].operation, l->late[i].body.data);
	bool done = a.status == 200;

	ck_assert_msg(done || strstr(a.body.data, "ConditionalCheckFailed"),
	    "%s", a.body.data);
	dynamo_answer_done(&a);
	return done;
}

/* ---- items ------------------------------------------------------------- */

static void
life_keys(struct life *l, const char *key, char *text, size_t size)
{
	(void)snprintf(text, size, "\"%s\":{\"%s\":\"%s\"}%s%s%s",
	    l->table.key_attribute, type_names[l->table.key_type], key,
	    l->table.sort_attribute ? ",\"" : "",
	    l->table.sort_attribute ? l->table.sort_attribute : "",
	    l->table.sort_attribute ? "\":{\"S\":\"-\"}" : "");
}

void
life_put_key(struct life *l, const char *key, const char *attributes)
{
	char *json = life_json(attributes);
	char *body = malloc(strlen(json) + 1024);
	char keys[512];
	struct dynamo_answer a;

	life_keys(l, key, keys, sizeof(keys));
	ck_assert(body != NULL);
	(void)snprintf(body, strlen(json) + 1024,
	    "{\"TableName\":\"%s\",\"Item\":{%s%s%s}}", l->table.table, keys,
	    *json != '\0' ? "," : "", json);
	a = life_request(l, "PutItem", body);
	ck_assert_msg(a.status == 200, "%s: %s", a.body.data, body);
	dynamo_answer_done(&a);
	free(body);
	free(json);
}

void
life_put(struct life *l, const char *attributes)
{
	life_put_key(l, l->table.key_type == DIALECT_KEY_BYTES ? "aw==" : "k",
	    attributes);
}

void
life_remove(struct life *l)
{
	struct dynamo_answer a;
	char keys[512], body[1024];

	life_keys(l, l->table.key_type == DIALECT_KEY_BYTES ? "aw==" : "k",
	    keys, sizeof(keys));
	(void)snprintf(body, sizeof(body),
	    "{\"TableName\":\"%s\",\"Key\":{%s}}", l->table.table, keys);
	a = life_request(l, "DeleteItem", body);
	ck_assert_msg(a.status == 200, "%s", a.body.data);
	dynamo_answer_done(&a);
}

static int
life_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The members of an object, in the order of their names. */
static void
life_show(struct json_object *item, const struct dialect_table *t,
    char *text, size_t size)
{
	char *members[64];
	size_t n = 0, at = 0;

	json_object_object_foreach(item, name, value)
	{
		const char *v = json_object_to_json_string_ext(value,
		    JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
		size_t room = strlen(name) + strlen(v) + 4;

		if (strcmp(name, t->key_attribute) == 0 ||
		    (t->sort_attribute != NULL &&
		    strcmp(name, t->sort_attribute) == 0))
			continue;
		ck_assert_uint_lt(n, 64);
		members[n] = malloc(room);
		ck_assert(members[n] != NULL);
		(void)snprintf(members[n++], room, "'%s':%s", name, v);
	}
	qsort(members, n, sizeof(members[0]), life_compare);
	text[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		at += (size_t)snprintf(text + at, size - at, "%s%s",
		    i > 0 ? "," : "", members[i]);
		ck_assert_uint_lt(at, size);
		free(members[i]);
	}
	for (char *c = text; (c = strchr(c, '"')) != NULL; c++)
		*c = '\'';
}

const char *
life_item(struct life *l)
{
	struct dynamo_answer a;
	struct json_object *root, *item;
	char keys[512], body[1024];

	life_keys(l, l->table.key_type == DIALECT_KEY_BYTES ? "aw==" : "k",
	    keys, sizeof(keys));
	(void)snprintf(body, sizeof(body), "{\"TableName\":\"%s\","
	    "\"ConsistentRead\":true,\"Key\":{%s}}", l->table.table, keys);
	a = life_request(l, "GetItem", body);
	ck_assert_msg(a.status == 200, "%s", a.body.data);
	root = json_read_object(NULL, a.body.data, a.body.length);
	item = json_find(root, "Item");
	l->text[0] = '\0';
	if (item != NULL)
		life_show(item, &l->table, l->text, sizeof(l->text));
	json_object_put(root);
	dynamo_answer_done(&a);
	return l->text;
}

void
life_is(struct life *l, const char *attributes)
{
	char *json = life_json(attributes);
	char *object = malloc(strlen(json) + 3);
	char text[4096] = "";
	struct json_object *item;

	ck_assert(object != NULL);
	(void)snprintf(object, strlen(json) + 3, "{%s}", json);
	item = json_read_object(NULL, object, strlen(object));
	ck_assert_msg(item != NULL, "%s", object);
	life_show(item, &l->table, text, sizeof(text));
	json_object_put(item);
	free(object);
	free(json);
	ck_assert_str_eq(life_item(l), text);
}

/* ---- refusals --------------------------------------------------- */

void
life_refuses(struct life *l, const struct operation *o, int code,
    const char *words)
{
	const struct outcome *out = life_expect(l, o, "", OUTCOME_REFUSED);

	ck_assert_msg(out->code == code && strstr(out->text, words) != NULL,
	    "%d, %s", out->code, out->text);
}

void
life_is_bad(struct life *l, const char *attributes, const char *attribute,
    const char *words)
{
	static const enum operation_kind kinds[] = {
		OPERATION_READ, OPERATION_ACQUIRE, OPERATION_REFRESH,
		OPERATION_RELEASE,
	};
	char before[sizeof(l->text)], place[128];

	life_put(l, attributes);
	memcpy(before, life_item(l), sizeof(before));
	(void)snprintf(place, sizeof(place),
	    "table %s, item \"k\"%s, attribute \"%s\": expected ",
	    l->table.table, l->table.sort_attribute != NULL ? " \"-\"" : "",
	    attribute);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct operation o = life_make(kinds[i]);

		life_refuses(l, &o, DDBLOCK_E_BAD_RECORD, place);
		ck_assert_msg(strstr(l->outcome.text, words) != NULL, "%s",
		    l->outcome.text);
	}
	ck_assert_str_eq(life_item(l), before);
}

/* ---- lost answers ------------------------------------------------------ */

const char *const life_nets[LIFE_NETS] = {
	"", "a", "r", "t", "aa", "ra", "ar", "as", "rs", "ta", "ara",
};

/* Take the present record: seen, and free or held. */
static void
life_take(struct life *l, const char *item, const char *net)
{
	struct operation o = life_make(OPERATION_READ);
	struct holder dead;
	char version[1024];
	const struct lock_record *r;

	life_put(l, item);
	r = &life_expect(l, &o, net, OUTCOME_DONE)->lock;
	o = life_make(OPERATION_ACQUIRE);
	(void)snprintf(version, sizeof(version), "%s", r->version);
	o.version = version;
	o.token_seen = r->token;
	o.n_dead = r->n_holders;
	if (o.n_dead > 0)
		dead = r->holders[0];
	o.dead = &dead;
	r = &life_expect(l, &o, net, OUTCOME_DONE)->lock;
	ck_assert_uint_eq(r->n_holders, 1);
	ck_assert(ident_equal(r->holders[0].grant, me.grant));
}

static uint64_t
life_renew(struct life *l, enum operation_kind kind, uint64_t beat,
    const struct contents *contents, const char *net)
{
	struct operation o = life_make(kind);
	const struct lock_record *r;

	o.beat = beat;
	o.token_seen = l->outcome.lock.token;
	if (contents != NULL)
		o.contents = *contents;
	r = &life_expect(l, &o, net, OUTCOME_DONE)->lock;
	ck_assert_uint_gt(r->beat, beat);
	ck_assert_uint_eq(r->n_holders, 1);
	if (kind == OPERATION_EXTEND)
		ck_assert_uint_gt(r->token, o.token_seen);
	if (contents != NULL)
		ck_assert(contents_are_equal(&r->contents, contents));
	return r->beat;
}

static void
life_release(struct life *l, bool keep, const char *net)
{
	struct operation o = life_make(OPERATION_RELEASE);

	o.keeps_contents = keep;
	life_expect(l, &o, net, OUTCOME_DONE);
	ck_assert_uint_eq(l->outcome.lock.n_holders, 0);
	ck_assert(!keep || l->outcome.lock.exists);
}

static void
life_break(struct life *l, const struct life_cycle *c, bool keep,
    const char *net)
{
	struct operation o = life_make(OPERATION_READ);
	char version[1024];

	life_put(l, c->dead);
	life_expect(l, &o, net, OUTCOME_DONE);
	(void)snprintf(version, sizeof(version), "%s",
	    l->outcome.lock.version);
	o = life_make(OPERATION_BREAK);
	o.version = version;
	o.keeps_contents = keep;
	life_expect(l, &o, net, OUTCOME_DONE);
	ck_assert_uint_eq(l->outcome.lock.n_holders, 0);
}

void
life_cycle(struct life *l, const struct life_cycle *c, const char *net)
{
	struct operation o = life_make(OPERATION_ACQUIRE);
	uint64_t beat;

	beat = life_expect(l, &o, net, OUTCOME_DONE)->lock.beat;
	ck_assert_uint_eq(l->outcome.lock.n_holders, 1);
	beat = life_renew(l, OPERATION_REFRESH, beat, NULL, net);
	if (c->extends)
		beat = life_renew(l, OPERATION_EXTEND, beat, NULL, net);
	if (c->contents != NULL)
		beat = life_renew(l, OPERATION_UPDATE, beat, c->contents, net);
	life_release(l, false, net);
	if (c->free != NULL)
		life_take(l, c->free, net);
	if (c->takes)
		life_take(l, c->dead, net);
	if (c->takes && c->keeps)
		life_release(l, true, net);
	life_break(l, c, false, net);
	if (c->keeps)
		life_break(l, c, true, net);
}

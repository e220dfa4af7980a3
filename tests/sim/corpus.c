/*
 * Records that a table may have, and the conditions of our requests on them.
 */
#include "corpus.h"

#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIXTEEN "0123456789abcdef"
#define SIXTY_FOUR SIXTEEN SIXTEEN SIXTEEN SIXTEEN	/* as long as a guid */

const struct holder corpus_below = {
	{ UINT64_C(0x0111222233334444), UINT64_C(0x8555666600000000) },
	{ UINT64_C(0x0111222233334444), UINT64_C(0x8555666600000000) },
	3000, false
};
const struct holder corpus_above = {
	{ UINT64_C(0xf111222233334444), UINT64_C(0x8555666600000000) },
	{ UINT64_C(0xf111222233334444), UINT64_C(0x8555666600000000) },
	3000, false
};

const struct ident corpus_mark = { 0, 5 };

/* ---- requests ---------------------------------------------------------- */

struct operation
corpus_operation(const struct stage *s, enum operation_kind kind,
    const struct holder *me)
{
	return (struct operation){
		.kind = kind, .key = { s->key, strlen(s->key) },
		.tokens = 1, .mode = LOCK_MODE_EXCLUSIVE, .me = *me,
		.holders = me, .n_holders = 1, .owner = "us",
		.with_contents = true, .revision = { 1, 1 },
	};
}

int
corpus_write(struct stage *s, const struct operation *o, uint64_t beat)
{
	struct dialect_attempt a = { .step = DIALECT_DO, .beat = beat,
		.wall_ms = s->wall_ms };

	dialect_view_clear(&s->view);
	buffer_clear(&s->request.body);
	return s->dialect->request(&s->table, o, &a, &s->request, &s->view);
}

bool
corpus_send(struct stage *s, const char *operation, const char *body)
{
	struct json_object *request = json_tokener_parse(body), *answer;
	int status;

	ck_assert_msg(request != NULL, "%s", body);
	answer = trace_ask(s->dynamo, operation, request, &status);
	/* A value that cannot be computed is refused, too; a condition that
	 * cannot be parsed is a mistake in this file. */
	ck_assert_msg(strstr(json_object_get_string(answer),
	    "ConditionExpression") == NULL, "%s\n%s", body,
	    json_object_get_string(answer));
	json_object_put(answer);
	json_object_put(request);
	return status == 200;
}

void
corpus_put(struct stage *s, struct json_object *item)
{
	char sort[64] = "", body[CORPUS_TEXT_MAX];

	if (s->client->sort != NULL)
		(void)snprintf(sort, sizeof(sort), ",\"%s\":{\"S\":\"-\"}",
		    s->client->sort);
	if (item != NULL)
		(void)snprintf(body, sizeof(body), "{\"TableName\":\"%s\","
		    "\"Item\":%s}", s->client->table,
		    json_object_to_json_string(item));
	else
		(void)snprintf(body, sizeof(body), "{\"TableName\":\"%s\","
		    "\"Key\":{\"%s\":{\"S\":\"%s\"}%s}}", s->client->table,
		    s->client->key, s->key, sort);
	ck_assert(corpus_send(s, item != NULL ? "PutItem" : "DeleteItem",
	    body));
}

void
corpus_act(struct stage *s, enum operation_kind kind, const struct holder *me,
    uint64_t beat, bool keep)
{
	struct operation o = corpus_operation(s, kind, me);

	o.keeps_contents = keep;
	ck_assert_int_eq(corpus_write(s, &o, beat), 0);
	ck_assert(corpus_send(s, s->request.operation, s->request.body.data));
}

int
corpus_read(struct stage *s)
{
	struct operation o = corpus_operation(s, OPERATION_READ, &us);
	struct dialect_attempt a = { .step = DIALECT_DO,
		.wall_ms = s->wall_ms };
	struct json_object *request, *answer;
	const char *text;
	int status, code;

	ck_assert_int_eq(corpus_write(s, &o, 0), 0);
	request = json_tokener_parse(s->request.body.data);
	answer = trace_ask(s->dynamo, s->request.operation, request, &status);
	ck_assert_int_eq(status, 200);
	text = json_object_to_json_string(answer);
	dialect_view_clear(&s->view);
	code = s->dialect->answer(&s->table, &o, &a, false, text,
	    strlen(text), &s->view);
	json_object_put(answer);
	json_object_put(request);
	return code;
}

/* ---- records ----------------------------------------------------------- */

static void
corpus_add(struct corpus *c, struct json_object *item)
{
	ck_assert_uint_lt(c->n, CORPUS_MAX);
	c->items[c->n++] = item;
}

void
corpus_done(struct corpus *c)
{
	for (size_t i = 0; i < c->n; i++)
		json_object_put(c->items[i]);
}

/* The same with another value there; NULL: without. */
static void
add_with(struct corpus *c, struct json_object *item, const char *name,
    const char *type, const char *text)
{
	struct json_object *copy =
	    json_tokener_parse(json_object_to_json_string(item)), *value;

	json_object_object_del(copy, name);
	if (text != NULL) {
		value = json_object_new_object();
		json_object_object_add(value, type, strcmp(type, "BOOL") == 0 ?
		    json_object_new_boolean(true) :
		    json_object_new_string(text));
		json_object_object_add(copy, name, value);
	}
	corpus_add(c, copy);
}

/* Texts and bytes (in base64) on either side of this one. */
static void
add_neighbours(struct corpus *c, struct json_object *item, const char *name,
    const char *type, const char *text)
{
	static const char *const first[] = { "0000", "AAAA", "ffff", "zzzz" };
	size_t length = strlen(text);
	char other[CORPUS_TEXT_MAX];

	ck_assert_uint_lt(length + 5, sizeof(other));
	for (size_t i = 0; length >= 4 && i < 4; i++) {
		memcpy(other, text, length + 1);
		memcpy(other, first[i], 4);
		add_with(c, item, name, type, other);
	}
	(void)snprintf(other, sizeof(other), "AAAA%s", text);
	add_with(c, item, name, type, other);
	if (length >= 8)
		add_with(c, item, name, type, text + 4);
}

static void
add_numbers(struct corpus *c, struct json_object *item, const char *name,
    const char *text)
{
	/* No fractions: no condition can require whole numbers. A client that
	 * acquires, unseen, a free lock with a fraction is told so by the
	 * answer. */
	static const char *const numbers[] = { "-1", "0", "1", "2", "1000",
		"1001", "9007199254740990", "9007199254740991",
		"9007199254740992", "9223372036854775807", "1e30" };
	unsigned long long value = strtoull(text, NULL, 10);
	char other[32];

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		add_with(c, item, name, "N", numbers[i]);
	(void)snprintf(other, sizeof(other), "%llu", value + 1);
	add_with(c, item, name, "N", other);
	(void)snprintf(other, sizeof(other), "%llu", value - (value > 0));
	add_with(c, item, name, "N", other);
}

static void
add_variants(struct corpus *c, struct json_object *item)
{
	static const char *const types[] = { "S", "N", "B", "BOOL" };
	static const char *const texts[] = { "zz", "7", "enp6", "" };
	const struct trace_client *client = c->stage->client;

	json_object_object_foreach(item, name, attribute) {
		if (strcmp(name, client->key) == 0 ||
		    (client->sort != NULL && strcmp(name, client->sort) == 0))
			continue;
		add_with(c, item, name, NULL, NULL);
		for (size_t i = 0; i < 4; i++)
			add_with(c, item, name, types[i], texts[i]);
		json_object_object_foreach(attribute, type, value) {
			const char *text = json_object_get_string(value);

			add_with(c, item, name, "S", text);
			add_with(c, item, name, "S", SIXTY_FOUR);
			if (strcmp(type, "N") == 0)
				add_numbers(c, item, name, text);
			else
				add_neighbours(c, item, name, type, text);
		}
	}
	add_with(c, item, "fencingToken", "N", "3");
	add_with(c, item, "fencingToken", "B", "Aw==");
	add_with(c, item, "isReleased", "S", "1");
}

/* The same with so many marks, from our own on, of a version. */
static void
add_marked(struct corpus *c, struct json_object *item, const char *version,
    unsigned first, unsigned n)
{
	struct json_object *copy =
	    json_tokener_parse(json_object_to_json_string(item));
	struct json_object *value = json_object_new_object();
	struct json_object *set = json_object_new_array();
	char text[IDENT_TEXT_LENGTH + 1];

	json_object_array_add(set, json_object_new_string(version));
	for (unsigned i = 0; i < n; i++) {
		ident_format((struct ident){ 0, corpus_mark.low + first + i },
		    text);
		json_object_array_add(set, json_object_new_string(text));
	}
	json_object_object_add(value, "SS", set);
	json_object_object_add(copy, "ddblockd_marks", value);
	corpus_add(c, copy);
	add_with(c, copy, "fencingToken", "N", "3");
	add_with(c, copy, "leaseDurationMs", "N", "1");
	add_with(c, copy, "isReleased", "S", "1");
}

static void
corpus_version(struct corpus *c, char version[CORPUS_TEXT_MAX])
{
	ck_assert_int_eq(corpus_read(c->stage), 0);
	(void)snprintf(version, CORPUS_TEXT_MAX, "%s",
	    c->stage->view.lock.version);
}

/* The present record, with marks of hosts that observe it, or observed that
 * version. */
static void
corpus_take_marked(struct corpus *c, const char *version)
{
	struct json_object *item = stage_item(c->stage);

	for (unsigned first = 0; first < 2; first++) {
		add_marked(c, item, version, first, 1);
		add_marked(c, item, version, first, MARKS_MAX - 1);
		add_marked(c, item, version, first, MARKS_MAX);
	}
	/* A mark is another for each version that it is put beside. */
	add_marked(c, item, "another", 1, 1);
	add_marked(c, item, "another", 1, MARKS_MAX);
	json_object_put(item);
}

/* The present record, and possible changes of it by others. */
static void
corpus_take(struct corpus *c)
{
	struct json_object *item = stage_item(c->stage);

	if (item == NULL)
		return;		/* a release that deletes the item */
	corpus_add(c, item);
	add_variants(c, item);
}

void
corpus_fill(struct corpus *c, struct stage *s)
{
	const struct holder *const holders[] = { &corpus_below, &us,
		&corpus_above };
	bool marked = s->dialect->life == LOCK_LIFE_RECORD;
	char version[CORPUS_TEXT_MAX];

	c->stage = s;
	c->n = 0;
	corpus_add(c, NULL);
	for (size_t i = 0; i < 3; i++) {
		corpus_put(s, NULL);
		corpus_act(s, OPERATION_ACQUIRE, holders[i], beat_of(s, 0),
		    false);
		corpus_take(c);
		corpus_version(c, version);
		if (marked)
			corpus_take_marked(c, version);
		/* More often than a renewal of ours may know of. */
		for (uint64_t beat = 1; beat < 6; beat++) {
			if (s->dialect->life == LOCK_LIFE_NEVER)
				continue;
			corpus_act(s, OPERATION_REFRESH, holders[i],
			    beat_of(s, beat), false);
			corpus_take(c);
		}
		if (marked)
			corpus_take_marked(c, version);
		corpus_act(s, OPERATION_RELEASE, holders[i], 0, true);
		corpus_take(c);
	}
}

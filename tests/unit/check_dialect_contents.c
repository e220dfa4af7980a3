/*
 * The native record format: what clients keep in a lock, in requests and in
 * answers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "ddblock.h"
#include "dialect/dialect.h"
#include "dialect/json.h"
#include "store/translation.h"
#include "test.h"

#define TEXT(text) { (text), sizeof(text) - 1 }

static const struct dialect_table table = {
	.table = "locks", .key_attribute = "key", .retention_s = 604800,
	.host = "web-1", .pid = "812", .version = "0.1.0",
};
static const struct attribute attributes[] = {
	{ TEXT("a\"b"), TEXT("line\n\"two\""), false },
	{ TEXT("n"), TEXT("{ \"N\":\"1\" }"), true },
};
static const struct operation update = {
	.kind = OPERATION_UPDATE, .key = TEXT("k"),
	.me = { { 0, 1 }, { 0, 2 }, 20000, false },
	.contents = { TEXT("\0\xff"), attributes, 2 },
	.revision = { 17, 5 },
};

static void
ask(const struct operation *o, struct dialect_request *r)
{
	struct dialect_attempt a = { .step = DIALECT_DO, .wall_ms = 1 };
	struct dialect_view view;

	dialect_request_init(r);
	dialect_view_init(&view);
	ck_assert_int_eq(dialect_native.request(&table, o, &a, r, &view), 0);
	dialect_view_clear(&view);
}

TEST(test_request)
{
	struct dialect_request r;

	ask(&update, &r);
	ck_assert_ptr_nonnull(strstr(r.body.data,
	    "\":rev\":{\"N\":\"1700000000000000000005\"},"
	    "\":data\":{\"B\":\"AP8=\"},"
	    "\":attrs\":{\"M\":{\"a\\\"b\":{\"S\":\"line\\u000a\\\"two\\\"\"},"
	    "\"n\":{ \"N\":\"1\" }}}"));
	dialect_request_done(&r);
}

/* A missing attribute is removed; an update never leaves the old one. */
TEST_LOOP(test_request_without, 0, 3)
{
	static const char *const expressions[] = {
		"SET #rev = :rev REMOVE #data, #attrs\"",
		"SET #rev = :rev, #data = :data REMOVE #attrs\"",
		"SET #rev = :rev, #attrs = :attrs REMOVE #data\"",
	};
	struct operation o = update;
	struct dialect_request r;

	if (_i != 1)
		o.contents.data.length = 0;
	if (_i != 2)
		o.contents.n_attributes = 0;
	ask(&o, &r);
	ck_assert_msg(strstr(r.body.data, expressions[_i]) != NULL, "%s",
	    r.body.data);
	ck_assert((strstr(r.body.data, ":data\"") != NULL) == (_i == 1));
	ck_assert((strstr(r.body.data, ":attrs\"") != NULL) == (_i == 2));
	dialect_request_done(&r);
}

/* The item of an answer with this attribute; returns the dialect's result. */
static int
answer(const char *more, struct dialect_view *view)
{
	struct dialect_attempt a = { .step = DIALECT_DO, .wall_ms = 1 };
	struct operation o = { .kind = OPERATION_READ, .key = TEXT("k") };
	char body[2048];
	int n = snprintf(body, sizeof(body), "{\"Item\":{\"key\":{\"S\":"
	    "\"lock:k\"},\"token\":{\"N\":\"7\"}%s}}", more);

	dialect_view_init(view);
	return dialect_native.answer(&table, &o, &a, false, body, (size_t)n,
	    view);
}

TEST(test_answer)
{
	struct dialect_view view;
	const struct lock_record *l = &view.lock;
	struct contents expected = update.contents;
	struct attribute shown[2] = { attributes[0], attributes[1] };

	ck_assert_int_eq(answer(",\"rev\":{\"N\":\"1700000000000000000005\"},"
	    "\"data\":{\"B\":\"AP8=\"},\"attrs\":{\"M\":{\"n\":{\"N\":\"1\"},"
	    "\"a\\\"b\":{\"S\":\"line\\n\\\"two\\\"\"}}}", &view), 0);
	ck_assert(revision_equal(l->revision, update.revision));
	shown[1].value = (struct key)TEXT("{\"N\":\"1\"}");
	expected.attributes = shown;
	ck_assert(contents_are_equal(&l->contents, &expected));
	dialect_view_clear(&view);
	ck_assert_int_eq(answer("", &view), 0);
	ck_assert(contents_are_empty(&l->contents));
	ck_assert_uint_eq(l->revision.sequence, 0);
	dialect_view_clear(&view);
}

static const struct {
	const char *number;
	uint64_t sequence;
	uint64_t random;
} revisions[] = {
	{ "100000000000000000001", 1, 1 },
	{ "118446744073709551615", 1, UINT64_MAX },
	{ "1700000000000000000000000000000000003", 17000000000000000, 3 },
};

TEST_ROWS(test_revisions, revisions)
{
	struct dialect_view view;
	char more[200];

	(void)snprintf(more, sizeof(more), ",\"rev\":{\"N\":\"%s\"}",
	    revisions[_i].number);
	ck_assert_int_eq(answer(more, &view), 0);
	ck_assert_uint_eq(view.lock.revision.sequence, revisions[_i].sequence);
	ck_assert_uint_eq(view.lock.revision.random, revisions[_i].random);
	dialect_view_clear(&view);
}

static const struct {
	const char *more;
	const char *says;
} spoilt[] = {
	{ ",\"data\":{\"S\":\"text\"}", "\"data\": expected bytes" },
	{ ",\"data\":{\"B\":\"A\"}", "\"data\": expected bytes" },
	{ ",\"data\":{\"B\":[]}", "\"data\": expected bytes" },
	{ ",\"attrs\":{\"S\":\"text\"}", "\"attrs\": expected a map" },
	{ ",\"attrs\":{\"M\":{\"a:b\":{\"S\":\"x\"}}}",
	    "\"attrs\": expected a map" },
	{ ",\"attrs\":{\"M\":{\"\":{\"S\":\"x\"}}}",
	    "\"attrs\": expected a map" },
	{ ",\"rev\":{\"N\":\"5\"}", "\"rev\": expected a number" },
	{ ",\"rev\":{\"N\":\"-100000000000000000001\"}",
	    "\"rev\": expected a number" },
	{ ",\"rev\":{\"N\":\"118446744073709551616\"}",
	    "\"rev\": expected a number" },
	{ ",\"rev\":{\"S\":\"x\"}", "\"rev\": expected a number" },
};

TEST_ROWS(test_spoilt, spoilt)
{
	struct dialect_view view;

	ck_assert_int_eq(answer(spoilt[_i].more, &view), DDBLOCK_E_BAD_RECORD);
	ck_assert_msg(strstr(view.text, spoilt[_i].says) != NULL, "%s",
	    view.text);
	dialect_view_clear(&view);
}

/* A conflict whose record shows our revision is our own effect. */
TEST_LOOP(test_own_effect, 0, 4)
{
	static const char shows[] = "{\"Item\":{\"key\":{\"S\":\"lock:k\"},"
	    "\"token\":{\"N\":\"7\"},\"rev\":{\"N\":"
	    "\"170000000000000000000%d\"}}}";
	struct translation_answer answer = { .class = TRANSLATION_LOST,
		.code = DDBLOCK_E_UNREACHABLE };
	const struct dialect_request *request;
	struct translation e;
	struct outcome outcome;
	char body[200];
	uint32_t attempt;

	translation_init(&e, &dialect_native, &table, &update, 1);
	ck_assert_int_eq(translation_next(&e, 100, &request, &attempt), 0);
	if (_i < 2) {
		ck_assert_int_eq((int)translation_answer(&e, attempt, &answer,
		    &outcome), TRANSLATION_LATER);
		ck_assert_int_eq(translation_next(&e, 200, &request, &attempt),
		    0);
	}
	answer.class = TRANSLATION_CONDITION;
	answer.body = body;
	answer.body_length =
	    (size_t)snprintf(body, sizeof(body), shows, _i % 2 == 0 ? 5 : 7);
	ck_assert_int_eq((int)translation_answer(&e, attempt, &answer,
	    &outcome), TRANSLATION_FINAL);
	ck_assert_int_eq((int)outcome.kind,
	    _i % 2 == 0 ? OUTCOME_DONE : OUTCOME_CONFLICT);
	ck_assert(outcome.unanswered == (_i < 2));
	translation_done(&e);
}

/* A wrong or incomplete value does not affect the next read. */
TEST_LOOP(test_broken_answers, 0, 7)
{
	static const char *const broken[] = {
		"{\"a\":{\"S\":\"cut", "{\"a\":[[{", "{\"a\":x}", "{} {", "17",
		"[{\"a\":1}]", "",
	};
	static const char sound[] = "{\"b\":2}";
	struct json_object *o;

	o = json_read_object(NULL, broken[_i], strlen(broken[_i]));
	ck_assert(o == NULL || strncmp(broken[_i], "{}", 2) == 0);
	json_object_put(o);
	o = json_read_object(NULL, sound, strlen(sound));
	ck_assert_ptr_nonnull(o);
	ck_assert_str_eq(json_object_to_json_string_ext(o,
	    JSON_C_TO_STRING_PLAIN), sound);
	json_object_put(o);
}

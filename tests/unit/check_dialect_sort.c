/*
 * The native record format in a table with a sort key: every item is named by
 * both, and a lock has one name wherever its record is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "ddblock.h"
#include "dialect/dialect.h"
#include "dialect/json.h"
#include "test.h"

#define SID "00000000000000000000000000000001"
#define NAME(text) ((struct key){ text, sizeof(text) - 1 })

static const struct dialect_table sorted = {
	.table = "locks", .key_attribute = "pk", .sort_attribute = "sk",
	.retention_s = 604800, .host = "web-1", .pid = "812",
	.version = "0.1.0",
};
static const struct dialect_table plain = {
	.table = "locks", .key_attribute = "pk", .retention_s = 604800,
	.host = "web-1", .pid = "812", .version = "0.1.0",
};
static const struct key keys[] = { { "a\0x", 3 }, { "a", 1 } };
static const struct dialect_attempt attempt = {
	.step = DIALECT_DO, .beat = 99, .wall_ms = 1800000000123,
};

static struct operation
make(enum operation_kind kind, struct key name)
{
	return (struct operation){
		.kind = kind, .key = name, .me = { { 0, 1 }, { 0, 2 }, 20000,
		false }, .tokens = 5, .mode = LOCK_MODE_EXCLUSIVE,
		.session = { 0, 1 }, .beat = 7, .lease_ms = 20000,
		.keys = keys, .n_keys = 2,
	};
}

/* ---- requests --------------------------------------------------------- */

/* Does the request have @text in it? NULL: is it refused? */
static void
expect_request(const struct dialect_table *table, const struct operation *o,
    const char *text)
{
	struct dialect_request request;
	struct dialect_view view;
	int r;

	dialect_request_init(&request);
	dialect_view_init(&view);
	r = dialect_native.request(table, o, &attempt, &request, &view);
	if (text == NULL) {
		ck_assert_int_eq(r, DDBLOCK_E_BAD_REQUEST);
	} else {
		struct json_object *json;

		ck_assert_int_eq(r, 0);
		json = json_read_object(NULL, request.body.data,
		    request.body.length);
		ck_assert_msg(json != NULL, "%s", request.body.data);
		json_object_put(json);
		ck_assert_msg(strstr(request.body.data, text) != NULL, "%s",
		    request.body.data);
	}
	dialect_request_done(&request);
	dialect_view_clear(&view);
}

static void
expect_named(enum operation_kind kind, struct key name, const char *text)
{
	struct operation o = make(kind, name);

	expect_request(&sorted, &o, text);
}

TEST(test_items)
{
	expect_named(OPERATION_ACQUIRE, NAME("a\0x"),
	    "\"Key\":{\"pk\":{\"S\":\"lock:a\"},\"sk\":{\"S\":\"x\"}}");
	expect_named(OPERATION_READ, NAME("a"),
	    "\"Key\":{\"pk\":{\"S\":\"lock:a\"},\"sk\":{\"S\":\"-\"}}");
	expect_named(OPERATION_SESSION_BEAT, NAME(""), "\"Key\":{\"pk\":"
	    "{\"S\":\"session:" SID "\"},\"sk\":{\"S\":\"-\"}}");
	expect_named(OPERATION_SESSION_OPEN, NAME(""), "\"Item\":{\"pk\":"
	    "{\"S\":\"session:" SID "\"},\"sk\":{\"S\":\"-\"},");
	expect_named(OPERATION_READ_MANY, NAME(""), "\"Keys\":["
	    "{\"pk\":{\"S\":\"lock:a\"},\"sk\":{\"S\":\"x\"}},"
	    "{\"pk\":{\"S\":\"lock:a\"},\"sk\":{\"S\":\"-\"}}]");
}

/* The time to live has the name that the table's has, written and read. */
TEST(test_time_to_live)
{
	static const char body[] =
	    "{\"Item\":{\"pk\":{\"S\":\"lock:a\"},\"token\":{\"N\":\"5\"},"
	    "\"old \\\"ttl\\\"\":{\"N\":\"1800000000\"}}}";
	struct dialect_table other = plain;
	struct operation o = make(OPERATION_SESSION_OPEN, NAME(""));
	struct dialect_view view;

	other.ttl_attribute = "old \"ttl\"";
	expect_request(&other, &o, ",\"old \\\"ttl\\\"\":{\"N\":\"");
	expect_request(&plain, &o, ",\"ttl\":{\"N\":\"");
	o = make(OPERATION_ACQUIRE, NAME("a"));
	expect_request(&other, &o, "\"#ttl\":\"old \\\"ttl\\\"\"");
	o.kind = OPERATION_READ;
	dialect_view_init(&view);
	ck_assert_int_eq(dialect_native.answer(&other, &o, &attempt, false,
	    body, sizeof(body) - 1, &view), 0);
	ck_assert_uint_eq(view.lock.ttl_s, 1800000000);
	dialect_view_clear(&view);
}

TEST(test_refused)
{
	static char longest[KEY_BYTES_MAX + 1];
	struct operation o = make(OPERATION_ACQUIRE, NAME("a\0x"));

	expect_request(&plain, &o, NULL);
	o.key = NAME("a");
	expect_request(&plain, &o,
	    "\"Key\":{\"pk\":{\"S\":\"lock:a\"}},");
	o.kind = OPERATION_READ_MANY;
	expect_request(&plain, &o, NULL);
	expect_named(OPERATION_READ, NAME("a\0"), NULL);
	expect_named(OPERATION_READ, NAME("a\0-"), NULL);
	expect_named(OPERATION_READ, NAME("a\0x\0y"), NULL);
	expect_named(OPERATION_READ, NAME("a\0\xff"), NULL);
	memset(longest, 'k', sizeof(longest));
	longest[KEY_LENGTH_MAX] = '\0';
	expect_named(OPERATION_READ,
	    (struct key){ longest, KEY_BYTES_MAX + 1 }, NULL);
	expect_named(OPERATION_READ, (struct key){ longest, KEY_BYTES_MAX },
	    "\"sk\":{\"S\":\"kkk");
}

/* ---- answers ---------------------------------------------------------- */

static int
answer(const struct operation *o, const char *body, struct dialect_view *view)
{
	dialect_view_init(view);
	return dialect_native.answer(&sorted, o, &attempt, false, body,
	    strlen(body), view);
}

TEST(test_read_many)
{
	struct operation o = make(OPERATION_READ_MANY, NAME(""));
	struct dialect_view v;

	ck_assert_int_eq(answer(&o, "{\"Responses\":{\"locks\":["
	    "{\"pk\":{\"S\":\"lock:a\"},\"sk\":{\"S\":\"-\"},"
	    "\"token\":{\"N\":\"8\"}},"
	    "{\"pk\":{\"S\":\"lock:a\"},\"sk\":{\"S\":\"y\"},"
	    "\"token\":{\"N\":\"9\"}}]},\"UnprocessedKeys\":{\"locks\":{"
	    "\"Keys\":[{\"pk\":{\"S\":\"lock:a\"},\"sk\":{\"S\":\"x\"}}]}}}",
	    &v), 0);
	ck_assert(!v.processed[0] && v.processed[1]);
	ck_assert(!v.locks[0].exists);
	ck_assert_uint_eq(v.locks[1].token, 8);
	dialect_view_clear(&v);
}

/* A name that we would not write: left out, as an item of no lock. */
TEST(test_scan_names)
{
	struct operation o = make(OPERATION_SCAN, NAME(""));
	struct dialect_view v;

	ck_assert_int_eq(answer(&o, "{\"Items\":["
	    "{\"pk\":{\"S\":\"lock:a\"},\"sk\":{\"S\":\"x y\"},"
	    "\"token\":{\"N\":\"1\"}},"
	    "{\"pk\":{\"S\":\"lock:a\"},\"sk\":{\"S\":\"-\"},"
	    "\"token\":{\"N\":\"1\"}},"
	    "{\"pk\":{\"S\":\"lock:a\\u0000b\"},\"sk\":{\"S\":\"-\"}},"
	    "{\"pk\":{\"S\":\"lock:a\"},\"sk\":{\"S\":\"b\\u0000c\"}},"
	    "{\"pk\":{\"S\":\"lock:a\"},\"sk\":{\"N\":\"1\"}},"
	    "{\"pk\":{\"S\":\"lock:\"},\"sk\":{\"S\":\"x\"}},"
	    "{\"pk\":{\"S\":\"session:1\"},\"sk\":{\"S\":\"-\"}},"
	    "{\"pk\":{\"S\":\"lock:bad\"},\"sk\":{\"S\":\"q\"},"
	    "\"token\":{\"S\":\"1\"}}]}", &v), 0);
	ck_assert_uint_eq(v.n_rows, 2);
	ck_assert(key_equal(v.rows[0].key, NAME("a\0x y")));
	ck_assert(key_equal(v.rows[1].key, NAME("a")));
	ck_assert_uint_eq(v.next_cursor.length, 0);
	ck_assert_msg(strstr(v.text, "item \"lock:bad\" \"q\", attribute "
	    "\"token\"") != NULL, "%s", v.text);
	dialect_view_clear(&v);
}

/* A page goes on where the last one ended, at any item. */
static void
expect_cursor(const char *last)
{
	struct operation o = make(OPERATION_SCAN, NAME(""));
	struct dialect_view v;
	char text[256];

	(void)snprintf(text, sizeof(text),
	    "{\"Items\":[],\"LastEvaluatedKey\":%s}", last);
	ck_assert_int_eq(answer(&o, text, &v), 0);
	(void)snprintf(text, sizeof(text), "\"ExclusiveStartKey\":%s,", last);
	o.cursor = v.next_cursor;
	expect_request(&sorted, &o, text);
	/* Cut off, it is no such place. */
	o.cursor.length = 4;
	expect_request(&sorted, &o, NULL);
	dialect_view_clear(&v);
}

TEST(test_cursors)
{
	struct operation o = make(OPERATION_SCAN, NAME(""));
	struct dialect_view v;

	expect_cursor("{\"pk\":{\"S\":\"lock:a\"},\"sk\":{\"S\":\"x\"}}");
	expect_cursor("{\"pk\":{\"S\":\"other\\u0000\"},"
	    "\"sk\":{\"S\":\"\\u0000\xc3\xa4\"}}");
	ck_assert_int_eq(answer(&o, "{\"Items\":[],\"LastEvaluatedKey\":"
	    "{\"pk\":{\"S\":\"lock:a\"}}}", &v), DDBLOCK_E_PROTOCOL);
	dialect_view_clear(&v);
}

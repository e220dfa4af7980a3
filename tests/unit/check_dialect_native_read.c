/*
 * The native record format: what answers show; records that are not in the
 * format are refused with the place named.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"
#include "dialect/dialect.h"
#include "test.h"

#define SID "00000000000000000000000000000001"
#define GRANT "00000000000000000000000000000002"
#define ME SID "." GRANT ".20000.-"
#define OTHER "00000000000000000000000000000003." \
	"00000000000000000000000000000004.20000.c"

static const struct dialect_table table = {
	.table = "locks", .key_attribute = "pk", .retention_s = 604800,
	.host = "web-1", .pid = "812", .version = "0.1.0",
};
static const struct holder other = { { 0, 3 }, { 0, 4 }, 20000, true };
static const struct key keys[] = { { "a", 1 }, { "b", 1 } };

static struct operation
make(enum operation_kind kind)
{
	return (struct operation){
		.kind = kind, .key = { "jobs/\"x\"\n", 9 }, .tokens = 5,
		.mode = LOCK_MODE_EXCLUSIVE, .session = { 0, 1 },
		.keys = keys, .n_keys = 2,
	};
}

static int
answer(enum operation_kind kind, bool conflict, const char *body,
    struct dialect_view *view)
{
	static struct operation o;
	struct dialect_attempt a = { .step = DIALECT_DO };

	o = make(kind);
	dialect_view_init(view);
	return dialect_native.answer(&table, &o, &a, conflict, body,
	    strlen(body), view);
}

TEST(test_record)
{
	struct dialect_view v;

	ck_assert_int_eq(answer(OPERATION_ACQUIRE, true,
	    "{\"__type\":\"x#ConditionalCheckFailedException\",\"Item\":{"
	    "\"pk\":{\"S\":\"lock:x\"},\"holders\":{\"SS\":[\"" OTHER "\"]},"
	    "\"mode\":{\"S\":\"x\"},\"token\":{\"N\":\"9007199254740991\"},"
	    "\"xwait\":{\"SS\":[\"" SID "\"]},\"owner\":{\"S\":\"o\"},"
	    "\"ttl\":{\"N\":\"5\"},\"limit\":{\"N\":\"3\"},"
	    "\"acquired_at\":{\"N\":\"12\"},\"broken_by\":{\"S\":\"b\"},"
	    "\"kept\":{\"S\":\"00000000000000000000000000000004\"},"
	    "\"somebody\":{\"M\":{}}}}", &v), 0);
	ck_assert(v.has_record && v.lock.exists);
	ck_assert_uint_eq(v.lock.n_holders, 1);
	ck_assert(v.lock.holders[0].fail_closed);
	ck_assert(ident_equal(v.lock.holders[0].grant, other.grant));
	ck_assert_uint_eq(v.lock.holders[0].lease_ms, 20000);
	ck_assert_uint_eq(v.lock.token, TOKEN_MAX);
	ck_assert_int_eq(v.lock.mode, LOCK_MODE_EXCLUSIVE);
	ck_assert_uint_eq(v.lock.n_exclusive_waiters, 1);
	ck_assert_uint_eq(v.lock.n_shared_waiters, 0);
	ck_assert_str_eq(v.lock.owner, "o");
	ck_assert_str_eq(v.lock.broken_by, "b");
	ck_assert(ident_equal(v.lock.kept, other.grant));
	ck_assert_uint_eq(v.lock.limit, 3);
	ck_assert_uint_eq(v.lock.acquired_at_s, 12);
	ck_assert_uint_eq(v.lock.ttl_s, 5);
	dialect_view_clear(&v);

	ck_assert_int_eq(answer(OPERATION_ACQUIRE, true,
	    "{\"message\":\"no\"}", &v), 0);
	ck_assert(!v.has_record);
	dialect_view_clear(&v);

	ck_assert_int_eq(answer(OPERATION_READ, false, "{}", &v), 0);
	ck_assert(v.has_record && !v.lock.exists);
	dialect_view_clear(&v);
}

TEST(test_shared_record)
{
	struct dialect_view v;

	ck_assert_int_eq(answer(OPERATION_READ, false,
	    "{\"Item\":{\"holders\":{\"SS\":[\"" ME "\",\"" OTHER "\"]},"
	    "\"mode\":{\"S\":\"s\"},\"token\":{\"N\":\"4\"},"
	    "\"swait\":{\"SS\":[\"" SID "\"]}}}", &v), 0);
	ck_assert_uint_eq(v.lock.n_holders, 2);
	ck_assert_int_eq(v.lock.mode, LOCK_MODE_SHARED);
	ck_assert_uint_eq(v.lock.n_shared_waiters, 1);
	dialect_view_clear(&v);
}

/* A token at its end is a record's fault only if all else lets us in. */
static const struct {
	const char *item;
	bool bad;
} ends[] = {
	{ "\"mode\":{\"S\":\"s\"}", true },
	{ "\"mode\":{\"S\":\"s\"},\"xwait\":{\"SS\":[\"" SID "\"]}", true },
	{ "\"mode\":{\"S\":\"s\"},\"xwait\":{\"SS\":[\"" GRANT "\"]}", false },
	{ "\"mode\":{\"S\":\"x\"},\"xwait\":{\"SS\":[\"" GRANT "\"]}", true },
	{ "\"mode\":{\"S\":\"s\"},\"limit\":{\"N\":\"2\"},"
	    "\"holders\":{\"SS\":[\"" OTHER "\"]}", true },
	{ "\"mode\":{\"S\":\"s\"},\"limit\":{\"N\":\"1\"},"
	    "\"holders\":{\"SS\":[\"" OTHER "\"]}", false },
	{ "\"mode\":{\"S\":\"s\"},\"limit\":{\"N\":\"2\"},"
	    "\"holders\":{\"SS\":[\"" ME "\"]}", false },
	{ "\"mode\":{\"S\":\"x\"},\"holders\":{\"SS\":[\"" OTHER "\"]}",
	    false },
};

TEST_ROWS(test_last_token, ends)
{
	struct dialect_attempt a = { .step = DIALECT_DO };
	struct operation o = make(OPERATION_ACQUIRE);
	struct dialect_view v;
	char body[512];
	int r;

	o.mode = LOCK_MODE_SHARED;
	o.limit = 2;
	o.tokens = 1;
	o.me = (struct holder){ { 0, 1 }, { 0, 2 }, 20000, false };
	(void)snprintf(body, sizeof(body), "{\"Item\":{%s,"
	    "\"token\":{\"N\":\"9007199254740991\"}}}", ends[_i].item);
	dialect_view_init(&v);
	r = dialect_native.answer(&table, &o, &a, true, body, strlen(body),
	    &v);
	ck_assert_int_eq(r, ends[_i].bad ? DDBLOCK_E_BAD_RECORD : 0);
	ck_assert((strstr(v.text, "\"token\"") != NULL) == ends[_i].bad);
	dialect_view_clear(&v);
}

#define LOCK OPERATION_READ
#define SESSION OPERATION_SESSION_READ
#define HELD(element) "\"holders\":{\"SS\":[\"" element "\"]}"

static const struct {
	enum operation_kind kind;
	const char *item;
	const char *attribute;	/* NULL: it is fine */
} records[] = {
	{ LOCK, "\"token\":{\"N\":\"7\"}", NULL },
	{ LOCK, "\"token\":{\"N\":\"7\"},\"kept\":{\"N\":\"7\"}", NULL },
	{ LOCK, "\"token\":{\"N\":\"7\"},\"kept\":{\"S\":\"x\"}", NULL },
	{ LOCK, "", "token" },
	{ LOCK, "\"token\":{\"S\":\"7\"}", "token" },
	{ LOCK, "\"token\":{\"N\":\"-7\"}", "token" },
	{ LOCK, "\"token\":{\"N\":\"1.5\"}", "token" },
	{ LOCK, "\"token\":{\"N\":7}", "token" },
	{ LOCK, "\"token\":{\"N\":\"9007199254740992\"}", "token" },
	{ LOCK, "\"token\":{\"N\":\"99999999999999999999\"}", "token" },
	{ LOCK, "\"token\":7", "token" },
	{ LOCK, "\"mode\":{\"S\":\"z\"}", "mode" },
	{ LOCK, "\"mode\":{\"N\":\"1\"}", "mode" },
	{ LOCK, "\"holders\":{\"S\":\"" ME "\"}", "holders" },
	{ LOCK, "\"holders\":{\"SS\":\"" ME "\"}", "holders" },
	{ LOCK, "\"holders\":{\"SS\":[7]}", "holders" },
	{ LOCK, HELD("me"), "holders" },
	{ LOCK, HELD(SID "." GRANT ".0.-"), "holders" },
	{ LOCK, HELD(SID "." GRANT ".020.-"), "holders" },
	{ LOCK, HELD(SID "." GRANT ".20.q"), "holders" },
	{ LOCK, HELD(SID "." GRANT ".20."), "holders" },
	{ LOCK, HELD(SID "." GRANT ".20"), "holders" },
	{ LOCK, HELD(SID "." GRANT "."), "holders" },
	{ LOCK, HELD(ME), "token" },
	{ LOCK, HELD(ME) ",\"token\":{\"N\":\"1\"}", "mode" },
	{ LOCK, HELD(ME "\",\"" OTHER)
	    ",\"token\":{\"N\":\"1\"},\"mode\":{\"S\":\"x\"}", "holders" },
	{ LOCK, "\"xwait\":{\"SS\":[\"x\"]}", "xwait" },
	{ LOCK, "\"swait\":{\"N\":\"1\"}", "swait" },
	{ LOCK, "\"line\":{\"SS\":[\"" SID "\"]}", "line" },
	{ LOCK, "\"line\":{\"L\":{}}", "line" },
	{ LOCK, "\"line\":{\"L\":[{\"N\":\"1\"}]}", "line" },
	{ LOCK, "\"line\":{\"L\":[{\"S\":\"x\"}]}", "line" },
	{ LOCK, "\"line\":{\"L\":[\"" SID "\"]}", "line" },
	{ LOCK, "\"ttl\":{\"S\":\"1\"}", "ttl" },
	{ LOCK, "\"limit\":{\"N\":\"x\"}", "limit" },
	{ LOCK, "\"owner\":{\"N\":\"1\"}", "owner" },
	{ SESSION, "\"beat\":{\"N\":\"1\"},\"lease_ms\":{\"N\":\"20000\"}",
	    NULL },
	{ SESSION, "\"dead\":{\"S\":\"x\"}", NULL },
	/* The dead mark suffices, of any type; and the host is for people. */
	{ SESSION, "\"dead\":{\"BOOL\":true}", NULL },
	{ SESSION, "\"dead\":{\"S\":\"x\"},\"beat\":{\"S\":\"1\"}", NULL },
	{ SESSION, "\"beat\":{\"N\":\"1\"},\"lease_ms\":{\"N\":\"20000\"},"
	    "\"host\":{\"N\":\"1\"}", NULL },
	{ SESSION, "\"lease_ms\":{\"N\":\"1\"}", "beat" },
	{ SESSION, "\"beat\":{\"N\":\"1\"}", "lease_ms" },
	{ SESSION, "\"beat\":{\"S\":\"1\"}", "beat" },
};

TEST_ROWS(test_bad_records, records)
{
	struct dialect_view v;
	char body[1024];
	char named[64];
	int r;

	(void)snprintf(body, sizeof(body), "{\"Item\":{%s}}",
	    records[_i].item);
	r = answer(records[_i].kind, false, body, &v);
	if (records[_i].attribute == NULL) {
		ck_assert_int_eq(r, 0);
	} else {
		ck_assert_int_eq(r, DDBLOCK_E_BAD_RECORD);
		(void)snprintf(named, sizeof(named), "attribute \"%s\"",
		    records[_i].attribute);
		ck_assert_msg(strstr(v.text, named) != NULL, "%s", v.text);
		ck_assert_ptr_nonnull(strstr(v.text, "table locks"));
		ck_assert_ptr_nonnull(strstr(v.text, "expected"));
		ck_assert_ptr_nonnull(strstr(v.text,
		    records[_i].kind == LOCK ?
		    "lock:jobs/\"x\"?" : "session:" SID));
	}
	dialect_view_clear(&v);
}

static const char *const garbage[] = {
	"", "<html>", "{", "[]", "7", "null", "{\"Item\":7}",
	"{\"Item\":{\"holders\":{\"SS\":[\"",
};

TEST_ROWS(test_garbage, garbage)
{
	static const enum operation_kind kinds[] = {
		OPERATION_READ, OPERATION_ACQUIRE, OPERATION_SCAN,
		OPERATION_READ_MANY,
	};
	struct dialect_view v;

	for (size_t i = 0; i < 4; i++) {
		ck_assert_int_eq(answer(kinds[i], false, garbage[_i], &v),
		    DDBLOCK_E_PROTOCOL);
		dialect_view_clear(&v);
	}
}

/*
 * An unprocessed key is not an absent one, and a bad record does not affect
 * others.
 */
TEST(test_read_many)
{
	struct dialect_view v;

	ck_assert_int_eq(answer(OPERATION_READ_MANY, false,
	    "{\"Responses\":{\"locks\":[{\"pk\":{\"S\":\"lock:b\"},"
	    "\"token\":{\"N\":\"8\"}}]},\"UnprocessedKeys\":{\"locks\":{"
	    "\"Keys\":[{\"pk\":{\"S\":\"lock:a\"}}]}}}", &v), 0);
	ck_assert(!v.processed[0] && v.processed[1]);
	ck_assert_uint_eq(v.locks[1].token, 8);
	dialect_view_clear(&v);

	ck_assert_int_eq(answer(OPERATION_READ_MANY, false,
	    "{\"Responses\":{\"locks\":[{\"pk\":{\"S\":\"lock:b\"},"
	    "\"token\":{\"S\":\"8\"}}]},\"UnprocessedKeys\":{}}", &v), 0);
	ck_assert(v.processed[0] && !v.processed[1]);
	ck_assert(!v.locks[0].exists);
	ck_assert_ptr_nonnull(strstr(v.text, "lock:b"));
	dialect_view_clear(&v);
}

TEST(test_scan)
{
	struct dialect_view v;

	ck_assert_int_eq(answer(OPERATION_SCAN, false,
	    "{\"Items\":[{\"pk\":{\"S\":\"lock:b\"},"
	    "\"token\":{\"N\":\"1\"}},"
	    "{\"pk\":{\"S\":\"session:1\"}},{\"pk\":{\"N\":\"1\"}},"
	    "{\"pk\":{\"S\":\"lock:bad\"},\"token\":{\"S\":\"1\"}}],"
	    "\"LastEvaluatedKey\":{\"pk\":{\"S\":\"session:1\"}}}", &v), 0);
	ck_assert_uint_eq(v.n_rows, 1);
	ck_assert_uint_eq(v.rows[0].key.length, 1);
	ck_assert_int_eq(v.rows[0].key.bytes[0], 'b');
	ck_assert(key_equal(v.next_cursor,
	    (struct key){ "\0\tsession:1-", 12 }));
	ck_assert_ptr_nonnull(strstr(v.text, "lock:bad"));
	dialect_view_clear(&v);
}

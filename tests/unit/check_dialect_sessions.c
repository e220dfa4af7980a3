/*
 * The native record format: the request for a page of the table's sessions, and
 * what is read of their items.
 */
#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#include "dialect/json.h"
#include "dialect/native/native_sessions.h"
#include "test.h"

#define WALL_MS UINT64_C(1800000000123)
#define ID "000102030405060708090a0b0c0d0e0f"
#define ITEM(more) "{\"pk\":{\"S\":\"session:" ID "\"}" more "}"
#define LEASE ",\"lease_ms\":{\"N\":\"20000\"}"
#define TTL(s) ",\"gone\":{\"N\":\"" s "\"}"

static const struct dialect_table table = {
	.table = "locks", .key_attribute = "pk", .ttl_attribute = "gone",
};

static void
expect_request(struct json_object *from, const char *text)
{
	struct buffer b;

	buffer_init(&b, 4096);
	native_write_sessions(&table, from, WALL_MS, &b);
	ck_assert_int_eq(buffer_failed(&b), 0);
	ck_assert_str_eq(b.data, text);
	buffer_done(&b);
}

#define REQUEST(from)                                                          \
	"{\"ReturnConsumedCapacity\":\"TOTAL\",\"TableName\":\"locks\","       \
	"\"Limit\":250" from ",\"ProjectionExpression\":"                      \
	"\"#key, #contact, #host, #lease_ms, #ttl\",\"FilterExpression\":"     \
	"\"begins_with(#key, :prefix) AND attribute_not_exists(#dead) AND "    \
	"#ttl > :now\",\"ExpressionAttributeNames\":{\"#key\":\"pk\","         \
	"\"#contact\":\"contact\",\"#host\":\"host\",\"#lease_ms\":"           \
	"\"lease_ms\",\"#ttl\":\"gone\",\"#dead\":\"dead\"},"                  \
	"\"ExpressionAttributeValues\":{\":prefix\":{\"S\":\"session:\"},"     \
	"\":now\":{\"N\":\"1800000000\"}}}"

TEST(test_request)
{
	static const char last[] = "{\"pk\":{\"S\":\"lock:a\\u0001\\/b\"}}";
	struct json_object *from =
	    json_read_object(NULL, last, sizeof(last) - 1);

	ck_assert_ptr_nonnull(from);
	expect_request(NULL, REQUEST(""));
	expect_request(from, REQUEST(",\"ExclusiveStartKey\":"
	    "{\"pk\":{\"S\":\"lock:a\\u0001\\/b\"}}"));
	json_object_put(from);
}

static bool
read_item(const char *text, struct native_session *ret,
    struct json_object **ret_item)
{
	*ret_item = json_read_object(NULL, text, strlen(text));
	ck_assert_ptr_nonnull(*ret_item);
	return native_read_listed(&table, *ret_item, WALL_MS, ret);
}

TEST(test_item)
{
	struct json_object *item;
	struct native_session s;

	ck_assert(read_item(ITEM(LEASE TTL("1800172793") ",\"host\":{\"S\":"
	    "\"web-1\"},\"contact\":{\"S\":\"192.0.2.1:7400 key\"}"), &s,
	    &item));
	ck_assert_uint_eq(s.id.high, 0x0001020304050607);
	ck_assert_uint_eq(s.id.low, 0x08090a0b0c0d0e0f);
	ck_assert_str_eq(s.contact, "192.0.2.1:7400 key");
	ck_assert_str_eq(s.host, "web-1");
	ck_assert_uint_eq(s.lease_ms, 20000);
	ck_assert_uint_eq(s.quiet_ms, 7000);
	json_object_put(item);
}

/* What is for people, and for hints, may be absent or anything. */
TEST(test_item_without)
{
	struct json_object *item;
	struct native_session s;
	char text[400], contact[CONTACT_TEXT_MAX + 2];

	ck_assert(read_item(ITEM(LEASE TTL("1900000000") ",\"host\":{\"N\":"
	    "\"1\"},\"contact\":{\"B\":\"AA==\"}"), &s, &item));
	ck_assert_ptr_null(s.contact);
	ck_assert_ptr_null(s.host);
	ck_assert_uint_eq(s.quiet_ms, 0);
	json_object_put(item);
	memset(contact, 'c', sizeof(contact) - 1);
	contact[sizeof(contact) - 1] = '\0';
	(void)snprintf(text, sizeof(text), ITEM(LEASE TTL("1800172800")
	    ",\"contact\":{\"S\":\"%s\"}"), contact);
	ck_assert(read_item(text, &s, &item));
	ck_assert_ptr_null(s.contact);
	json_object_put(item);
}

static const char *const others[] = {
	"{}",
	"{\"pk\":{\"S\":\"lock:" ID "\"}" LEASE TTL("1800172800") "}",
	"{\"pk\":{\"S\":\"session:\"}" LEASE TTL("1800172800") "}",
	"{\"pk\":{\"S\":\"session:" ID "0\"}" LEASE TTL("1800172800") "}",
	"{\"pk\":{\"N\":\"1\"}" LEASE TTL("1800172800") "}",
	ITEM(LEASE),
	ITEM(TTL("1800172800")),
	ITEM(TTL("-1") LEASE),
	ITEM(TTL("1e9") LEASE),
	ITEM(",\"lease_ms\":{\"S\":\"1\"}" TTL("1800172800")),
};

TEST_ROWS(test_no_session, others)
{
	struct json_object *item;
	struct native_session s;

	ck_assert(!read_item(others[_i], &s, &item));
	json_object_put(item);
}

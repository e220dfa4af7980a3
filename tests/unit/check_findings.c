/*
 * The findings of checks of AWS and of a table, in words: the state, what was
 * seen, and what to do.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#include "ddblock.h"
#include "store/dynamodb_findings.h"
#include "test.h"

#define HOUR_MS UINT64_C(3600000)
#define NOW_MS UINT64_C(1790000000000)

static struct dialect_table table;
static struct findings_target target;
static struct finding f;

static void
setup(void)
{
	table = (struct dialect_table){
		.table = "locks", .key_attribute = "key",
		.ttl_attribute = "ttl", .skew_ms = 1000,
	};
	target = (struct findings_target){
		.endpoint = "https://dynamodb.eu-west-1.amazonaws.com/",
		.region = "eu-west-1", .dialect = &dialect_native,
		.table = &table,
	};
	memset(&f, 'x', sizeof(f));
}

/* The finding is this; @advice NULL: there is none. */
static void
expect(const char *check, enum finding_state state, const char *text,
    const char *advice)
{
	ck_assert_str_eq(f.check, check);
	ck_assert_msg(f.state == state, "%s: %s", finding_word(f.state),
	    f.text);
	ck_assert_msg(strstr(f.text, text) != NULL, "%s", f.text);
	if (advice == NULL)
		ck_assert_str_eq(f.advice, "");
	else
		ck_assert_msg(strstr(f.advice, advice) != NULL, "%s",
		    f.advice);
}

TEST(test_configuration)
{
	setup();
	findings_configuration(&target, "", &f);
	expect("configuration", FINDING_OK, "table locks in eu-west-1 at "
	    "https://dynamodb.eu-west-1.amazonaws.com/, format native", NULL);
	target.endpoint = NULL;
	target.region = NULL;
	findings_configuration(&target, "", &f);
	expect("configuration", FINDING_OK, "table locks, format native",
	    NULL);
	findings_configuration(&target, "no region is set", &f);
	expect("configuration", FINDING_ERROR, "table locks: no region is "
	    "set", "ddblockd-aws(7)");
}

TEST(test_credentials)
{
	char text[128];
	struct credentials c = { .expires_ms = 0 };
	struct identity_view v = { .about = "role x by instance metadata",
		.text = "" };

	setup();
	ck_assert_int_eq(credentials_set(&c, "AKIDEXAMPLE", "hush",
	    "hush-token", text, sizeof(text)), 0);
	v.text = "the file is not there";
	findings_credentials(&v, 0, NOW_MS, &f);
	expect("credentials", FINDING_ERROR, "none: the file is not there",
	    "ddblockd-aws(7)");
	v.text = "";
	v.credentials = &c;
	findings_credentials(&v, 0, NOW_MS, &f);
	expect("credentials", FINDING_OK, "role x by instance metadata, key "
	    "...MPLE; they do not expire", NULL);
	ck_assert_ptr_null(strstr(f.text, "hush"));
	c.expires_ms = NOW_MS + 5 * HOUR_MS + 720000;
	findings_credentials(&v, 0, NOW_MS, &f);
	expect("credentials", FINDING_OK, "they expire in 5 h 12 min", NULL);

	v.failures = 3;
	v.next_ms = 40000;
	v.text = "HTTP status 500";
	findings_credentials(&v, 0, NOW_MS, &f);
	expect("credentials", FINDING_WARNING, "could not be renewed (3 "
	    "times; next in 40.0 s): HTTP status 500", "meanwhile");
	v.stale = true;
	findings_credentials(&v, 0, NOW_MS + 6 * HOUR_MS, &f);
	expect("credentials", FINDING_ERROR, "they expired 48 min ago",
	    "as long as AWS takes them");
	credentials_done(&c);
}

/* The finding of an unreachable endpoint says how far the connection came. */
TEST(test_way)
{
	struct probe_report r = { .stage = PROBE_LOOKUP, .host = "d.example",
		.port = "443", .tls = true, .text = "Name or service not "
		"known" };

	setup();
	findings_dns(&r, &f);
	expect("dns", FINDING_ERROR, "d.example: Name or", "getent hosts");
	r.stage = PROBE_CONNECT;
	(void)snprintf(r.addresses, sizeof(r.addresses), "192.0.2.1");
	r.lookup_ms = 7;
	(void)snprintf(r.text, sizeof(r.text), "no answer within 5000 ms");
	findings_dns(&r, &f);
	expect("dns", FINDING_OK, "d.example is 192.0.2.1 (7 ms)", NULL);
	findings_connection(&r, &f);
	expect("connection", FINDING_ERROR, "port 443: no answer",
	    "security group");
	r.loopback = true;
	findings_connection(&r, &f);
	expect("connection", FINDING_ERROR, "port 443", "emulator");
	r.stage = PROBE_TLS;
	(void)snprintf(r.address, sizeof(r.address), "192.0.2.1");
	(void)snprintf(r.text, sizeof(r.text), "certificate has expired");
	findings_connection(&r, &f);
	expect("connection", FINDING_OK, "to 192.0.2.1, port 443", NULL);
	findings_tls(&r, NOW_MS, &f);
	expect("tls", FINDING_ERROR, "certificate has expired", "ca_file");
	r.stage = PROBE_DONE;
	r.literal = true;
	findings_dns(&r, &f);
	expect("dns", FINDING_OK, "is an address", NULL);
}

TEST(test_tls)
{
	struct probe_report r = { .stage = PROBE_DONE, .host = "d.example",
		.tls = true, .version = "TLSv1.3", .issuer = "CN = R" };

	setup();
	r.expires_s = (int64_t)((NOW_MS + 100 * 24 * HOUR_MS) / 1000);
	findings_tls(&r, NOW_MS, &f);
	expect("tls", FINDING_OK, "TLSv1.3 in 0 ms; certificate by CN = R; "
	    "valid for 100 days", NULL);
	r.expires_s = (int64_t)((NOW_MS + 10 * 24 * HOUR_MS) / 1000);
	findings_tls(&r, NOW_MS, &f);
	expect("tls", FINDING_WARNING, "10 days", "ends soon");
	r.tls = false;
	findings_tls(&r, NOW_MS, &f);
	expect("tls", FINDING_WARNING, "none", "https");
	r.loopback = true;
	findings_tls(&r, NOW_MS, &f);
	expect("tls", FINDING_OK, "none", NULL);
}

TEST(test_clock)
{
	struct findings_clock c = { .known = true, .difference_ms = 900,
		.synchronised = 1 };

	setup();
	findings_clock(&c, &target, &f);
	expect("clock", FINDING_OK, "synchronised, says the kernel", NULL);
	c.synchronised = 0;
	findings_clock(&c, &target, &f);
	expect("clock", FINDING_WARNING, "not synchronised", "chronyd");
	c.synchronised = -ENOSYS;
	findings_clock(&c, &target, &f);
	expect("clock", FINDING_WARNING, "does not say whether", "chronyd");
	/* By its unit. It need not know; the endpoint's is as right. */
	c.synchronised = -EPERM;
	findings_clock(&c, &target, &f);
	expect("clock", FINDING_OK, "may not ask", NULL);
	target.clock_counts = true;
	findings_clock(&c, &target, &f);
	expect("clock", FINDING_ERROR, "may not ask", "clock.conf");
	target.clock_counts = false;
	c.synchronised = 0;
	c.difference_ms = -61000;
	findings_clock(&c, &target, &f);
	expect("clock", FINDING_WARNING, "1 min behind the endpoint's",
	    "chronyd");
	c.difference_ms = 600000;
	findings_clock(&c, &target, &f);
	expect("clock", FINDING_ERROR, "10 min ahead of", "chronyd");
	/* A format whose leases are times of hosts' clocks. */
	c.difference_ms = 3000;
	findings_clock(&c, &target, &f);
	expect("clock", FINDING_WARNING, "3.0 s ahead of", "chronyd");
	target.dialect = &dialect_dlock;
	findings_clock(&c, &target, &f);
	expect("clock", FINDING_ERROR, "3.0 s ahead of", "chronyd");
	table.skew_ms = 5000;
	findings_clock(&c, &target, &f);
	expect("clock", FINDING_WARNING, "3.0 s ahead of", "chronyd");
	c.known = false;
	findings_clock(&c, &target, &f);
	expect("clock", FINDING_WARNING, "has not told the time", "chronyd");
	target.clock_counts = true;
	findings_clock(&c, &target, &f);
	expect("clock", FINDING_ERROR, "no lock is granted", "trust_clock");
	c.synchronised = 1;
	findings_clock(&c, &target, &f);
	expect("clock", FINDING_WARNING, "has not told the time", "sets it");
	ck_assert_ptr_null(strstr(f.text, "no lock"));
}

static struct aws_error
answer(int status, const char *body)
{
	struct aws_error e;

	aws_errors_classify(status, body, strlen(body), &e);
	return e;
}

TEST(test_signature)
{
	struct aws_error e = answer(400, "{\"__type\":\"x#"
	    "UnrecognizedClientException\",\"message\":\"The security token "
	    "included in the request is invalid.\"}");

	setup();
	findings_signature(&e, &f);
	expect("signature", FINDING_ERROR, "UnrecognizedClientException",
	    "valid credentials");
	e = answer(400, "{\"__type\":\"x#RequestExpired\"}");
	findings_signature(&e, &f);
	expect("signature", FINDING_ERROR, "", "clock");
	e = answer(502, "<html>");
	findings_signature(&e, &f);
	expect("signature", FINDING_ERROR, "no answer that is DynamoDB's",
	    "proxy");
	/* A client that is told of another error was authenticated. */
	e = answer(400, "{\"__type\":\"x#AccessDeniedException\"}");
	findings_signature(&e, &f);
	expect("signature", FINDING_OK, "accepted", NULL);
	e = answer(400, "{\"__type\":\"x#ResourceNotFoundException\"}");
	findings_signature(&e, &f);
	expect("signature", FINDING_OK, "accepted", NULL);
}

#define KEYS "\"KeySchema\":[{\"KeyType\":\"HASH\",\"AttributeName\":"         \
	"\"key\"}],\"AttributeDefinitions\":[{\"AttributeName\":\"key\","      \
	"\"AttributeType\":\"S\"}]"

/* Each of them about one table, which says no more than @text. */
static void
look(void (*at)(struct json_object *), const char *text)
{
	struct json_object *o = json_tokener_parse(text);

	ck_assert_ptr_nonnull(o);
	at(o);
	json_object_put(o);
}

static void
at_table(struct json_object *o)
{
	findings_table(&target, o, &f);
}

static void
at_billing(struct json_object *o)
{
	findings_billing(o, &f);
}

static void
at_protection(struct json_object *o)
{
	findings_protection(&target, o, &f);
}

static void
at_regions(struct json_object *o)
{
	findings_regions(o, &f);
}

static void
at_ttl(struct json_object *o)
{
	const struct aws_error ok = { .class = AWS_CLASS_OK };

	findings_ttl(&target, o, &ok, &f);
}

TEST(test_table)
{
	struct aws_error e;

	setup();
	look(at_table, "{\"TableStatus\":\"ACTIVE\"," KEYS "}");
	expect("table", FINDING_OK, "locks is ACTIVE; partition key \"key\" "
	    "(S)", NULL);
	look(at_table, "{\"TableStatus\":\"DELETING\"," KEYS "}");
	expect("table", FINDING_ERROR, "DELETING", "ACTIVE");
	look(at_table, "{\"TableStatus\":\"INACCESSIBLE_ENCRYPTION_"
	    "CREDENTIALS\"," KEYS "}");
	expect("table", FINDING_ERROR, "INACCESSIBLE", "KMS");
	table.sort_attribute = "range";
	look(at_table, "{\"TableStatus\":\"ACTIVE\"," KEYS "}");
	expect("table", FINDING_ERROR, "sort key \"range\" (S) and no other",
	    "sort_attribute");

	e = answer(400, "{\"__type\":\"x#ResourceNotFoundException\"}");
	findings_no_table(&target, &e, &f);
	expect("table", FINDING_ERROR, "no table locks", "--init-table");
	e = answer(400, "{\"__type\":\"x#AccessDeniedException\"}");
	findings_no_table(&target, &e, &f);
	expect("table", FINDING_WARNING, "cannot be seen",
	    "dynamodb:DescribeTable");
}

TEST(test_table_about)
{
	setup();
	look(at_billing, "{\"BillingModeSummary\":{\"BillingMode\":"
	    "\"PAY_PER_REQUEST\"},\"ProvisionedThroughput\":{"
	    "\"ReadCapacityUnits\":0,\"WriteCapacityUnits\":0}}");
	expect("billing", FINDING_OK, "on demand", NULL);
	look(at_billing, "{\"ProvisionedThroughput\":{\"ReadCapacityUnits\":"
	    "20,\"WriteCapacityUnits\":10}}");
	expect("billing", FINDING_OK, "20 read and 10 write", NULL);
	look(at_billing, "{\"ProvisionedThroughput\":{\"ReadCapacityUnits\":"
	    "1,\"WriteCapacityUnits\":1}}");
	expect("billing", FINDING_WARNING, "1 write", "on demand");

	look(at_protection, "{\"DeletionProtectionEnabled\":true}");
	expect("protection", FINDING_OK, "protected", NULL);
	look(at_protection, "{\"DeletionProtectionEnabled\":false}");
	expect("protection", FINDING_WARNING, "one call",
	    "--table-name locks --deletion-protection-enabled");
	look(at_protection, "{}");
	expect("protection", FINDING_OK, "does not say", NULL);

	look(at_regions, "{}");
	expect("regions", FINDING_OK, "this region only", NULL);
	look(at_regions, "{\"Replicas\":[{\"RegionName\":\"eu-west-1\"},"
	    "{\"RegionName\":\"us-east-1\"}],\"MultiRegionConsistency\":"
	    "\"STRONG\"}");
	expect("regions", FINDING_OK, "eu-west-1, us-east-1", NULL);
	look(at_regions, "{\"Replicas\":[{\"RegionName\":\"eu-west-1\"}]}");
	expect("regions", FINDING_WARNING, "two regions can both grant",
	    "one region");
}

TEST(test_ttl)
{
	struct aws_error e = answer(400,
	    "{\"__type\":\"x#UnknownOperationException\"}");

	setup();
	look(at_ttl, "{\"TimeToLiveDescription\":{\"TimeToLiveStatus\":"
	    "\"ENABLED\",\"AttributeName\":\"ttl\"}}");
	expect("ttl", FINDING_OK, "on \"ttl\"", NULL);
	look(at_ttl, "{\"TimeToLiveDescription\":{\"TimeToLiveStatus\":"
	    "\"ENABLED\",\"AttributeName\":\"until\"}}");
	expect("ttl", FINDING_WARNING, "on \"until\", but the namespace "
	    "writes \"ttl\"", "ttl_attribute");
	look(at_ttl, "{\"TimeToLiveDescription\":{\"TimeToLiveStatus\":"
	    "\"DISABLED\"}}");
	expect("ttl", FINDING_WARNING, "never removed", "\"ttl\"");
	findings_ttl(&target, NULL, &e, &f);
	expect("ttl", FINDING_OK, "no time to live at this endpoint", NULL);
	e = answer(400, "{\"__type\":\"x#AccessDeniedException\"}");
	findings_ttl(&target, NULL, &e, &f);
	expect("ttl", FINDING_WARNING, "cannot be seen",
	    "dynamodb:DescribeTimeToLive");
}

TEST(test_permission)
{
	struct aws_error e = answer(400,
	    "{\"__type\":\"x#ConditionalCheckFailedException\"}");
	const struct aws_error denied = answer(400,
	    "{\"__type\":\"x#AccessDeniedException\",\"message\":\"User: "
	    "arn:aws:iam::1:user/u is not authorized\"}");

	setup();
	findings_permission(&target, REQUEST_UPDATE, &e, &f);
	expect("permission", FINDING_OK, "UpdateItem is allowed", NULL);
	e = answer(400, "{\"__type\":\"x#TransactionCanceledException\","
	    "\"CancellationReasons\":[{\"Code\":\"ConditionalCheckFailed\"}]"
	    "}");
	findings_permission(&target, REQUEST_TRANSACT, &e, &f);
	expect("permission", FINDING_OK, "TransactWriteItems is allowed",
	    NULL);
	findings_permission(&target, REQUEST_PUT, &denied, &f);
	expect("permission", FINDING_ERROR, "PutItem is denied: ",
	    "allow dynamodb:PutItem on table locks");
	ck_assert_ptr_nonnull(strstr(f.text, "arn:aws:iam::1:user/u"));
	/* Without these two there are locks all the same. */
	findings_permission(&target, REQUEST_SCAN, &denied, &f);
	expect("permission", FINDING_WARNING, "ddblock list", "dynamodb:Scan");
	findings_permission(&target, REQUEST_TRANSACT, &denied, &f);
	expect("permission", FINDING_ERROR, "several keys at once",
	    "dynamodb:UpdateItem");
	/* Nor without this. */
	e = answer(400, "{\"__type\":\"x#UnknownOperationException\"}");
	findings_permission(&target, REQUEST_TRANSACT, &e, &f);
	expect("permission", FINDING_OK, "one after the other", NULL);
	findings_permission(&target, REQUEST_UPDATE, &e, &f);
	expect("permission", FINDING_ERROR, "refused", NULL);
	e = answer(400, "{\"__type\":\"x#ThrottlingException\"}");
	findings_permission(&target, REQUEST_GET, &e, &f);
	expect("permission", FINDING_WARNING, "throttled", "capacity");
	e = answer(400, "{\"__type\":\"x#ValidationException\"}");
	findings_permission(&target, REQUEST_GET, &e, &f);
	expect("permission", FINDING_ERROR, "refused", NULL);
}

TEST(test_latency)
{
	uint64_t us[FINDINGS_LATENCIES] = { 9000, 2100, 1000, 3000, 2000 };

	setup();
	findings_latency(us, &f);
	expect("latency", FINDING_OK, "takes 2.1 ms (of 5 the middle one; "
	    "the slowest: 9.0 ms)", NULL);
	for (size_t i = 0; i < FINDINGS_LATENCIES; i++)
		us[i] += 150000;
	findings_latency(us, &f);
	expect("latency", FINDING_WARNING, "152.1 ms", "another region");
}

TEST(test_durations)
{
	static const struct {
		uint64_t ms;
		const char *text;
	} rows[] = {
		{ 0, "0 ms" }, { 999, "999 ms" }, { 1000, "1.0 s" },
		{ 59999, "59.9 s" }, { 60000, "1 min" },
		{ HOUR_MS - 1, "59 min" }, { HOUR_MS, "1 h 0 min" },
		{ 48 * HOUR_MS - 1, "47 h 59 min" }, { 48 * HOUR_MS, "2 days" },
	};
	char text[32];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		findings_duration(rows[i].ms, text, sizeof(text));
		ck_assert_str_eq(text, rows[i].text);
	}
}

/* State, subject, sentences, advice: no line is wider than a terminal. */
TEST(test_shown)
{
	struct buffer b;

	buffer_init(&b, 4096);
	finding_show(&b, "permission", "error", "PutItem is denied: a text "
	    "that is long enough to need another line, \xc3\xa4\xc3\xb6",
	    "allow it, and whatever else is to be allowed, for the table");
	finding_show(&b, "dns", "ok", "fine", "");
	finding_show_sums(&b, 2, 1, 0);
	ck_assert_str_eq(b.data,
	    "  error    permission     PutItem is denied: a text that is long "
	    "enough to need\n"
	    "                          another line, \xc3\xa4\xc3\xb6\n"
	    "                          -> allow it, and whatever else is to "
	    "be allowed, for\n"
	    "                             the table\n"
	    "  ok       dns            fine\n"
	    "\n2 findings: 1 error, 0 warnings\n");
	buffer_done(&b);
}

/*
 * The record formats of older clients in a file: the defaults of each, the
 * settings that it knows, and the names that are refused.
 */
#include <stdio.h>
#include <string.h>

#include "config_fixture.h"
#include "ddblock.h"
#include "store/dynamodb_format.h"
#include "test.h"

#define HEAD "[namespace default]\nstore = dynamodb\ntable = tab\n" \
	"region = r\naccess_key_id = a\nsecret_access_key = s\n"
#define AT "namespace default: "

/* A namespace with these lines from the 7th on. */
static const struct config_namespace *
good(const char *lines)
{
	char text[1024];

	(void)snprintf(text, sizeof(text), HEAD "%s", lines);
	expect_good(text);
	return &config->namespaces[0];
}

/* In errors "@lease@" stands for the formats that know that setting. */
static void
bad(const char *lines, const char *errors)
{
	char text[1024], setting[64], names[256], full[1024];
	const char *at = strchr(errors, '@');

	(void)snprintf(text, sizeof(text), HEAD "%s", lines);
	if (at == NULL || sscanf(at, "@%63[a-z_]@", setting) != 1) {
		expect_error(text, errors);
		return;
	}
	store_formats_knowing(setting, names, sizeof(names));
	(void)snprintf(full, sizeof(full), "%.*s%s%s", (int)(at - errors),
	    errors, names, strchr(at + 1, '@') + 1);
	expect_error(text, full);
}

/* NULL and nothing are the same here. */
static const char *
text_of(const char *text)
{
	return text == NULL ? "" : text;
}

static const struct {
	const char *lines;
	const char *key, *sort, *ttl;
	uint64_t lease_ms, heartbeat_ms;
} defaults[] = {
	{ "", "key", "", "ttl", 20000, 5000 },
	{ "format = native\n", "key", "", "ttl", 20000, 5000 },
	{ "format = awslabs\n", "key", "", "", 20000, 5000 },
	{ "format = python\n", "lock_key", "sort_key", "expiry_time", 20000,
	    5000 },
	{ "format = js-fail-open\nkey_attribute = id\n", "id", "", "", 20000,
	    5000 },
	{ "format = js-fail-closed\nkey_attribute = id\n", "id", "", "",
	    20000, 5000 },
	{ "format = dlock\n", "key", "", "", 60000, 15000 },
	/* A setting replaces the default. */
	{ "format = awslabs\nkey_attribute = k\nsort_attribute = s\n"
	    "ttl_attribute = gone\n", "k", "s", "gone", 20000, 5000 },
	{ "format = python\nkey_attribute = key\nsort_attribute = s\n"
	    "ttl_attribute = ttl\n", "key", "s", "ttl", 20000, 5000 },
	{ "format = dlock\nlease = 20s\n", "key", "", "", 20000, 5000 },
};

TEST_FIXTURE(config_setup, config_teardown)

TEST_ROWS(test_defaults, defaults)
{
	const struct config_namespace *n = good(defaults[_i].lines);

	ck_assert_str_eq(n->store.key_attribute, defaults[_i].key);
	ck_assert_str_eq(text_of(n->store.sort_attribute), defaults[_i].sort);
	ck_assert_str_eq(text_of(n->store.ttl_attribute), defaults[_i].ttl);
	ck_assert_uint_eq(n->lease_ms, defaults[_i].lease_ms);
	ck_assert_uint_eq(n->heartbeat_ms, defaults[_i].heartbeat_ms);
}

TEST(test_choices_of_awslabs)
{
	const struct config_namespace *n;

	n = good("format = awslabs\nlease_text = go\nreleased = keep\n"
	    "keep_attributes = no\nheartbeat_rate = 200\n");
	ck_assert_uint_eq(n->store.lease_text, STORE_LEASE_GO);
	ck_assert_uint_eq(n->store.released, STORE_RELEASED_KEEP);
	ck_assert_uint_eq(n->store.keep_attributes, 0);
	ck_assert_uint_eq(config_core_namespace(n).refresh_rate, 200);
}

TEST(test_choices_of_dlock)
{
	const struct config_namespace *n = good("format = dlock\n"
	    "prefix = nyc-street-\nfencing = yes\nskew = 2s\n"
	    "trust_clock = yes\n");

	ck_assert_str_eq(n->store.prefix, "nyc-street-");
	ck_assert_uint_eq(n->store.fencing, 1);
	ck_assert_uint_eq(n->store.skew_ms, 2000);
	ck_assert_uint_eq(n->store.trust_clock, 1);
}

TEST(test_choices_of_js)
{
	const struct config_namespace *n = good("format = js-fail-open\n"
	    "key_attribute = id\nkey_type = N\nsort_attribute = part\n"
	    "sort_type = B\nlocal_time = yes\n");

	ck_assert_uint_eq(n->store.key_type, DIALECT_KEY_NUMBER);
	ck_assert_uint_eq(n->store.sort_type, DIALECT_KEY_BYTES);
	ck_assert_uint_eq(n->store.local_time, 1);
}

TEST(test_native_is_not_named_to_the_core)
{
	struct core_namespace core = config_core_namespace(good(""));

	ck_assert_ptr_null(core.format);
	ck_assert_uint_eq(core.life, LOCK_LIFE_SESSION);
	ck_assert_uint_eq(core.lacks, 0);
	ck_assert_uint_eq(core.refresh_rate, 0);
}

static const struct {
	const char *lines;
	const char *format;
	enum lock_life life;
	unsigned lacks;
} views[] = {
	{ "format = awslabs\n", "awslabs", LOCK_LIFE_RECORD,
	    CORE_LACKS_SHARED | CORE_LACKS_FAIL_CLOSED | CORE_LACKS_TOKENS },
	{ "format = python\n", "python", LOCK_LIFE_RECORD,
	    CORE_LACKS_SHARED | CORE_LACKS_FAIL_CLOSED | CORE_LACKS_DATA |
	    CORE_LACKS_TOKENS },
	{ "format = js-fail-open\nkey_attribute = id\n", "js-fail-open",
	    LOCK_LIFE_RECORD, CORE_LACKS_SHARED | CORE_LACKS_FAIL_CLOSED |
	    CORE_LACKS_DATA | CORE_LACKS_ATTRIBUTES },
	{ "format = js-fail-closed\nkey_attribute = id\n", "js-fail-closed",
	    LOCK_LIFE_NEVER, CORE_LACKS_SHARED | CORE_LACKS_FAIL_OPEN |
	    CORE_LACKS_DATA | CORE_LACKS_ATTRIBUTES | CORE_LACKS_TOKENS },
	{ "format = dlock\n", "dlock", LOCK_LIFE_DEADLINE,
	    CORE_LACKS_SHARED | CORE_LACKS_FAIL_CLOSED | CORE_LACKS_DATA |
	    CORE_LACKS_ATTRIBUTES | CORE_LACKS_TOKENS },
	{ "format = dlock\nfencing = yes\n", "dlock", LOCK_LIFE_DEADLINE,
	    CORE_LACKS_SHARED | CORE_LACKS_FAIL_CLOSED | CORE_LACKS_DATA |
	    CORE_LACKS_ATTRIBUTES },
};

TEST_ROWS(test_what_the_core_is_told, views)
{
	struct core_namespace core =
	    config_core_namespace(good(views[_i].lines));

	ck_assert_str_eq(core.format, views[_i].format);
	ck_assert_uint_eq(core.life, views[_i].life);
	/* And what none of them has. */
	ck_assert_uint_eq(core.lacks, views[_i].lacks | CORE_LACKS_EVERY);
	/* No line of hosts, no lock that stays: the peers know neither. */
	ck_assert_uint_eq(core.line_max, 0);
	ck_assert_uint_eq(core.idle_ms, 0);
}

/* How long a lock stays that its host takes again and again. */
static const struct {
	const char *lines;
	uint64_t idle_ms;
} stays[] = {
	{ "", 20 }, { "idle = 5s\n", 5000 }, { "idle = 0s\n", 0 },
	{ "[daemon]\nhints = 192.0.2.1:7400\n", 1000 },
	{ "idle = 20ms\n[daemon]\nhints = 192.0.2.1:7400\n", 20 },
	{ "format = awslabs\n[daemon]\nhints = 192.0.2.1:7400\n", 0 },
};

TEST_ROWS(test_how_long_a_lock_stays, stays)
{
	ck_assert_uint_eq(config_core_namespace(good(stays[_i].lines)).idle_ms,
	    stays[_i].idle_ms);
}

/* The format and its settings call their attributes the same. */
TEST_LOOP(test_attributes_are_those_of_the_format, 0, STORE_FORMATS)
{
	const struct dialect *d = dialect_find(store_format_name(
	    (uint64_t)_i));
	const char *const *own = store_format_row((uint64_t)_i)->attributes;

	ck_assert_ptr_nonnull(d);
	for (; *own != NULL; own++)
		ck_assert_msg(!d->key_attribute_ok(*own), "%s", *own);
	ck_assert(d->key_attribute_ok("id"));
}

static const struct {
	const char *lines;
	const char *errors;
} mistakes[] = {
	/* The name of the format, and where there may be one */
	{ "format = java\n", "test.conf:7: format = java: must be one of "
	    "@format@\n" },
	/* what only others know */
	{ "fencing = yes\n", "test.conf:7: " AT "fencing = yes is for format "
	    "= dlock, and this is native; remove it or change format\n" },
	{ "format = python\nreleased = keep\nlocal_time = no\n",
	    "test.conf:8: " AT "released = keep is for format = awslabs, and "
	    "this is python; remove it or change format\n"
	    "test.conf:9: " AT "local_time = no is for format = js-fail-open, "
	    "and this is python; remove it or change format\n" },
	{ "format = dlock\nsort_attribute = s\nretention = 7d\nfile = /f\n",
	    "test.conf:9: " AT "retention = 7d is for format = native, and "
	    "this is dlock; remove it or change format\n"
	    "test.conf:10: " AT "file is for store = sqlite; remove it or "
	    "change store\n"
	    "test.conf:8: " AT "sort_attribute = s is for format = "
	    "@sort_attribute@, and this is dlock; remove it or change "
	    "format\n" },
	{ "format = js-fail-closed\nkey_attribute = id\nlease = 5s\n",
	    "test.conf:9: " AT "lease = 5s is for format = @lease@, "
	    "and this is js-fail-closed; remove it or change format\n" },
	{ "format = awslabs\nkey_type = N\n", "test.conf:8: " AT "key_type = "
	    "N is for format = js-fail-open|js-fail-closed, and this is "
	    "awslabs; remove it or change format\n" },
	{ "format = js-fail-open\nkey_attribute = id\nkey_type = text\n",
	    "test.conf:9: key_type = text: must be one of S|N|B\n" },
	/* names of keys */
	{ "format = js-fail-open\n", "test.conf:7: " AT "format = "
	    "js-fail-open does not say what the partition key of its table "
	    "is called; set key_attribute = NAME\n" },
	{ "format = js-fail-closed\nkey_attribute = guid\n",
	    "test.conf:8: " AT "key_attribute = guid: format = "
	    "js-fail-closed has an attribute of that name; choose another\n" },
	{ "format = awslabs\nsort_attribute = data\n", "test.conf:8: " AT
	    "sort_attribute = data: format = awslabs has an attribute of that "
	    "name; choose another\n" },
	{ "format = awslabs\nttl_attribute = isReleased\n",
	    "test.conf:8: " AT "ttl_attribute = isReleased: format = awslabs "
	    "has an attribute of that name; choose another\n" },
	{ "format = python\nttl_attribute = owner_name\n",
	    "test.conf:8: " AT "ttl_attribute = owner_name: format = python "
	    "has an attribute of that name; choose another\n" },
	{ "format = awslabs\nsort_attribute = key\n", "test.conf:8: " AT
	    "sort_attribute = key: that is key_attribute already\n" },
	{ "format = python\nttl_attribute = sort_key\n", "test.conf:8: " AT
	    "ttl_attribute = sort_key: that is a key already\n" },
	{ "format = js-fail-open\nkey_attribute = id\nsort_type = N\n",
	    "test.conf:9: " AT "sort_type needs sort_attribute\n" },
	{ "format = js-fail-closed\nkey_attribute = id\nkey_type = N\n"
	    "prefix = 1\n", "test.conf:10: " AT "prefix = 1: keys are "
	    "numbers here (key_type = N); remove it\n" },
	/* other names */
	{ "format = awslabs\nrename = owner:o\n", "test.conf:8: " AT
	    "rename = owner:o: format = awslabs has no attribute \"owner\"; "
	    "it has ownerName, leaseDuration, recordVersionNumber, "
	    "isReleased, data\n" },
	{ "format = dlock\nrename = owner\n", "test.conf:8: " AT
	    "rename = owner: the new name of owner must have 1 to 255 "
	    "bytes\n" },
	{ "format = dlock\nrename = owner:key\n", "test.conf:8: " AT
	    "rename = owner:key: \"key\" cannot be the name of owner: it is "
	    "that of key_attribute\n" },
	{ "format = python\nrename = owner_name:expiry_time\n",
	    "test.conf:8: " AT "rename = owner_name:expiry_time: "
	    "\"expiry_time\" cannot be the name of owner_name: it is that of "
	    "ttl_attribute\n" },
	{ "format = dlock\nrename = owner:until\n", "test.conf:8: " AT
	    "rename = owner:until: \"until\" cannot be the name of owner: it "
	    "is an attribute of the format itself\n" },
	{ "format = dlock\nrename = owner:a, owner:b\n", "test.conf:8: " AT
	    "rename = owner:a, owner:b: owner is there twice; remove one\n" },
	{ "format = dlock\nrename = owner:a, until:a\n", "test.conf:8: " AT
	    "rename = owner:a, until:a: \"a\" cannot be the name of both "
	    "owner and until\n" },
	{ "format = python\nrename = expiry_time:e\n", "test.conf:8: " AT
	    "rename = expiry_time:e: ttl_attribute is what names "
	    "expiry_time; set that\n" },
	/* times */
	{ "format = python\nlease = 30s\nexpiry = 59s\n", "test.conf:9: " AT
	    "expiry (59000 ms) must be at least lease (30000 ms) x 2, or "
	    "records are deleted under their holders\n" },
	{ "format = python\nlease = 2h\n", "test.conf:8: " AT
	    "expiry (3600000 ms) must be at least lease (7200000 ms) x 2, or "
	    "records are deleted under their holders\n" },
	{ "format = dlock\nskew = 0\n",
	    "test.conf:8: skew = 0: must be from 1ms to 1h\n" },
	{ "format = dlock\nheartbeat = 31s\nrequest_timeout = 1s\n"
	    "danger = 50s\n",
	    "test.conf:8: " AT "heartbeat (31000 ms) x 2 must be at most "
	    "lease (60000 ms)\n" },
};

TEST_ROWS(test_mistakes, mistakes)
{
	bad(mistakes[_i].lines, mistakes[_i].errors);
}

TEST(test_the_embedded_store_has_no_format)
{
	expect_error("[namespace default]\nformat = awslabs\n",
	    "test.conf:2: namespace default: format is for store = dynamodb; "
	    "remove it or change store\n");
}

static void
expect_names(const struct config_namespace *n,
    const struct dialect_name *names, size_t n_names)
{
	struct dynamodb_renames renames;
	char rule[256];

	ck_assert_int_eq(dynamodb_format_renames(&n->store, &renames, rule,
	    sizeof(rule)), 0);
	ck_assert_uint_eq(renames.n_names, n_names);
	for (size_t i = 0; i < n_names; i++) {
		ck_assert_str_eq(renames.names[i].own, names[i].own);
		ck_assert_str_eq(renames.names[i].here, names[i].here);
	}
}

TEST(test_names)
{
	const struct dialect_name names[] = {
		{ "ownerName", "owner_name" }, { "leaseDuration", "a b:c" },
	};

	expect_names(good("format = awslabs\n"
	    "rename = ownerName:owner_name ,\tleaseDuration: a b:c ,\n"),
	    names, 2);
}

TEST(test_time_to_live_of_python_is_a_name)
{
	const struct dialect_name names[] = {
		{ "expiry_time", "gone" }, { "owner_name", "who" },
	};

	expect_names(good("format = python\nttl_attribute = gone\n"
	    "rename = owner_name:who\n"), names, 2);
}

TEST(test_a_low_rate_is_a_warning)
{
	(void)good("format = awslabs\nheartbeat_rate = 19\n");
	ck_assert_str_eq(config->warnings.data, "test.conf:8: " AT
	    "heartbeat_rate = 19: in one heartbeat (5000 ms) that renews 95 "
	    "locks, and with more of them renewals come late; raise it if "
	    "more can be held\n");
}

TEST(test_a_fair_rate_is_none)
{
	(void)good("format = awslabs\nheartbeat_rate = 20\n");
	ck_assert_uint_eq(config->warnings.length, 0);
}

/* Two lockers of one table, as dlock has it. */
static int
two_prefixes(const char *one, const char *other)
{
	char text[1024];

	(void)snprintf(text, sizeof(text), HEAD "format = dlock\n%s\n"
	    "[namespace other]\nstore = dynamodb\ntable = tab\nregion = r\n"
	    "access_key_id = a\nsecret_access_key = s\nformat = dlock\n%s\n",
	    one, other);
	return read_text(text);
}

TEST(test_one_table_for_keys_that_differ)
{
	ck_assert_int_eq(two_prefixes("prefix = street-", "prefix = shop-"),
	    0);
}

static const char *const overlaps[][2] = {
	{ "", "" }, { "prefix = a-", "" }, { "prefix = a-", "prefix = a-b-" },
	{ "prefix = ab-", "prefix = ab-" },
};

TEST_ROWS(test_one_table_for_keys_that_may_be_the_same, overlaps)
{
	ck_assert_int_lt(two_prefixes(overlaps[_i][0], overlaps[_i][1]), 0);
	ck_assert_ptr_nonnull(strstr(config->errors.data, "namespaces "
	    "default and other have the same table tab; give each its own"));
}

TEST(test_one_table_has_one_format)
{
	ck_assert_int_lt(two_prefixes("prefix = a-\nfencing = no",
	    "prefix = b-\n[namespace third]\nstore = dynamodb\ntable = tab\n"
	    "region = r\naccess_key_id = a\nsecret_access_key = s\n"
	    "format = awslabs\nprefix = c-"), 0);
	ck_assert_str_eq(config->errors.data,
	    "test.conf:18: namespaces default and third have the same table "
	    "tab; give each its own\n"
	    "test.conf:18: namespaces other and third have the same table tab; "
	    "give each its own\n");
}

TEST(test_described_are_the_settings_of_the_format)
{
	struct buffer text;

	(void)good("format = python\n");
	buffer_init(&text, 65536);
	ck_assert_int_eq(config_describe(config, &text), 0);
	ck_assert_ptr_nonnull(strstr(text.data, "\nformat = python\n"));
	ck_assert_ptr_nonnull(strstr(text.data,
	    "\nkey_attribute = lock_key\t; default\n"));
	ck_assert_ptr_nonnull(strstr(text.data,
	    "\nttl_attribute = expiry_time\t; default\n"));
	ck_assert_ptr_nonnull(strstr(text.data, "\nexpiry = 1h\t; default\n"));
	ck_assert_ptr_null(strstr(text.data, "\nskew = "));
	ck_assert_ptr_null(strstr(text.data, "\nretention = "));
	buffer_done(&text);
}

/*
 * Rules of access in the configuration: what they become, and the error for
 * each mistake: what, where, and what to write instead.
 */
#include <stdio.h>
#include <string.h>

#include "config_fixture.h"
#include "ddblock.h"
#include "test.h"

TEST_FIXTURE(config_setup, config_teardown)

#define SPACES "[namespace default]\nstore = memory\n"			\
	"[namespace jobs]\nstore = memory\n"

static void
expect_words(const char *const *words, size_t n, const char *expected)
{
	char text[256] = "";
	size_t length = 0;

	for (size_t i = 0; i < n; i++)
		length += (size_t)snprintf(text + length,
		    sizeof(text) - length, "%s%s", i > 0 ? "|" : "", words[i]);
	ck_assert_str_eq(text, expected);
}

TEST(test_rules)
{
	const struct access_rule *r;

	expect_good("[access db]\n"
	    "user = root, 2001 ; the services\n"
	    "group = root 7,8\n"
	    "unit = nginx.service, batch.slice\n"
	    "namespace = jobs default\n"
	    "prefix = db/,jobs/ \"with space,\"\n"
	    "allow = see, take fail-closed\n"
	    "connections_max = 10\n"
	    "locks_max = 20\n"
	    "watches_max = 30\n"
	    "memory_max = 4M\n"
	    "request_rate = 50\n"
	    "[access rest]\n"
	    "user = *\n"
	    "allow = none\n"
	    SPACES
	    "[access more]\n"
	    "user = 7\n"
	    "allow = all\n");
	ck_assert_uint_eq(config->rules.n_rules, 3);
	r = &config->rules.rules[0];
	ck_assert_str_eq(r->name, "db");
	ck_assert_str_eq(r->file, "test.conf");
	ck_assert_uint_eq(r->line, 1);
	ck_assert_uint_eq(r->n_users, 2);
	ck_assert_uint_eq(r->users[0], 0);
	ck_assert_uint_eq(r->users[1], 2001);
	ck_assert_uint_eq(r->n_groups, 3);
	ck_assert_uint_eq(r->groups[0], 0);
	ck_assert_uint_eq(r->groups[2], 8);
	expect_words(r->units, r->n_units, "nginx.service|batch.slice");
	expect_words(r->prefixes, r->n_prefixes, "db/|jobs/|with space,");
	ck_assert_uint_eq(r->namespaces, 3);
	ck_assert_uint_eq(r->rights, ACCESS_SEE | ACCESS_TAKE |
	    ACCESS_FAIL_CLOSED);
	ck_assert_uint_eq(r->limits[ACCESS_LIMIT_CONNECTIONS], 10);
	ck_assert_uint_eq(r->limits[ACCESS_LIMIT_LOCKS], 20);
	ck_assert_uint_eq(r->limits[ACCESS_LIMIT_WATCHES], 30);
	ck_assert_uint_eq(r->limits[ACCESS_LIMIT_MEMORY], 4 << 20);
	ck_assert_uint_eq(r->limits[ACCESS_LIMIT_REQUEST_RATE], 50);
	ck_assert_str_eq(r->title, "rule \"db\" (line 1 of test.conf)");
	r = &config->rules.rules[1];
	ck_assert_uint_eq(r->n_users, 0);
	ck_assert_uint_eq(r->n_prefixes, 0);
	ck_assert_uint_eq(r->namespaces, UINT64_MAX);
	ck_assert_uint_eq(r->rights, 0);
	for (int i = 0; i < ACCESS_LIMITS; i++)
		ck_assert_uint_eq(r->limits[i], 0);
	ck_assert_uint_eq(config->rules.rules[2].rights, ACCESS_ALL);
	ck_assert_uint_eq(config->warnings.length, 0);
}

TEST(test_no_rules)
{
	expect_good("");
	ck_assert_uint_eq(config->rules.n_rules, 0);
}

/* The namespaces change places: "default" is the first. */
TEST(test_the_namespaces_of_a_rule)
{
	expect_good("[access a]\nnamespace = jobs\nallow = take\n"
	    "[namespace jobs]\nstore = memory\n"
	    "[namespace default]\nstore = memory\n");
	ck_assert_str_eq(config->namespaces[1].name, "jobs");
	ck_assert_uint_eq(config->rules.rules[0].namespaces, 2);
}

TEST(test_sections)
{
	expect_error("[access]\n[access ]\n[access UP]\n"
	    "[access a]\nallow = none\n"
	    "\n[access a]\nallow = all\n"
	    "[daemon]\nallow = all\n"
	    "[access b]\nsocket = /x\nusr = root\nallow = see\nallow = all\n",
	    "test.conf:1: there is no section [access]; use [daemon], "
	    "[namespace NAME] or [access NAME]\n"
	    "test.conf:2: \"\" is not a name for a rule of access; use 1 to "
	    "64 of a-z, 0-9, _ and -\n"
	    "test.conf:3: \"UP\" is not a name for a rule of access; use 1 to "
	    "64 of a-z, 0-9, _ and -\n"
	    "test.conf:7: there is an [access a] already (test.conf:4); the "
	    "first rule that fits decides, so give this one another name\n"
	    "test.conf:10: allow belongs in a section [access NAME]\n"
	    "test.conf:12: socket belongs in a section [daemon]\n"
	    "test.conf:13: there is no setting usr; did you mean user?\n"
	    "test.conf:15: allow is set twice (first in test.conf:14); remove "
	    "one\n");
}

TEST(test_values)
{
	expect_error("[access a]\n"
	    "user = nobody-of-that-name, 4294967295, \"root\n"
	    "group = no-such-group\n"
	    "unit = nginx, a/b.service\n"
	    "namespace = mian\n"
	    "prefix = ,\n"
	    "allow = tkae\n"
	    "[access b]\n"
	    "user = root\n"
	    "[access c]\n"
	    "user = root\n"
	    "allow = none, see\n"
	    "[access d]\n"
	    "user = root\n"
	    "prefix = db/\n"
	    "allow = see admin\n",
	    "test.conf:2: access a: user = nobody-of-that-name: there is no "
	    "such user; create it, or write its number\n"
	    "test.conf:2: access a: user = 4294967295: there is no such "
	    "number\n"
	    "test.conf:2: access a: user = root: a quotation mark is "
	    "missing\n"
	    "test.conf:3: access a: group = no-such-group: there is no such "
	    "group; create it, or write its number\n"
	    "test.conf:4: access a: unit = nginx: no process is in a unit of "
	    "that name; write it whole, such as nginx.service\n"
	    "test.conf:4: access a: unit = a/b.service: no process is in a "
	    "unit of that name; write it whole, such as a/b.service.service\n"
	    "test.conf:5: access a: namespace = mian: there is no such "
	    "namespace; add a section [namespace mian], or correct the name\n"
	    "test.conf:6: access a: prefix = : names nothing; write * for "
	    "all, or remove it\n"
	    "test.conf:7: access a: allow = tkae: must be some of see, share, "
	    "take, fail-closed, break, list, admin; or all; or none\n"
	    "test.conf:8: access b: allow is missing; say what may be done, "
	    "or allow = none\n"
	    "test.conf:12: access c: allow = none, see: none goes with "
	    "nothing else\n"
	    "test.conf:16: access d: allow = see admin: admin is for whole "
	    "namespaces; remove prefix, or make another rule\n");
}

TEST(test_too_many)
{
	char text[16384];
	int n = 0;

	for (int i = 0; i <= ACCESS_RULES_MAX; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n,
		    "[access r%d]\nallow = see\n", i);
	expect_error(text, "test.conf:257: there may be 128 rules of access; "
	    "put some together\n");
}

/* It may be meant, but rarely. */
TEST(test_all_for_everybody)
{
	expect_good("[access rest]\nallow = all\n");
	ck_assert_str_eq(config->warnings.data, "test.conf:2: access rest: "
	    "allow = all: it is for everybody, and lets everybody break locks "
	    "or drain the daemon; leave break and admin out, or name users, "
	    "groups or units\n");
}

TEST(test_described)
{
	struct buffer text;

	buffer_init(&text, 65536);
	expect_good(SPACES "[access db]\nuser = root\nprefix = db/\n"
	    "allow = see, take\nconnections_max = 3\n");
	ck_assert_int_eq(config_describe(config, &text), 0);
	ck_assert_ptr_nonnull(strstr(text.data, "\n[access db]\nuser = root\n"
	    "prefix = db/\nallow = see, take\nconnections_max = 3\n"));
	buffer_done(&text);
}

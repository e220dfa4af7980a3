/*
 * The configuration: valid files, the error for each mistake, and that secrets
 * do not leak.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config_fixture.h"
#include "ddblock.h"
#include "test.h"

TEST_FIXTURE(config_setup, config_teardown)

TEST(test_nothing_is_enough)
{
	const struct config_namespace *n;
	struct core_namespace core;

	expect_good("");
	ck_assert_uint_eq(config->n_namespaces, 1);
	n = &config->namespaces[0];
	ck_assert_str_eq(n->name, "default");
	ck_assert_str_eq(n->store.file, "/var/lib/ddblockd/default.db");
	core = config_core_namespace(n);
	ck_assert(core.sole_writer);
	ck_assert(core.no_foreign_waiters);
	ck_assert(core.keeps_idle);
	ck_assert_uint_eq(core.lease_ms, 20000);
	ck_assert_uint_eq(core.heartbeat_ms, 5000);
	ck_assert_uint_eq(core.danger_ms, 10000);
	ck_assert_uint_eq(core.margin_ms, 1000);
	ck_assert_uint_eq(core.drift_ppm, 10000);
	ck_assert_uint_eq(core.poll_ms, 1000);
	ck_assert_uint_eq(core.request_ms, 5000);
	ck_assert_uint_eq(core.try_ms, 1000);
	ck_assert_uint_eq(core.audit_ms, 60000);
	ck_assert_uint_eq(core.handover_max, 100);
	ck_assert_uint_eq(core.idle_ms, 1000);
	ck_assert_uint_eq(n->wait_ms, CONFIG_FOREVER);
	ck_assert_uint_eq(core.list_capacity, 0);
	ck_assert_uint_eq(config->daemon.socket_mode, 0660);
	ck_assert_uint_eq(config->daemon.stop_wait_ms, 30000);
	ck_assert_str_eq(config->daemon.socket,
	    "/run/ddblockd/ddblockd.sock");
}

TEST(test_a_whole_file)
{
	expect_good("\xef\xbb\xbf; a comment\r\n"
	    "[daemon]\r\n"
	    "  socket = /tmp/s#1 # that of the first\r\n"
	    "socket_mode=666 ; everybody\r\n"
	    "log_level: debug\n"
	    "release_on_stop = yes\n"
	    "queued_bytes_max = 8M\n"
	    "[namespace jobs]\n"
	    "[namespace default] # the fleet\n"
	    "store = dynamodb\n"
	    "table = locks\n"
	    "region = eu-central-1\n"
	    "access_key_id = AKID\n"
	    "secret_access_key = SECRET/=+x\n"
	    "lease = 60s\t#; a minute\n"
	    "drift = 0.5% ;# more\n"
	    "retention = 30.5d\n");
	ck_assert_str_eq(config->daemon.socket, "/tmp/s#1");
	ck_assert_uint_eq(config->daemon.socket_mode, 0666);
	ck_assert_uint_eq(config->daemon.log_level, 3);
	ck_assert_uint_eq(config->daemon.release_on_stop, 1);
	ck_assert_uint_eq(config->daemon.queued_bytes_max, 8 << 20);
	ck_assert_uint_eq(config->n_namespaces, 2);
	/* It serves requests without a namespace, at any place in the file. */
	ck_assert_str_eq(config->namespaces[0].name, "default");
	ck_assert_str_eq(config->namespaces[0].store.secret_access_key,
	    "SECRET/=+x");
	ck_assert_uint_eq(config->namespaces[0].heartbeat_ms, 15000);
	ck_assert_uint_eq(config->namespaces[0].margin_ms, 3000);
	ck_assert_uint_eq(config->namespaces[0].drift_ppm, 5000);
	ck_assert_uint_eq(config->namespaces[0].store.retention_ms,
	    UINT64_C(61) * 43200000);
	ck_assert_uint_eq(config_core_namespace(
	    &config->namespaces[0]).list_capacity, 100);
	/* An empty section is a namespace too. */
	ck_assert_str_eq(config->namespaces[1].name, "jobs");
	ck_assert_str_eq(config->namespaces[1].store.file,
	    "/var/lib/ddblockd/jobs.db");
}

TEST(test_every_mistake_is_reported_with_its_line)
{
	expect_error("[daemon]\n"
	    "sokcet = /tmp/s\n"
	    "lease = 5s\n"
	    "\n"
	    "[namespace default]\n"
	    "lease = 5 parsecs\n"
	    "frobnicate = yes\n"
	    "socket = /x\n"
	    "poll = 1s\n"
	    "poll = 2s\n"
	    "what is this\n"
	    "file =\n"
	    "owner =; nobody\n"
	    "format =# any\n"
	    "prefix = \"a b\"\n"
	    "margin = '1s' # of a second\n",
	    "test.conf:2: there is no setting sokcet; did you mean socket?\n"
	    "test.conf:3: lease belongs in a section [namespace NAME]\n"
	    "test.conf:6: lease = 5 parsecs: must be a time such as 500ms, "
	    "20s, 5m, 1h or 7d\n"
	    "test.conf:7: there is no setting frobnicate; ddblockd --help "
	    "lists them\n"
	    "test.conf:8: socket belongs in a section [daemon]\n"
	    "test.conf:10: poll is set twice (first in test.conf:9); remove "
	    "one\n"
	    "test.conf:11: this is not a setting; write NAME = VALUE\n"
	    "test.conf:12: file = : must not be empty\n"
	    "test.conf:13: the value of owner begins with ';': a comment "
	    "needs a space before it\n"
	    "test.conf:14: the value of format begins with '#': a comment "
	    "needs a space before it\n"
	    "test.conf:15: the value of prefix begins with a quote, which "
	    "would be a part of it: write it without quotes\n"
	    "test.conf:16: the value of margin begins with a quote, which "
	    "would be a part of it: write it without quotes\n");
}

TEST(test_sections)
{
	expect_error("store = sqlite\n"
	    "[deamon]\n"
	    "socket = /tmp/unjudged\n"
	    "[namespace Big]\n"
	    "[namespace]\n"
	    "[namespace a b]\n"
	    "[daemon\n"
	    "[daemon] x\n",
	    "test.conf:1: store is in no section; write [daemon], "
	    "[namespace NAME] or [access NAME] above it\n"
	    "test.conf:2: there is no section [deamon]; use [daemon], "
	    "[namespace NAME] or [access NAME]\n"
	    "test.conf:4: \"Big\" is not a name for a namespace; use 1 to 64 "
	    "of a-z, 0-9, _ and -\n"
	    "test.conf:5: there is no section [namespace]; use [daemon], "
	    "[namespace NAME] or [access NAME]\n"
	    "test.conf:6: \"a b\" is not a name for a namespace; use 1 to 64 "
	    "of a-z, 0-9, _ and -\n"
	    "test.conf:7: \"[daemon\" is not a section; write [daemon], "
	    "[namespace NAME] or [access NAME]\n"
	    "test.conf:8: \"[daemon] x\" is not a section; write [daemon], "
	    "[namespace NAME] or [access NAME]\n");
}

/* A complaint goes to a terminal. */
TEST(test_complaints_can_be_shown)
{
	expect_error("[namespace a\x1b[2J\xc7]\n",
	    "test.conf:1: \"a?[2J?\" is not a name for a namespace; use 1 to "
	    "64 of a-z, 0-9, _ and -\n");
}

TEST(test_long_namespace_names_are_not_cut)
{
	char text[256];
	char name[80] = "";

	memset(name, 'n', 64);
	(void)snprintf(text, sizeof(text),
	    "[namespace default]\n[namespace %s]\n", name);
	expect_good(text);
	ck_assert_str_eq(config->namespaces[1].name, name);
}

TEST(test_default_namespace_is_needed)
{
	expect_error("[namespace jobs]\n",
	    "test.conf:1: there is no [namespace default], which serves "
	    "clients that name none; add it\n");
}

TEST(test_times_are_judged_together)
{
	expect_error("[namespace default]\n"
	    "lease = 20s\n"
	    "heartbeat = 11s\n"
	    "request_timeout = 1s\n",
	    "test.conf:3: namespace default: heartbeat (11000 ms) x 2 must "
	    "be at most lease (20000 ms)\n");
}

TEST(test_short_leases_need_no_other_setting)
{
	expect_good("[namespace default]\nlease = 400ms\n");
	ck_assert_uint_eq(config->namespaces[0].request_ms, 100);
	ck_assert_uint_eq(config->namespaces[0].try_ms, 100);
	ck_assert_uint_eq(config->namespaces[0].margin_ms, 20);
}

TEST(test_computed_default_blames_the_lease)
{
	expect_error("[namespace default]\n"
	    "lease = 2s\n"
	    "margin = 1s\n"
	    "heartbeat = 100ms\n"
	    "danger = 1s\n"
	    "request_timeout = 5s\n",
	    "test.conf:6: namespace default: request_timeout (5000 ms) must "
	    "be at most lease - margin - heartbeat (900 ms), or one slow "
	    "renewal loses the lease\n");
}

TEST(test_a_try_is_one_request)
{
	expect_good("[namespace default]\n"
	    "request_timeout = 3s\n"
	    "try_timeout = 3s\n");
	ck_assert_uint_eq(config->namespaces[0].try_ms, 3000);
}

TEST(test_a_try_is_no_longer_than_a_request)
{
	expect_error("[namespace default]\n"
	    "request_timeout = 3s\n"
	    "try_timeout = 3001ms\n",
	    "test.conf:3: namespace default: try_timeout (3001 ms) must be "
	    "at most request_timeout (3000 ms): a try is one request to the "
	    "store\n");
}

TEST(test_settings_of_another_store)
{
	expect_error("[namespace default]\n"
	    "table = locks\n",
	    "test.conf:2: namespace default: table is for store = dynamodb; "
	    "remove it or change store\n");
}

/* A host's name would have to be looked up. */
static const char *const bad_hints[][2] = {
	{ "hints = web-1:7400\n",
	    "test.conf:2: hints = web-1:7400: that is no address and port; "
	    "write numbers, as 192.0.2.1:7400 or [2001:db8::1]:7400\n" },
	{ "hints = 0.0.0.0:7400\n",
	    "test.conf:2: hints = 0.0.0.0:7400: other hosts cannot send to an "
	    "unspecified address; set hints_address to one of this host's\n" },
	{ "hints_address = 192.0.2.1:7400\n",
	    "test.conf:2: hints_address needs hints\n" },
	{ "hints = 0.0.0.0:7400\nhints_address = 169.254.0.1:7400\n",
	    "test.conf:3: hints_address = 169.254.0.1:7400: other hosts "
	    "cannot send to a link-local address; set hints_address to one of "
	    "this host's\n" },
};

TEST_ROWS(test_hints, bad_hints)
{
	char text[128];

	(void)snprintf(text, sizeof(text), "[daemon]\n%s", bad_hints[_i][0]);
	expect_error(text, bad_hints[_i][1]);
}

TEST(test_owner)
{
	expect_error("[namespace default]\n"
	    "owner = a\tb\n",
	    "test.conf:2: owner must be one line of at most 255 bytes\n");
}

TEST(test_dynamodb_needs)
{
	expect_error("[namespace default]\n"
	    "store = dynamodb\n",
	    "test.conf:1: namespace default: store = dynamodb needs a table; "
	    "set table = NAME\n");
}

#define LETTERS "abcdefghijklmnopqrstuvwxyz"
static const char *const no_tables[] = {
	"t", "ab", "a b", "locks/x", "l\xc3\xb6""cks",
	LETTERS LETTERS LETTERS LETTERS LETTERS LETTERS LETTERS LETTERS
	LETTERS LETTERS,
};

TEST_ROWS(test_no_table, no_tables)
{
	char text[512], errors[512];

	(void)snprintf(text, sizeof(text), "[namespace default]\n"
	    "store = dynamodb\nregion = r\naccess_key_id = AKID\n"
	    "secret_access_key = s\ntable = %s\n", no_tables[_i]);
	(void)snprintf(errors, sizeof(errors), "test.conf:6: namespace "
	    "default: table = %s: the name of a table has 3 to 255 "
	    "letters, digits, _, - and .\n", no_tables[_i]);
	expect_error(text, errors);
}

TEST(test_table_by_its_arn)
{
	expect_good("[namespace default]\nstore = dynamodb\nregion = r\n"
	    "access_key_id = AKID\nsecret_access_key = s\n"
	    "table = arn:aws:dynamodb:eu-west-1:123456789012:table/locks\n");
}

/* The environment is for the chain of the AWS clients. */
TEST(test_environment)
{
	(void)setenv("AWS_REGION", "us-east-2", 1);
	(void)setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1", 1);
	(void)setenv("AWS_ACCESS_KEY_ID", "AKID", 1);
	(void)setenv("AWS_SECRET_ACCESS_KEY", "SECRET", 1);
	expect_good("[namespace default]\n"
	    "store = dynamodb\ntable = tab\n");
	ck_assert_ptr_null(config->namespaces[0].store.region);
	ck_assert_ptr_null(config->namespaces[0].store.endpoint);
	ck_assert_ptr_null(config->namespaces[0].store.access_key_id);
}

TEST(test_keys_go_together)
{
	expect_error("[namespace default]\n"
	    "store = dynamodb\ntable = tab\naccess_key_id = MINE\n",
	    "test.conf:1: namespace default: access_key_id needs "
	    "secret_access_key\n");
}

TEST(test_a_token_needs_keys)
{
	expect_error("[namespace default]\n"
	    "store = dynamodb\ntable = tab\nsession_token = MINE\n",
	    "test.conf:1: namespace default: session_token needs access_key_id "
	    "and secret_access_key\n");
}

TEST(test_keys_or_a_profile)
{
	expect_error("[namespace default]\n"
	    "store = dynamodb\ntable = tab\nprofile = prod\n"
	    "access_key_id = a\nsecret_access_key = s\n",
	    "test.conf:4: namespace default: profile and access_key_id are "
	    "two answers to one question; take one of them out\n");
}

TEST(test_shared_stores)
{
	expect_error("[namespace default]\nfile = /a.db\n"
	    "[namespace other]\nfile = /a.db\n",
	    "test.conf:3: namespaces default and other have the same file "
	    "/a.db; give each its own\n");
}

/* Half of a key is a mistyped whole one: other credentials are not meant. */
TEST(test_secret_without_its_key)
{
	expect_error("[namespace default]\nstore = dynamodb\ntable = tab\n"
	    "region = r\nsecret_access_key = hush\n",
	    "test.conf:1: namespace default: secret_access_key needs "
	    "access_key_id\n");
}

TEST(test_key_without_its_secret)
{
	expect_error("[namespace default]\nstore = dynamodb\ntable = tab\n"
	    "region = r\naccess_key_id = AKID\n",
	    "test.conf:1: namespace default: access_key_id needs "
	    "secret_access_key\n");
}

TEST(test_secrets_are_not_shown)
{
	struct buffer text;

	expect_good("[namespace default]\n"
	    "store = dynamodb\ntable = tab\nregion = r\n"
	    "access_key_id = AKID\nsecret_access_key = hush1\n"
	    "session_token = hush2\n");
	buffer_init(&text, 65536);
	ck_assert_int_eq(config_describe(config, &text), 0);
	ck_assert_ptr_null(strstr(text.data, "hush"));
	ck_assert_ptr_nonnull(strstr(text.data,
	    "secret_access_key = (not shown)\n"));
	ck_assert_ptr_nonnull(strstr(text.data, "lease = 20s\t; default\n"));
	ck_assert_ptr_nonnull(strstr(text.data, "drift = 1%\t; default\n"));
	buffer_done(&text);
}

TEST(test_secrets_are_not_complained_about_aloud)
{
	expect_error("[namespace default]\n"
	    "secret_access_key = hu\xffsh\n",
	    "test.conf:2: secret_access_key must be UTF-8\n");
}

TEST(test_long_values)
{
	char text[3000] = "[namespace default]\nstore = dynamodb\ntable = tab\n"
	    "region = r\naccess_key_id = a\nsecret_access_key = s\n"
	    "session_token = ";
	size_t length = strlen(text);

	memset(text + length, 'x', 2000);
	expect_good(text);
	ck_assert_uint_eq(strlen(config->namespaces[0].store.session_token),
	    2000);
}

TEST(test_too_long_lines)
{
	char *text = calloc(1, 10000);

	ck_assert_ptr_nonnull(text);
	(void)snprintf(text, 10000, "[daemon]\nsocket = ");
	memset(text + strlen(text), 'x', 9000);
	ck_assert_int_eq(config_read_text(config, "f", text, strlen(text)),
	    DDBLOCK_E_BAD_REQUEST);
	ck_assert_ptr_nonnull(strstr(config->errors.data,
	    "f:2: the line is longer than"));
	free(text);
}

TEST(test_binary_file)
{
	char text[] = "[daemon]\0\n";

	ck_assert_int_eq(config_read_text(config, "f", text, 10),
	    DDBLOCK_E_BAD_REQUEST);
	ck_assert_str_eq(config->errors.data,
	    "f: there is a NUL byte in it; is it the right file?\n");
}

TEST(test_missing_file)
{
	ck_assert_int_eq(config_read(config, "/nonexistent/x"),
	    DDBLOCK_E_SYSTEM);
	ck_assert_str_eq(config->errors.data,
	    "/nonexistent/x: No such file or directory\n");
}

static void
secrets_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)),
	    (ssize_t)strlen(text));
	ck_assert_int_eq(close(fd), 0);
}

static void
secrets_judge(const char *path, const char *error, const char *warning)
{
	config_free(config);
	ck_assert_int_eq(config_new(&config), 0);
	ck_assert_int_eq(config_read(config, path), *error == '\0' ? 0 :
	    DDBLOCK_E_BAD_REQUEST);
	if (*error == '\0')
		ck_assert_uint_eq(config->errors.length, 0);
	else
		ck_assert_ptr_nonnull(strstr(config->errors.data, error));
	if (*warning == '\0')
		ck_assert_uint_eq(config->warnings.length, 0);
	else
		ck_assert_ptr_nonnull(strstr(config->warnings.data, warning));
	if (config->errors.length > 0)
		ck_assert_ptr_null(strstr(config->errors.data, "hush"));
}

/* A file of this mode, in a directory of that one: what is said of it. */
static const struct {
	bool secret;
	mode_t file, directory;
	const char *error, *warning;	/* "": none */
} secrets_cases[] = {
	{ true, 0600, 0700, "", "" },
	{ true, 0640, 0750, "", "" },
	{ true, 0660, 0770, "", "" },	/* somebody chose that group */
	{ true, 0604, 0700, "everybody can read this secret_access_key", "" },
	{ true, 0602, 0700, "everybody can write it; run chmod o-w", "" },
	{ true, 0600, 0777, "everybody can replace it", "" },
	{ true, 0600, 01777, "", "" },	/* it is ours */
	{ false, 0644, 0755, "", "" },
	{ false, 0646, 0755, "", "everybody can write it" },
	{ false, 0644, 0777, "", "everybody can replace it" },
};

TEST_ROWS(test_secrets_of_others, secrets_cases)
{
	const char *text = secrets_cases[_i].secret ?
	    "[namespace default]\nstore = dynamodb\n"
	    "secret_access_key = hush\n" : "[daemon]\nlog = stderr\n";
	const char *error = secrets_cases[_i].error;
	const char *warning = secrets_cases[_i].warning;
	char directory[] = "/tmp/check_config.XXXXXX";
	char path[64], link[64];

	ck_assert_ptr_nonnull(mkdtemp(directory));
	(void)snprintf(path, sizeof(path), "%s/conf", directory);
	(void)snprintf(link, sizeof(link), "%s.link", directory);
	secrets_write(path, text);
	ck_assert_int_eq(chmod(path, secrets_cases[_i].file), 0);
	ck_assert_int_eq(chmod(directory, secrets_cases[_i].directory), 0);
	ck_assert_int_eq(symlink(path, link), 0);
	secrets_judge(path, error, warning);
	secrets_judge(link, error, warning);
	ck_assert_int_eq(unlink(link), 0);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(directory), 0);
}

TEST(test_flags_override_files)
{
	struct config_origin flag = { .file = "--set" };

	ck_assert_int_eq(config_set(config, "default", "lease", "30s", flag),
	    0);
	ck_assert_int_eq(config_set(config, "default", "lease", "40s", flag),
	    0);
	ck_assert_int_eq(config_set(config, "default", "leas", "40s", flag),
	    DDBLOCK_E_BAD_REQUEST);
	ck_assert_str_eq(config->errors.data,
	    "--set: there is no setting leas; did you mean lease?\n");
	buffer_clear(&config->errors);
	ck_assert_int_eq(config_finish(config), 0);
	ck_assert_uint_eq(config->namespaces[0].lease_ms, 40000);
}

/* Values of every kind that must be refused. */
static const struct {
	const char *section, *setting;
} bad_values[] = {
	{ "daemon", "host = a b" },
	{ "daemon", "host = a/b" },
	{ "daemon", "socket_mode = 0888" },
	{ "daemon", "socket_mode = 01777" },
	{ "daemon", "socket_mode = rw" },
	{ "daemon", "log = syslog" },
	{ "daemon", "log = auto|journal" },
	{ "daemon", "release_on_stop = true" },
	{ "daemon", "connections_max = 0" },
	{ "daemon", "connections_max = -1" },
	{ "daemon", "connections_max = 10x" },
	{ "daemon", "connections_max = 99999999999999999999999" },
	{ "daemon", "queued_bytes_max = 1T" },
	{ "daemon", "queued_bytes_max = 1K" },
	{ "daemon", "queued_bytes_max = 99999999999999999999G" },
	{ "daemon", "queued_bytes_max = 18446744073709551615G" },
	{ "daemon", "stop_wait = 2d" },
	{ "namespace default", "lease = -1s" },
	{ "namespace default", "lease = 1ms" },
	{ "namespace default", "lease = 99999999999999999999s" },
	{ "namespace default", "drift = 1" },
	{ "namespace default", "drift = %" },
	{ "namespace default", "drift = 26%" },
	{ "namespace default", "drift = 1.1.1%" },
	{ "namespace default", "drift = 99999999999999999%" },
	{ "namespace default", "retention = 10m" },
	{ "namespace default", "retention = d" },
	{ "namespace default", "retention = 99999999999d" },
	{ "namespace default", "handover_max = 1025" },
	{ "namespace default", "line = 33" },
	{ "namespace default", "list_capacity = 1000001" },
	{ "namespace default", "wait = never" },
	{ "namespace default", "wait = 99999999999d" },
	{ "namespace default", "store = redis" },
	{ "namespace default", "idle = 2h" },
};

TEST_ROWS(test_bad_values, bad_values)
{
	char text[256];

	(void)snprintf(text, sizeof(text), "[%s]\n%s\n",
	    bad_values[_i].section, bad_values[_i].setting);
	ck_assert_msg(read_text(text) == DDBLOCK_E_BAD_REQUEST, "%s",
	    bad_values[_i].setting);
	ck_assert_int_eq(strncmp(config->errors.data, "test.conf:2: ", 13),
	    0);
	ck_assert_ptr_nonnull(strstr(config->errors.data, ": must be "));
}

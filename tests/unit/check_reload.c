/*
 * Reading the configuration again: each setting changes, or is named and stays.
 */
#include "daemon/config_reload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"
#include "suite.h"

static const char *text_now;
static struct config *old, *merged;
static struct buffer report;

static int
read_now(void *arg, struct config *c)
{
	char text[4096];
	int n = snprintf(text, sizeof(text), "%s", text_now);

	(void)arg;
	return config_read_text(c, "test.conf", text, (size_t)n);
}

static int
reload(const char *text)
{
	const struct reload_source source = { .read = read_now,
		.name = "test.conf" };

	text_now = text;
	buffer_clear(&report);
	return reload_read(old, &source, &report, &merged);
}

/* The daemon began with @before, and reads @after. */
static int
reload_from(const char *before, const char *after)
{
	ck_assert_int_eq(config_new(&old), 0);
	text_now = before;
	ck_assert_int_eq(read_now(NULL, old), 0);
	ck_assert_msg(config_finish(old) == 0, "%s", old->errors.data);
	return reload(after);
}

static void
reload_setup(void)
{
	old = merged = NULL;
	buffer_init(&report, 65536);
}

static void
reload_teardown(void)
{
	config_free(old);
	config_free(merged);
	buffer_done(&report);
}

static void
reload_reports(const char *lines)
{
	ck_assert_str_eq(report.data == NULL ? "" : report.data, lines);
}

#define TABLE								\
	"[namespace default]\nstore = dynamodb\ntable = locks\n"	\
	"region = eu-west-1\naccess_key_id = AKIDEXAMPLE\n"
#define NAMED "[namespace default]\nstore = memory\n"

START_TEST(test_live)
{
	ck_assert_int_eq(reload_from("[daemon]\nlocks_max = 10\n" NAMED
	    "poll = 5s\n", "[daemon]\nlocks_max = 5\nlog_level = debug\n"
	    NAMED "handover_max = 7\n"), 0);
	reload_reports("");
	ck_assert_uint_eq(merged->daemon.locks_max, 5);
	ck_assert_uint_eq(merged->daemon.log_level, 3);
	ck_assert_uint_eq(merged->namespaces[0].poll_ms, 1000);
	ck_assert_uint_eq(merged->namespaces[0].handover_max, 7);
}
END_TEST

START_TEST(test_later)
{
	ck_assert_int_eq(reload_from("[daemon]\nsocket = /a\n" NAMED
	    "lease = 20s\n", "[daemon]\nsocket = /b\n" NAMED
	    "lease = 40s\npoll = 2s\n"), 0);
	reload_reports("test.conf:2: socket stays /a: it changes with the "
	    "next start\n"
	    "test.conf:5: lease of namespace default stays 20s: it changes "
	    "with the next start\n");
	ck_assert_str_eq(merged->daemon.socket, "/a");
	ck_assert_uint_eq(merged->namespaces[0].lease_ms, 20000);
	ck_assert_uint_eq(merged->namespaces[0].heartbeat_ms, 5000);
	ck_assert_uint_eq(merged->namespaces[0].poll_ms, 2000);
}
END_TEST

/* What is set no more has no line; what follows from it is not named. */
START_TEST(test_not_set_any_more)
{
	ck_assert_int_eq(reload_from(NAMED "lease = 8s\n", NAMED), 0);
	reload_reports("test.conf: lease of namespace default stays 8s: it "
	    "changes with the next start\n");
	ck_assert_uint_eq(merged->namespaces[0].lease_ms, 8000);
	ck_assert_uint_eq(merged->namespaces[0].request_ms, 2000);
}
END_TEST

/* What stays has not become another by a second reload. */
START_TEST(test_twice)
{
	ck_assert_int_eq(reload_from(NAMED "lease = 8s\n",
	    NAMED "lease = 9s\n"), 0);
	config_free(old);
	old = merged;
	ck_assert_int_eq(reload(NAMED "lease = 8s\n"), 0);
	reload_reports("");
}
END_TEST

START_TEST(test_secret)
{
	ck_assert_int_eq(reload_from(TABLE "secret_access_key = "
	    "old0old0old0old0\n", TABLE "secret_access_key = "
	    "new0new0new0new0\n"), 0);
	ck_assert_str_eq(merged->namespaces[0].store.secret_access_key,
	    "new0new0new0new0");
	reload_reports("");
}
END_TEST

START_TEST(test_invalid)
{
	ck_assert_int_eq(reload_from(NAMED, NAMED "poll = soon\nlaese = 3s\n"),
	    DDBLOCK_E_BAD_REQUEST);
	ck_assert_ptr_nonnull(strstr(report.data, "test.conf:3: poll"));
	ck_assert_ptr_nonnull(strstr(report.data, "did you mean lease?"));
	ck_assert_ptr_null(merged);
}
END_TEST

/* Good for the next start, and not beside what stays until then. */
START_TEST(test_contradicts_what_stays)
{
	ck_assert_int_eq(reload_from(NAMED "lease = 4s\n",
	    NAMED "lease = 40s\nrequest_timeout = 9s\n"),
	    DDBLOCK_E_BAD_REQUEST);
	ck_assert_ptr_nonnull(strstr(report.data, "test.conf:4: "));
	ck_assert_ptr_nonnull(strstr(report.data, "request"));
}
END_TEST

START_TEST(test_namespaces)
{
	static const char *const names[] = { "default", "b", "c", "d" };

	ck_assert_int_eq(reload_from(NAMED "[namespace b]\nstore = memory\n"
	    "poll = 3s\n[namespace c]\nstore = memory\n",
	    "[namespace d]\nstore = memory\n[namespace c]\nstore = memory\n"
	    NAMED), 0);
	reload_reports("test.conf: namespace b is gone: it grants no new "
	    "locks from now on, and ends with the next start\n");
	ck_assert_uint_eq(merged->n_namespaces, 4);
	for (size_t i = 0; i < 4; i++) {
		ck_assert_str_eq(merged->namespaces[i].name, names[i]);
		ck_assert_int_eq(merged->namespaces[i].removed, i == 1);
	}
	ck_assert_uint_eq(merged->namespaces[1].poll_ms, 3000);
	/* And it comes back. */
	config_free(old);
	old = merged;
	ck_assert_int_eq(reload(NAMED "[namespace b]\nstore = memory\n"), 0);
	ck_assert(!merged->namespaces[1].removed);
	ck_assert(merged->namespaces[2].removed);
}
END_TEST

/* Each that changes live does, and each of the others is named. */
START_TEST(test_each)
{
	static const struct {
		enum config_section section;
		const char *name, *is, *now;
	} all[] = {
		{ CONFIG_DAEMON, "admin_group", "root", "daemon" },
		{ CONFIG_DAEMON, "socket_mode", "0600", "0660" },
		{ CONFIG_DAEMON, "host", "a", "b" },
		{ CONFIG_DAEMON, "stop_wait", "1s", "2s" },
		{ CONFIG_DAEMON, "release_on_stop", "no", "yes" },
		{ CONFIG_DAEMON, "history", "no", "yes" },
		{ CONFIG_DAEMON, "connections_max", "10", "20" },
		{ CONFIG_DAEMON, "queued_bytes_max", "4M", "5M" },
		{ CONFIG_NAMESPACE, "wait", "1s", "forever" },
		{ CONFIG_NAMESPACE, "owner", "a", "b" },
		{ CONFIG_NAMESPACE, "audit", "60s", "30s" },
		{ CONFIG_NAMESPACE, "drift", "1%", "2%" },
		{ CONFIG_NAMESPACE, "margin", "1s", "2s" },
	};
	char before[256], after[256];

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const char *head = all[i].section == CONFIG_DAEMON ?
		    NAMED "[daemon]\n" : NAMED;
		const struct config_setting *s;
		size_t n;

		s = config_settings(all[i].section, &n);
		while (strcmp(s->name, all[i].name) != 0)
			s++;
		(void)snprintf(before, sizeof(before), "%s%s = %s\n", head,
		    all[i].name, all[i].is);
		(void)snprintf(after, sizeof(after), "%s%s = %s\n", head,
		    all[i].name, all[i].now);
		ck_assert_int_eq(reload_from(before, after), 0);
		ck_assert_msg((report.length == 0) == s->live, "%s",
		    s->name);
		config_free(old);
		config_free(merged);
		old = merged = NULL;
	}
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		test_live,
		test_later,
		test_not_set_any_more,
		test_twice,
		test_secret,
		test_invalid,
		test_contradicts_what_stays,
		test_namespaces,
		test_each,
		NULL,
	};

	Suite *suite = suite_create("reload");
	TCase *tcase = tcase_create("reload");

	tcase_add_checked_fixture(tcase, reload_setup, reload_teardown);
	for (size_t i = 0; tests[i] != NULL; i++)
		tcase_add_test(tcase, tests[i]);
	suite_add_tcase(suite, tcase);
	return suite_end(suite);
}

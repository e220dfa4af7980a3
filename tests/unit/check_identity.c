/*
 * The round of an identity: files, plan, parameters, stages, and what stays in
 * use.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "identity/identity.h"
#include "test.h"

#define WALL_MS UINT64_C(1800000000000)	/* 2027-01-15 08:00 */
#define MINUTE UINT64_C(60000)
#define CONFIG "/h/.aws/config"
#define CREDENTIALS "/h/.aws/credentials"
#define KEYS(id) "[default]\naws_access_key_id = " id \
    "\naws_secret_access_key = secret\n"
#define PROCESS(id, date) "{\"Version\":1,\"AccessKeyId\":\"" id "\"," \
    "\"SecretAccessKey\":\"s\",\"SessionToken\":\"t\"," \
    "\"Expiration\":\"" date "\"}"

static struct identity *identity;
static struct identity_now now;
static struct identity_step step;
static struct identity_view view;
static const char *const *variables;	/* name, value, ..., NULL */

static const char *
variable(void *arg, const char *name)
{
	(void)arg;
	for (const char *const *v = variables; v != NULL && *v != NULL; v += 2)
		if (strcmp(v[0], name) == 0)
			return v[1];
	return NULL;
}

static void
look(void)
{
	identity_view(identity, now.wall_ms, &view);
}

static void
begin(const char *region, const char *const *environment)
{
	const struct identity_config config = {
		.endpoints = { .region = region },
		.variable = variable,
		.home = "/h",
	};

	variables = environment;
	now = (struct identity_now){ 1000000, WALL_MS, 1 };
	ck_assert_int_eq(identity_new(&config, &identity), 0);
	look();
	ck_assert_ptr_null(view.credentials);
	ck_assert_str_eq(view.source, "");
	identity_start(identity, &now, &step);
	look();
}

static void
tell_with(int code, int error, int status, const char *body)
{
	const struct errand_answer answer = {
		.code = code,
		.error = error,
		.text = error != 0 ? strerror(error) : error_text(code),
		.status = status,
		.body = body,
		.body_length = strlen(body),
	};

	ck_assert_ptr_nonnull(step.errand);
	identity_answer(identity, &now, &answer, &step);
	look();
}

static void
tell(const char *body)
{
	tell_with(0, 0, 200, body);
}

/* The file @path is asked for, and has @text; NULL: is not there. */
static void
file(const char *path, const char *text)
{
	ck_assert_ptr_nonnull(step.errand);
	ck_assert_int_eq(step.errand->kind, ERRAND_READ);
	ck_assert_str_eq(step.errand->path, path);
	if (text != NULL)
		tell(text);
	else
		tell_with(DDBLOCK_E_SYSTEM, ENOENT, 0, "");
}

static void
program(const char *prints)
{
	ck_assert_ptr_nonnull(step.errand);
	ck_assert_int_eq(step.errand->kind, ERRAND_RUN);
	tell_with(0, 0, prints != NULL ? 0 : 1, prints != NULL ? prints : "");
}

static void
pass(uint64_t ms)
{
	now.boot_ms += ms;
	now.wall_ms += ms;
}

static void
wake(void)
{
	ck_assert_ptr_null(step.errand);
	ck_assert_uint_lt(step.wake_ms, UINT64_MAX);
	if (step.wake_ms > now.boot_ms)
		pass(step.wake_ms - now.boot_ms);
	identity_wake(identity, &now, &step);
	look();
}

static void
expect(const char *access_key_id)
{
	ck_assert_ptr_nonnull(view.credentials);
	ck_assert_str_eq(view.credentials->access_key_id, access_key_id);
}

TEST(test_keys)
{
	begin("eu-west-1", NULL);
	file(CONFIG, NULL);
	file(CREDENTIALS, KEYS("AKIA1"));
	ck_assert(step.changed);
	ck_assert_ptr_null(step.errand);
	expect("AKIA1");
	ck_assert_str_eq(view.params->region, "eu-west-1");
	ck_assert_str_eq(view.source, "profile");
	ck_assert_int_eq(view.code, 0);
	ck_assert(!view.stale);
	ck_assert_uint_eq(view.next_ms, UINT64_MAX);
	ck_assert_uint_eq(view.refreshed_ms, now.boot_ms);

	/* The files are looked at every few minutes. */
	ck_assert_uint_ge(step.wake_ms, now.boot_ms + 4 * MINUTE);
	ck_assert_uint_le(step.wake_ms, now.boot_ms + 5 * MINUTE);
	wake();
	file(CONFIG, NULL);
	file(CREDENTIALS, KEYS("AKIA1"));
	ck_assert(!step.changed);
	wake();
	file(CONFIG, NULL);
	file(CREDENTIALS, KEYS("AKIA2"));
	ck_assert(step.changed);
	expect("AKIA2");
	identity_free(identity);
}

/* A file that is wrong for a while changes nothing, but is told of. */
TEST(test_wrong_file)
{
	begin("eu-west-1", NULL);
	file(CONFIG, NULL);
	file(CREDENTIALS, KEYS("AKIA1"));
	wake();
	file(CONFIG, "[default\n");
	file(CREDENTIALS, KEYS("AKIA1"));
	expect("AKIA1");
	ck_assert(!step.changed);
	ck_assert_int_ne(view.code, 0);
	ck_assert_ptr_nonnull(strstr(view.text, CONFIG));
	wake();
	file(CONFIG, NULL);
	file(CREDENTIALS, KEYS("AKIA1"));
	expect("AKIA1");
	ck_assert_int_eq(view.code, 0);
	ck_assert_str_eq(view.text, "");
	identity_free(identity);
}

/* With nothing yet it asks again in a second, then ever later, and at last
 * each minute. */
TEST(test_wrong_from_the_start)
{
	uint64_t bound_ms = 1000;

	begin("eu-west-1", NULL);
	for (int i = 0; i < 20; i++) {
		file(CONFIG, "[default\n");
		file(CREDENTIALS, NULL);
		ck_assert_ptr_null(view.credentials);
		ck_assert_uint_eq(view.failures, (unsigned)i + 1);
		ck_assert_uint_ge(step.wake_ms, now.boot_ms + bound_ms / 2);
		ck_assert_uint_le(step.wake_ms, now.boot_ms + bound_ms);
		bound_ms = bound_ms < 30000 ? bound_ms * 2 : 60000;
		wake();
	}
	file(CONFIG, NULL);
	file(CREDENTIALS, KEYS("AKIA1"));
	expect("AKIA1");
	ck_assert_uint_eq(view.failures, 0);
	identity_free(identity);
}

TEST(test_places_of_files)
{
	static const char *const named[] = {
		"AWS_CONFIG_FILE", "~/c", "AWS_SHARED_CREDENTIALS_FILE", "/s",
		"CREDENTIALS_DIRECTORY", "/run/credentials", NULL,
	};
	static const char *const systemd[] = {
		"CREDENTIALS_DIRECTORY", "/run/credentials", NULL,
	};

	begin("eu-west-1", named);
	file("/h/c", NULL);
	file("/s", KEYS("AKIA1"));
	expect("AKIA1");
	identity_free(identity);

	begin("eu-west-1", systemd);
	file("/run/credentials/aws_config", NULL);
	file(CONFIG, NULL);
	file("/run/credentials/aws_credentials", KEYS("AKIA1"));
	expect("AKIA1");
	identity_free(identity);
}

/* A named file that may not be read is an error; a home directory that is not
 * ours counts as none. */
TEST(test_no_permission)
{
	static const char *const named[] = {
		"AWS_SHARED_CREDENTIALS_FILE", "/s", NULL,
	};

	begin("eu-west-1", named);
	tell_with(DDBLOCK_E_SYSTEM, EACCES, 0, "");
	ck_assert_str_eq(step.errand->path, "/s");
	tell_with(DDBLOCK_E_SYSTEM, EACCES, 0, "");
	ck_assert_ptr_null(step.errand);
	ck_assert_int_ne(view.code, 0);
	ck_assert_ptr_nonnull(strstr(view.text,
	    "/s could not be read: Permission denied"));
	identity_free(identity);
}

#define RUNS "[default]\ncredential_process = p\n"

TEST(test_renewal)
{
	begin("eu-west-1", NULL);
	file(CONFIG, RUNS);
	file(CREDENTIALS, NULL);
	program(PROCESS("A1", "2027-01-15T08:08:00Z"));
	expect("A1");
	ck_assert_uint_ge(view.next_ms, now.boot_ms + 4 * MINUTE);
	ck_assert_uint_le(view.next_ms, now.boot_ms + 6 * MINUTE);
	while (step.errand == NULL || step.errand->kind != ERRAND_RUN) {
		wake();
		file(CONFIG, RUNS);
		file(CREDENTIALS, NULL);
	}
	/* The old ones stay in use, beyond their end as well. */
	for (int i = 0; i < 30; i++) {
		program(NULL);
		expect("A1");
		ck_assert(!step.changed);
		ck_assert_uint_eq(view.failures, (unsigned)i + 1);
		ck_assert(view.stale == (now.wall_ms >= WALL_MS + 8 *
		    MINUTE));
		wake();
		file(CONFIG, RUNS);
		file(CREDENTIALS, NULL);
		if (step.errand == NULL) {
			wake();
			file(CONFIG, RUNS);
			file(CREDENTIALS, NULL);
		}
	}
	ck_assert(view.stale);
	program(PROCESS("A2", "2027-01-15T12:00:00Z"));
	ck_assert(step.changed);
	expect("A2");
	ck_assert(!view.stale);
	ck_assert_int_eq(view.code, 0);
	identity_free(identity);
}

/* Credentials that have expired on arrival are used if there are no better
 * ones: our clock may be wrong. */
TEST(test_expired_from_the_start)
{
	begin("eu-west-1", NULL);
	file(CONFIG, RUNS);
	file(CREDENTIALS, NULL);
	program(PROCESS("A1", "2027-01-15T07:00:00Z"));
	expect("A1");
	ck_assert(view.stale);
	ck_assert_uint_eq(view.failures, 1);
	ck_assert_ptr_nonnull(strstr(view.text, "clock"));
	wake();
	file(CONFIG, RUNS);
	file(CREDENTIALS, NULL);
	program(PROCESS("A2", "2027-01-15T09:00:00Z"));
	expect("A2");
	ck_assert(!view.stale);
	ck_assert_uint_eq(view.failures, 0);
	identity_free(identity);
}

TEST(test_rejected)
{
	struct credentials used = { .expires_ms = 0 };

	begin("eu-west-1", NULL);
	file(CONFIG, NULL);
	file(CREDENTIALS, KEYS("AKIA1"));
	ck_assert_int_eq(credentials_copy(&used, view.credentials), 0);
	/* At once, and then not again for half a minute. */
	identity_rejected(identity, &now, &used, &step);
	file(CONFIG, NULL);
	identity_rejected(identity, &now, &used, &step);
	ck_assert_ptr_null(step.errand);
	identity_answer(identity, &now, &(struct errand_answer){
	    .body = KEYS("AKIA1"), .body_length = strlen(KEYS("AKIA1")) },
	    &step);
	ck_assert_ptr_null(step.errand);
	pass(29999);
	identity_rejected(identity, &now, &used, &step);
	ck_assert_ptr_null(step.errand);
	ck_assert_uint_gt(step.wake_ms, now.boot_ms);
	pass(1);
	identity_rejected(identity, &now, &used, &step);
	file(CONFIG, NULL);
	file(CREDENTIALS, KEYS("AKIA2"));
	expect("AKIA2");
	/* A source is late: we have others by now. */
	pass(MINUTE);
	identity_rejected(identity, &now, &used, &step);
	ck_assert_ptr_null(step.errand);
	credentials_done(&used);
	identity_free(identity);
}

/* Said amid a round that has passed what it should renew. */
TEST(test_rejected_amid_a_round)
{
	struct credentials used = { .expires_ms = 0 };

	begin("eu-west-1", NULL);
	file(CONFIG, RUNS);
	file(CREDENTIALS, NULL);
	program(PROCESS("A1", "2027-01-15T20:00:00Z"));
	ck_assert_int_eq(credentials_copy(&used, view.credentials), 0);
	wake();
	ck_assert_int_eq(step.errand->kind, ERRAND_READ);
	identity_rejected(identity, &now, &used, &step);
	ck_assert_ptr_null(step.errand);
	identity_answer(identity, &now, &(struct errand_answer){
	    .body = RUNS, .body_length = strlen(RUNS) }, &step);
	file(CREDENTIALS, NULL);
	ck_assert_uint_le(step.wake_ms, now.boot_ms);
	wake();
	file(CONFIG, RUNS);
	file(CREDENTIALS, NULL);
	program(PROCESS("A2", "2027-01-15T20:00:00Z"));
	expect("A2");
	credentials_done(&used);
	identity_free(identity);
}

TEST(test_region_of_the_instance)
{
	static const char *const environment[] = {
		"AWS_ACCESS_KEY_ID", "AKIA1",
		"AWS_SECRET_ACCESS_KEY", "secret", NULL,
	};

	begin(NULL, environment);
	file(CONFIG, NULL);
	file(CREDENTIALS, NULL);
	ck_assert_str_eq(step.errand->method, "PUT");
	ck_assert_ptr_null(view.params);
	tell("TOKEN");
	tell("ap-south-1");
	ck_assert(step.changed);
	ck_assert_ptr_nonnull(view.params);
	ck_assert_str_eq(view.params->region, "ap-south-1");
	expect("AKIA1");
	ck_assert_str_eq(view.source, "environment");
	identity_free(identity);
}

TEST(test_no_region)
{
	static const char *const environment[] = {
		"AWS_ACCESS_KEY_ID", "AKIA1", "AWS_SECRET_ACCESS_KEY",
		"secret", "AWS_EC2_METADATA_DISABLED", "true", NULL,
	};

	begin(NULL, environment);
	file(CONFIG, NULL);
	file(CREDENTIALS, NULL);
	ck_assert_ptr_null(step.errand);
	ck_assert_ptr_null(view.params);
	ck_assert_int_ne(view.code, 0);
	ck_assert_ptr_nonnull(strstr(view.text, "region"));
	identity_free(identity);
}

/* No source has credentials, and it goes on asking. */
TEST(test_nothing_at_all)
{
	begin("eu-west-1", NULL);
	file(CONFIG, NULL);
	file(CREDENTIALS, NULL);
	ck_assert_str_eq(step.errand->method, "PUT");
	tell_with(DDBLOCK_E_UNREACHABLE, 0, 0, "");
	ck_assert_ptr_null(step.errand);
	ck_assert_ptr_null(view.credentials);
	ck_assert_int_eq(view.code, DDBLOCK_E_NO_CREDENTIALS);
	ck_assert_ptr_nonnull(strstr(view.text, "no source has credentials"));
	ck_assert_uint_le(step.wake_ms, now.boot_ms + 1000);
	wake();
	file(CONFIG, NULL);
	file(CREDENTIALS, KEYS("AKIA1"));
	expect("AKIA1");
	identity_free(identity);
}

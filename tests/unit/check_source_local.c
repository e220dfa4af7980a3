/*
 * Sources on the host itself: keys that stand somewhere, a program, the
 * endpoint of a container.
 */
#include <errno.h>
#include <string.h>

#include "common/error.h"
#include "identity/source_internal.h"

#include "source_fixture.h"
#include "test.h"

/* ---- keys ---- */

TEST(test_keys)
{
	static const struct source_methods *const methods[] = {
		&source_settings, &source_environment, &source_profile,
	};
	static const char *const names[] = {
		"settings", "environment", "profile",
	};

	for (size_t i = 0; i < 3; i++) {
		struct source_fixture f;

		source_fixture_init(&f, methods[i]);
		ck_assert_str_eq(f.source.methods->name, names[i]);
		f.from.keys.access_key_id = source_fixture_text(&f, "AKIA1");
		ck_assert_int_eq(source_fixture_start(&f), SOURCE_FAILED);
		f.from.keys.secret_access_key = source_fixture_text(&f,
		    "secret");
		ck_assert_int_eq(source_fixture_start(&f), SOURCE_DONE);
		ck_assert(credentials_equal(&f.source.credentials,
		    &f.from.keys));
		ck_assert_uint_eq(f.source.credentials.expires_ms, 0);
		source_fixture_done(&f);
	}
}

/* ---- a program ---- */

static void
begin_process(struct source_fixture *f)
{
	source_fixture_init(f, &source_process);
	f->from.profile = source_fixture_text(f, "dev");
	f->from.command = source_fixture_text(f, "print-keys --now 'a b'");
	ck_assert_int_eq(source_fixture_start(f), SOURCE_WAIT);
	ck_assert_int_eq(f->source.errand.kind, ERRAND_RUN);
	ck_assert_str_eq(f->source.errand.command, "print-keys --now 'a b'");
}

TEST(test_process)
{
	struct source_fixture f;

	begin_process(&f);
	f.from.account_id = source_fixture_text(&f, "111111111111");
	ck_assert_int_eq(source_fixture_tell(&f, 0, "{\"Version\": 1,"
	    "\"AccessKeyId\":\"ASIA1\",\"SecretAccessKey\":\"secret\","
	    "\"SessionToken\":\"token\",\"AccountId\":\"123456789012\","
	    "\"Expiration\":\"2027-01-15T10:00:00.5+01:00\"}\n"),
	    SOURCE_DONE);
	ck_assert_str_eq(f.source.credentials.session_token, "token");
	ck_assert_str_eq(f.source.credentials.account_id, "123456789012");
	ck_assert_uint_eq(f.source.credentials.expires_ms,
	    SOURCE_FIXTURE_WALL_MS + 3600500);
	source_fixture_done(&f);

	/* Keys for ever; the profile names the account. Some programs print
	 * what there is not. */
	begin_process(&f);
	f.from.account_id = source_fixture_text(&f, "111111111111");
	ck_assert_int_eq(source_fixture_tell(&f, 0, "{\"Version\":1,"
	    "\"AccessKeyId\":\"AKIA1\",\"SecretAccessKey\":\"secret\","
	    "\"SessionToken\":null,\"Expiration\":null,"
	    "\"AccountId\":null}"), SOURCE_DONE);
	ck_assert_ptr_null(f.source.credentials.session_token);
	ck_assert_str_eq(f.source.credentials.account_id, "111111111111");
	ck_assert_uint_eq(f.source.credentials.expires_ms, 0);
	source_fixture_done(&f);
	begin_process(&f);
	f.from.account_id = source_fixture_text(&f, "111111111111");
	ck_assert_int_eq(source_fixture_tell(&f, 0, "{\"Version\":1,"
	    "\"AccessKeyId\":\"AKIA1\",\"SecretAccessKey\":\"secret\"}"),
	    SOURCE_DONE);
	ck_assert_ptr_null(f.source.credentials.session_token);
	ck_assert_str_eq(f.source.credentials.account_id, "111111111111");
	ck_assert_uint_eq(f.source.credentials.expires_ms, 0);
	source_fixture_done(&f);
}

/* Its output is never shown, with any content. */
TEST(test_process_is_wrong)
{
	static const char *const rows[] = {
		"", "PLANTED", "{\"Version\":2,\"AccessKeyId\":\"PLANTED\"}",
		"{\"Version\":\"1\",\"AccessKeyId\":\"PLANTED\","
		"\"SecretAccessKey\":\"PLANTED\"}",
		"{\"AccessKeyId\":\"PLANTED\"}",
		"{\"Version\":1,\"AccessKeyId\":\"PLANTED\"}",
		"{\"Version\":1,\"AccessKeyId\":\"PLANTED\","
		"\"SecretAccessKey\":\"PLANTED\",\"Expiration\":\"PLANTED\"}",
		"{\"Version\":1,\"AccessKeyId\":\"PLANTED\","
		"\"SecretAccessKey\":\"PLANTED\",\"Expiration\":7}",
		"{\"Version\":1,\"AccessKeyId\":\"PLANTED\\n\","
		"\"SecretAccessKey\":\"PLANTED\"}",
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct source_fixture f;

		begin_process(&f);
		ck_assert_msg(source_fixture_tell(&f, 0, rows[i]) ==
		    SOURCE_FAILED, "%s", rows[i]);
		ck_assert_ptr_nonnull(strstr(f.source.text, "profile dev"));
		ck_assert_ptr_null(strstr(f.source.text, "PLANTED"));
		ck_assert(!credentials_exist(&f.source.credentials));
		source_fixture_done(&f);
	}
}

TEST(test_process_fails)
{
	static const struct {
		int code;
		int error;
		int status;
		const char *text;
	} rows[] = {
		{ 0, 0, 3, "ended with status 3" },
		{ 0, 0, 137, "ended by signal 9" },
		{ DDBLOCK_E_ACQUIRE_TIMEOUT, 0, 0, "longer than 60 s" },
		{ DDBLOCK_E_LIMIT, 0, 0, "printed more than" },
		{ DDBLOCK_E_SYSTEM, ENOENT, 0, "could not be run: No such" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct source_fixture f;

		begin_process(&f);
		ck_assert_int_eq(rows[i].code == 0 ?
		    source_fixture_tell(&f, rows[i].status, "{\"Version\":1,"
		    "\"AccessKeyId\":\"PLANTED\","
		    "\"SecretAccessKey\":\"PLANTED\"}") :
		    source_fixture_fail(&f, rows[i].code, rows[i].error),
		    SOURCE_FAILED);
		ck_assert_msg(strstr(f.source.text, rows[i].text) != NULL,
		    "%s", f.source.text);
		ck_assert_ptr_null(strstr(f.source.text, "PLANTED"));
		source_fixture_done(&f);
	}
}

/* ---- a container ---- */

#define CONTAINER "http://169.254.170.2/v2/credentials/x"
#define CONTAINER_BODY "{\"RoleArn\":\"arn\",\"AccessKeyId\":\"ASIA1\"," \
    "\"SecretAccessKey\":\"secret\",\"Token\":\"token\"," \
    "\"Expiration\":\"2027-01-15T09:00:00Z\"}"

static void
begin_container(struct source_fixture *f)
{
	source_fixture_init(f, &source_container);
	f->from.url = source_fixture_text(f, CONTAINER);
}

TEST(test_container)
{
	struct source_fixture f;

	begin_container(&f);
	ck_assert_int_eq(source_fixture_start(&f), SOURCE_WAIT);
	source_fixture_expect(&f, "GET", CONTAINER);
	ck_assert_str_eq(source_fixture_header(&f, "Accept"),
	    "application/json");
	ck_assert_ptr_null(source_fixture_header(&f, "Authorization"));
	ck_assert_int_eq(source_fixture_tell(&f, 200, CONTAINER_BODY),
	    SOURCE_DONE);
	ck_assert_str_eq(f.source.credentials.session_token, "token");
	source_fixture_done(&f);

	begin_container(&f);
	f.from.token = source_fixture_text(&f, "Bearer of it");
	ck_assert_int_eq(source_fixture_start(&f), SOURCE_WAIT);
	ck_assert_str_eq(source_fixture_header(&f, "Authorization"),
	    "Bearer of it");
	source_fixture_done(&f);
}

TEST(test_container_token_file)
{
	struct source_fixture f;

	begin_container(&f);
	f.from.token_file = source_fixture_text(&f, "/run/token");
	f.from.token = source_fixture_text(&f, "older");
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(source_fixture_start(&f), SOURCE_WAIT);
		ck_assert_int_eq(f.source.errand.kind, ERRAND_READ);
		ck_assert_str_eq(f.source.errand.path, "/run/token");
		ck_assert_int_eq(source_fixture_tell(&f, 0, i == 0 ? "one" :
		    "two"), SOURCE_WAIT);
		source_fixture_expect(&f, "GET", CONTAINER);
		ck_assert_str_eq(source_fixture_header(&f, "Authorization"),
		    i == 0 ? "one" : "two");
		source_fixture_again(&f);
	}
	source_fixture_done(&f);
}

TEST(test_container_token_cannot_be_one)
{
	static const char *const tokens[] = { "", "a\r\nX: y", "a\n", "\r",
	    "\x01", "\xc3\xa4" };
	struct source_fixture f;

	for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
		begin_container(&f);
		f.from.token_file = source_fixture_text(&f, "/run/token");
		ck_assert_int_eq(source_fixture_start(&f), SOURCE_WAIT);
		ck_assert_int_eq(source_fixture_tell(&f, 0, tokens[i]),
		    SOURCE_FAILED);
		source_fixture_done(&f);
	}
	begin_container(&f);
	f.from.token_file = source_fixture_text(&f, "/run/token");
	ck_assert_int_eq(source_fixture_start(&f), SOURCE_WAIT);
	ck_assert_int_eq(source_fixture_fail(&f, DDBLOCK_E_SYSTEM, EACCES),
	    SOURCE_FAILED);
	ck_assert_ptr_nonnull(strstr(f.source.text, "/run/token"));
	source_fixture_done(&f);
}

TEST(test_container_faults)
{
	struct source_fixture f;

	begin_container(&f);
	ck_assert_int_eq(source_fixture_start(&f), SOURCE_WAIT);
	ck_assert_int_eq(source_fixture_fail(&f, DDBLOCK_E_UNREACHABLE, 0),
	    SOURCE_WAIT);
	ck_assert_int_eq(source_fixture_tell(&f, 500, ""), SOURCE_WAIT);
	source_fixture_expect(&f, "GET", CONTAINER);
	ck_assert_int_eq(source_fixture_tell(&f, 503, "PLANTED"),
	    SOURCE_FAILED);
	ck_assert(!f.source.rejected);
	ck_assert_ptr_null(strstr(f.source.text, "PLANTED"));
	source_fixture_done(&f);

	begin_container(&f);
	ck_assert_int_eq(source_fixture_start(&f), SOURCE_WAIT);
	ck_assert_int_eq(source_fixture_tell(&f, 403, "{\"code\":"
	    "\"AccessDenied\",\"message\":\"no\\nPLANTED\"}"),
	    SOURCE_FAILED);
	ck_assert(f.source.rejected);
	ck_assert_ptr_nonnull(strstr(f.source.text,
	    "HTTP status 403, AccessDenied: no"));
	ck_assert_ptr_null(strstr(f.source.text, "PLANTED"));
	source_fixture_done(&f);
}

TEST(test_container_throttles)
{
	struct source_fixture f;

	begin_container(&f);
	ck_assert_int_eq(source_fixture_start(&f), SOURCE_WAIT);
	ck_assert_int_eq(source_fixture_tell(&f, 429, ""), SOURCE_FAILED);
	ck_assert(!f.source.rejected);
	source_fixture_done(&f);
}

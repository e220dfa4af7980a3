/*
 * IAM Identity Center: the token's file, its renewal, the credentials.
 */
#include <errno.h>
#include <json-c/json.h>
#include <string.h>

#include "common/error.h"
#include "identity/source_internal.h"
#include "identity/source_json.h"
#include "identity/source_sso_token.h"

#include "source_fixture.h"
#include "test.h"

/* sha1 of "admin", and of the URL. */
#define FILE_OF_SESSION "/home/USER/.aws/sso/cache/" \
    "d033e22ae348aeb5660fc2140aec35850c4da997.json"
#define FILE_OF_URL "/home/USER/.aws/sso/cache/" \
    "3947de8b16688092197fa616c34e01335f21d256.json"
#define CREDENTIALS_URL "https://portal.sso.us-east-2.amazonaws.com" \
    "/federation/credentials?role_name=a%2Bb&account_id=123456789012"
#define TOKEN(access, expires) "{\"startUrl\":\"u\",\"region\":\"us-east-2\"," \
    "\"accessToken\":\"" access "\",\"expiresAt\":\"" expires "\"}"
#define RENEWABLE(access, expires, until) "{\"startUrl\":\"u\"," \
    "\"accessToken\":\"" access "\",\"expiresAt\":\"" expires "\"," \
    "\"clientId\":\"id\",\"clientSecret\":\"cs\",\"refreshToken\":\"r1\"," \
    "\"registrationExpiresAt\":\"" until "\"}"
#define LATER "2027-01-15T12:00:00Z"
#define SOON "2027-01-15T08:14:59Z"	/* less than 15 minutes */
#define ENOUGH "2027-01-15T08:15:00Z"
#define PAST "2027-01-15T07:59:59Z"
#define NOW "2027-01-15T08:00:00Z"
#define GOOD "{\"roleCredentials\":{\"accessKeyId\":\"ASIA1\"," \
    "\"secretAccessKey\":\"secret\",\"sessionToken\":\"token\"," \
    "\"expiration\":1800003600000}}"

static void
begin(struct source_fixture *f, bool session)
{
	source_fixture_init(f, &source_sso);
	f->from.profile = source_fixture_text(f, "dev");
	f->from.sso_session = session ? source_fixture_text(f, "admin") :
	    NULL;
	f->from.sso_start_url = source_fixture_text(f,
	    "https://x.awsapps.com/start");
	f->from.sso_region = source_fixture_text(f, "us-east-2");
	f->from.sso_role_name = source_fixture_text(f, "a+b");
	f->from.account_id = source_fixture_text(f, "123456789012");
	ck_assert_int_eq(source_fixture_start(f), SOURCE_WAIT);
	ck_assert_int_eq(f->source.errand.kind, ERRAND_READ);
	ck_assert_str_eq(f->source.errand.path, session ? FILE_OF_SESSION :
	    FILE_OF_URL);
}

static void
expect_login(const struct source_fixture *f)
{
	ck_assert(f->source.rejected);
	ck_assert_msg(strstr(f->source.text,
	    "`aws sso login --profile dev`") != NULL, "%s", f->source.text);
}

static void
expect_use(const struct source_fixture *f, const char *token)
{
	source_fixture_expect(f, "GET", CREDENTIALS_URL);
	ck_assert_str_eq(source_fixture_header(f, "x-amz-sso_bearer_token"),
	    token);
	ck_assert_ptr_null(f->source.errand.signer);
}

TEST(test_credentials)
{
	for (int session = 0; session < 2; session++) {
		struct source_fixture f;

		begin(&f, session == 1);
		ck_assert_int_eq(source_fixture_tell(&f, 0, TOKEN("at",
		    LATER)), SOURCE_WAIT);
		expect_use(&f, "at");
		ck_assert_int_eq(source_fixture_tell(&f, 200, GOOD),
		    SOURCE_DONE);
		ck_assert_str_eq(f.source.credentials.session_token,
		    "token");
		ck_assert_str_eq(f.source.credentials.account_id,
		    "123456789012");
		ck_assert_uint_eq(f.source.credentials.expires_ms,
		    SOURCE_FIXTURE_WALL_MS + 3600000);
		source_fixture_done(&f);
	}
}

TEST(test_no_token)
{
	static const char *const files[] = {
		"", "{", "[]", "{\"accessToken\":\"at\"}",
		TOKEN("", LATER), TOKEN("at", "soon"), TOKEN("at", PAST),
		TOKEN("at", NOW),
	};
	struct source_fixture f;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		begin(&f, i % 2 == 0);
		ck_assert_msg(source_fixture_tell(&f, 0, files[i]) ==
		    SOURCE_FAILED, "%s", files[i]);
		expect_login(&f);
		source_fixture_done(&f);
	}
	begin(&f, true);
	ck_assert_int_eq(source_fixture_fail(&f, DDBLOCK_E_SYSTEM, ENOENT),
	    SOURCE_FAILED);
	expect_login(&f);
	source_fixture_done(&f);
}

/* Renewed, written, and used. */
static void
renew(struct source_fixture *f, const char *file)
{
	struct json_object *json;

	ck_assert_int_eq(source_fixture_tell(f, 0, file), SOURCE_WAIT);
	source_fixture_expect(f, "POST",
	    "https://oidc.us-east-2.amazonaws.com/token");
	ck_assert_str_eq(source_fixture_header(f, "Content-Type"),
	    "application/json");
	ck_assert_ptr_null(f->source.errand.signer);
	json = source_json_parse(f->source.errand.body,
	    f->source.errand.body_length);
	ck_assert_ptr_nonnull(json);
	ck_assert_int_eq(json_object_object_length(json), 4);
	ck_assert_str_eq(source_json_text(json, "clientId"), "id");
	ck_assert_str_eq(source_json_text(json, "clientSecret"), "cs");
	ck_assert_str_eq(source_json_text(json, "grantType"),
	    "refresh_token");
	ck_assert_str_eq(source_json_text(json, "refreshToken"), "r1");
	source_json_done(json);
}

TEST(test_renewal)
{
	struct json_object *json;
	struct source_fixture f;

	begin(&f, true);
	renew(&f, RENEWABLE("at", SOON, LATER));
	ck_assert_int_eq(source_fixture_tell(&f, 200,
	    "{\"accessToken\":\"at2\",\"expiresIn\":7200,"
	    "\"refreshToken\":\"r2\",\"tokenType\":\"Bearer\"}"),
	    SOURCE_WAIT);
	ck_assert_int_eq(f.source.errand.kind, ERRAND_WRITE);
	ck_assert_str_eq(f.source.errand.path, FILE_OF_SESSION);
	json = source_json_parse(f.source.errand.body,
	    f.source.errand.body_length);
	ck_assert_ptr_nonnull(json);
	ck_assert_str_eq(source_json_text(json, "startUrl"), "u");
	ck_assert_str_eq(source_json_text(json, "accessToken"), "at2");
	ck_assert_str_eq(source_json_text(json, "expiresAt"),
	    "2027-01-15T10:00:00Z");
	ck_assert_str_eq(source_json_text(json, "refreshToken"), "r2");
	ck_assert_str_eq(source_json_text(json, "clientId"), "id");
	source_json_done(json);
	ck_assert_int_eq(source_fixture_tell(&f, 0, ""), SOURCE_WAIT);
	expect_use(&f, "at2");
	source_fixture_done(&f);
}

/* What could not be written is remembered, until the file has something
 * newer. */
TEST(test_not_written)
{
	struct source_fixture f;

	begin(&f, true);
	renew(&f, RENEWABLE("at", PAST, LATER));
	ck_assert_int_eq(source_fixture_tell(&f, 200,
	    "{\"accessToken\":\"at2\",\"expiresIn\":7200}"), SOURCE_WAIT);
	ck_assert_int_eq(source_fixture_fail(&f, DDBLOCK_E_SYSTEM, EROFS),
	    SOURCE_WAIT);
	expect_use(&f, "at2");
	source_fixture_again(&f);
	ck_assert_int_eq(source_fixture_start(&f), SOURCE_WAIT);
	ck_assert_int_eq(source_fixture_tell(&f, 0, RENEWABLE("at", PAST,
	    LATER)), SOURCE_WAIT);
	expect_use(&f, "at2");
	source_fixture_again(&f);
	ck_assert_int_eq(source_fixture_start(&f), SOURCE_WAIT);
	ck_assert_int_eq(source_fixture_tell(&f, 0, RENEWABLE("at3", LATER,
	    LATER)), SOURCE_WAIT);
	expect_use(&f, "at3");
	source_fixture_done(&f);
}

/* Another session's token is another's, however long it is good. */
TEST(test_other_session)
{
	struct source_fixture f;

	begin(&f, true);
	ck_assert_int_eq(source_fixture_tell(&f, 0, TOKEN("at", LATER)),
	    SOURCE_WAIT);
	expect_use(&f, "at");
	source_fixture_again(&f);
	f.from.sso_session = NULL;
	ck_assert_int_eq(source_fixture_start(&f), SOURCE_WAIT);
	ck_assert_str_eq(f.source.errand.path, FILE_OF_URL);
	ck_assert_int_eq(source_fixture_tell(&f, 0, TOKEN("other", ENOUGH)),
	    SOURCE_WAIT);
	expect_use(&f, "other");
	source_fixture_again(&f);
	f.from.sso_start_url = source_fixture_text(&f, "https://y/start");
	ck_assert_int_eq(source_fixture_start(&f), SOURCE_WAIT);
	ck_assert_int_eq(source_fixture_fail(&f, DDBLOCK_E_SYSTEM, ENOENT),
	    SOURCE_FAILED);
	expect_login(&f);
	source_fixture_done(&f);
}

/* When it is not renewed: there is time, or not all that it takes. */
TEST(test_no_renewal)
{
	struct source_fixture f;

	begin(&f, true);
	ck_assert_int_eq(source_fixture_tell(&f, 0, RENEWABLE("at", ENOUGH,
	    LATER)), SOURCE_WAIT);
	expect_use(&f, "at");
	source_fixture_done(&f);
	begin(&f, true);
	ck_assert_int_eq(source_fixture_tell(&f, 0, RENEWABLE("at", SOON,
	    NOW)), SOURCE_WAIT);
	expect_use(&f, "at");
	source_fixture_done(&f);
	begin(&f, false);
	ck_assert_int_eq(source_fixture_tell(&f, 0, RENEWABLE("at", SOON,
	    LATER)), SOURCE_WAIT);
	expect_use(&f, "at");
	source_fixture_done(&f);
}

/* A renewal that fails leaves what there is. */
TEST(test_renewal_fails)
{
	static const char *const answers[] = {
		"", "[]", "{\"accessToken\":\"at2\"}",
		"{\"accessToken\":\"at2\",\"expiresIn\":-1}",
		"{\"accessToken\":\"at2\",\"expiresIn\":99999999999}",
		"{\"expiresIn\":7200}",
	};

	for (size_t i = 0; i < 2 * sizeof(answers) / sizeof(answers[0]);
	    i++) {
		bool expired = i % 2 == 1;
		struct source_fixture f;

		begin(&f, true);
		renew(&f, expired ? RENEWABLE("at", PAST, LATER) :
		    RENEWABLE("at", SOON, LATER));
		ck_assert_int_eq(source_fixture_tell(&f, i < 2 ? 400 : 200,
		    answers[i / 2]), expired ? SOURCE_FAILED : SOURCE_WAIT);
		if (expired)
			expect_login(&f);
		else
			expect_use(&f, "at");
		source_fixture_done(&f);
	}
}

TEST(test_refusals)
{
	struct source_fixture f;

	begin(&f, true);
	ck_assert_int_eq(source_fixture_tell(&f, 0, TOKEN("at", LATER)),
	    SOURCE_WAIT);
	ck_assert_int_eq(source_fixture_tell(&f, 401, "{}"), SOURCE_FAILED);
	expect_login(&f);
	source_fixture_done(&f);

	begin(&f, true);
	ck_assert_int_eq(source_fixture_tell(&f, 0, TOKEN("at", LATER)),
	    SOURCE_WAIT);
	ck_assert_int_eq(source_fixture_tell(&f, 403, "{\"message\":"
	    "\"No access\"}"), SOURCE_FAILED);
	ck_assert(f.source.rejected);
	ck_assert_ptr_nonnull(strstr(f.source.text, "No access"));
	source_fixture_done(&f);

	begin(&f, true);
	ck_assert_int_eq(source_fixture_tell(&f, 0, TOKEN("at", LATER)),
	    SOURCE_WAIT);
	ck_assert_int_eq(source_fixture_tell(&f, 429, ""), SOURCE_FAILED);
	ck_assert(!f.source.rejected);
	source_fixture_done(&f);
}

TEST(test_bad_credentials)
{
	static const char *const rows[] = {
		"", "{}", "{\"roleCredentials\":{}}",
		"{\"roleCredentials\":{\"accessKeyId\":\"A\","
		"\"secretAccessKey\":\"S\",\"sessionToken\":\"T\"}}",
		"{\"roleCredentials\":{\"accessKeyId\":\"A\","
		"\"secretAccessKey\":\"S\",\"expiration\":1800003600000}}",
		"{\"roleCredentials\":{\"accessKeyId\":\"A\","
		"\"secretAccessKey\":\"S\",\"sessionToken\":\"T\","
		"\"expiration\":\"2027-01-15T12:00:00Z\"}}",
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct source_fixture f;

		begin(&f, true);
		ck_assert_int_eq(source_fixture_tell(&f, 0, TOKEN("at",
		    LATER)), SOURCE_WAIT);
		ck_assert_msg(source_fixture_tell(&f, 200, rows[i]) ==
		    SOURCE_FAILED, "%s", rows[i]);
		source_fixture_done(&f);
	}
}

TEST(test_no_home)
{
	struct source_fixture f;

	source_fixture_init(&f, &source_sso);
	f.source.home = NULL;
	ck_assert_int_eq(source_fixture_start(&f), SOURCE_FAILED);
	ck_assert_ptr_nonnull(strstr(f.source.text, "home directory"));
	source_fixture_done(&f);
}

/* Other programs' members of the file stay, and any text is valid again. */
TEST(test_merge)
{
	static const char file[] = "{\"accessToken\":\"a1\","
	    "\"mine\":[1,{\"x\":null}],\"no\":null,"
	    "\"say\":\"\\\"\\\\\\/\\n\\u0001\303\244\","
	    "\"expiresAt\":\"" NOW "\",\"refreshToken\":\"r1\"}";
	static const char answer[] = "{\"accessToken\":\"a\\\"2\","
	    "\"expiresIn\":60}";
	struct buffer text;

	buffer_init_secret(&text, 4096);
	ck_assert_int_eq(source_sso_merge(file, strlen(file), answer,
	    strlen(answer), SOURCE_FIXTURE_WALL_MS, &text), 0);
	ck_assert_str_eq(text.data, "{\"mine\":[1,{\"x\":null}],"
	    "\"no\":null,\"say\":\"\\\"\\\\/\\u000a\\u0001\303\244\","
	    "\"accessToken\":\"a\\\"2\","
	    "\"expiresAt\":\"2027-01-15T08:01:00Z\"}");
	buffer_done(&text);
}

/*
 * Roles: the requests to STS, and its answers.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "identity/source_internal.h"

#include "source_fixture.h"
#include "test.h"

#define STS "https://sts.eu-west-1.amazonaws.com/"
#define ARN "arn:aws:iam::123456789012:role/a/b"
#define ANSWER(action, key, secret, token, date) "<" action "Response>" \
    "<" action "Result><AssumedRoleUser><Arn>" \
    "arn:aws:sts::123456789012:assumed-role/b/s</Arn></AssumedRoleUser>" \
    "<Credentials><AccessKeyId>" key "</AccessKeyId><SecretAccessKey>" \
    secret "</SecretAccessKey><SessionToken>" token "</SessionToken>" \
    "<Expiration>" date "</Expiration></Credentials></" action "Result>" \
    "</" action "Response>"
#define DATE "2027-01-15T09:00:00Z"
#define REFUSAL(code, message) "<ErrorResponse><Error><Type>Sender</Type>" \
    "<Code>" code "</Code><Message>" message "</Message></Error>" \
    "</ErrorResponse>"

static void
begin_role(struct source_fixture *f)
{
	source_fixture_init(f, &source_assume_role);
	f->role.role_arn = source_fixture_text(f, ARN);
	f->signer.access_key_id = source_fixture_text(f, "AKIA1");
	f->signer.secret_access_key = source_fixture_text(f, "signing");
}

static void
begin_web_identity(struct source_fixture *f)
{
	source_fixture_init(f, &source_web_identity);
	f->from.role.role_arn = source_fixture_text(f, ARN);
	f->from.role.session_name = source_fixture_text(f, "pod");
	f->from.token_file = source_fixture_text(f, "/run/token");
	ck_assert_int_eq(source_fixture_start(f), SOURCE_WAIT);
	ck_assert_int_eq(f->source.errand.kind, ERRAND_READ);
	ck_assert_str_eq(f->source.errand.path, "/run/token");
}

static const char *
body(const struct source_fixture *f)
{
	ck_assert_uint_eq(strlen(f->source.errand.body),
	    f->source.errand.body_length);
	return f->source.errand.body;
}

TEST(test_role)
{
	struct source_fixture f;

	begin_role(&f);
	f.role.external_id = source_fixture_text(&f, "a/b=c&d");
	f.role.session_name = source_fixture_text(&f, "who@host");
	f.role.duration_s = 900;
	ck_assert_int_eq(source_fixture_start(&f), SOURCE_WAIT);
	source_fixture_expect(&f, "POST", STS);
	ck_assert_str_eq(source_fixture_header(&f, "Content-Type"),
	    "application/x-www-form-urlencoded; charset=utf-8");
	ck_assert_str_eq(body(&f), "Action=AssumeRole&Version=2011-06-15"
	    "&RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Fa%2Fb"
	    "&RoleSessionName=who%40host&DurationSeconds=900"
	    "&ExternalId=a%2Fb%3Dc%26d");
	ck_assert_ptr_eq(f.source.errand.signer, &f.signer);
	ck_assert_str_eq(f.source.errand.service, "sts");
	ck_assert_str_eq(f.source.errand.region, "eu-west-1");
	ck_assert_int_eq(source_fixture_tell(&f, 200, ANSWER("AssumeRole",
	    "ASIA1", "s&amp;cret", "t&lt;k", DATE)), SOURCE_DONE);
	ck_assert_str_eq(f.source.credentials.access_key_id, "ASIA1");
	ck_assert_str_eq(f.source.credentials.secret_access_key, "s&cret");
	ck_assert_str_eq(f.source.credentials.session_token, "t<k");
	ck_assert_str_eq(f.source.credentials.account_id, "123456789012");
	ck_assert_uint_eq(f.source.credentials.expires_ms,
	    SOURCE_FIXTURE_WALL_MS + 3600000);
	source_fixture_done(&f);
}

/* One name for as long as we run. */
TEST(test_session_name)
{
	struct source_fixture f;

	begin_role(&f);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(source_fixture_start(&f), SOURCE_WAIT);
		ck_assert_ptr_nonnull(strstr(body(&f),
		    "&RoleSessionName=ddblockd-1800000000"));
		ck_assert_ptr_null(strstr(body(&f), "DurationSeconds"));
		ck_assert_ptr_null(strstr(body(&f), "ExternalId"));
		source_fixture_again(&f);
		f.source.wall_ms += 86400000;
	}
	source_fixture_done(&f);
}

TEST(test_web_identity)
{
	struct source_fixture f;

	begin_web_identity(&f);
	ck_assert_int_eq(source_fixture_tell(&f, 0, "ab.c_d.e-f+/=\n"),
	    SOURCE_WAIT);
	source_fixture_expect(&f, "POST", STS);
	ck_assert_str_eq(body(&f), "Action=AssumeRoleWithWebIdentity"
	    "&Version=2011-06-15"
	    "&RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Fa%2Fb"
	    "&RoleSessionName=pod&WebIdentityToken=ab.c_d.e-f%2B%2F%3D");
	ck_assert_ptr_null(f.source.errand.signer);
	ck_assert_int_eq(source_fixture_tell(&f, 200, ANSWER(
	    "AssumeRoleWithWebIdentity", "ASIA1", "secret", "token", DATE)),
	    SOURCE_DONE);
	/* The file is read each time: its token is another by then. */
	source_fixture_again(&f);
	ck_assert_int_eq(source_fixture_start(&f), SOURCE_WAIT);
	ck_assert_int_eq(f.source.errand.kind, ERRAND_READ);
	ck_assert_int_eq(source_fixture_tell(&f, 0, "other"), SOURCE_WAIT);
	ck_assert_ptr_nonnull(strstr(body(&f), "&WebIdentityToken=other"));
	source_fixture_done(&f);
}

TEST(test_web_identity_without_token)
{
	static const char *const tokens[] = { "", "\n", "a b", "a\nb",
	    "\xc3\xa4" };
	struct source_fixture f;

	for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
		begin_web_identity(&f);
		ck_assert_int_eq(source_fixture_tell(&f, 0, tokens[i]),
		    SOURCE_FAILED);
		ck_assert_ptr_nonnull(strstr(f.source.text, "/run/token"));
		source_fixture_done(&f);
	}
	begin_web_identity(&f);
	ck_assert_int_eq(source_fixture_fail(&f, DDBLOCK_E_SYSTEM, ENOENT),
	    SOURCE_FAILED);
	ck_assert_ptr_nonnull(strstr(f.source.text, "No such file"));
	source_fixture_done(&f);
}

/* An answer for the other action, or with something missing, is none. */
TEST(test_bad_answers)
{
	static const char *const rows[][2] = {
		{ "", "AccessKeyId" },
		{ "{\"AssumeRoleResponse\":{}}", "AccessKeyId" },
		{ ANSWER("AssumeRoleWithWebIdentity", "A", "S", "T", DATE),
		    "AccessKeyId" },
		{ ANSWER("AssumeRole", "A", "S", "T", DATE) "x",
		    "AccessKeyId" },
		{ ANSWER("AssumeRole", "A", "", "T", DATE),
		    "SecretAccessKey" },
		{ ANSWER("AssumeRole", "A", "S", "", DATE), "SessionToken" },
		{ ANSWER("AssumeRole", "A", "S", "T", ""), "Expiration" },
		{ ANSWER("AssumeRole", "A", "S", "T", "soon"), "no date" },
		{ ANSWER("AssumeRole", "A", "S&#10;", "T", DATE),
		    "secret access key" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct source_fixture f;

		begin_role(&f);
		ck_assert_int_eq(source_fixture_start(&f), SOURCE_WAIT);
		ck_assert_int_eq(source_fixture_tell(&f, 200, rows[i][0]),
		    SOURCE_FAILED);
		ck_assert_msg(strstr(f.source.text, rows[i][1]) != NULL,
		    "%s: %s", rows[i][0], f.source.text);
		ck_assert(!credentials_exist(&f.source.credentials));
		source_fixture_done(&f);
	}
}

TEST(test_refusals)
{
	static const struct {
		int status;
		const char *body;
		bool rejected;
		const char *text;
	} rows[] = {
		{ 403, REFUSAL("AccessDenied", "User: x is not authorized"),
		    true, "STS refused: AccessDenied: User: x is not" },
		{ 403, REFUSAL("SignatureDoesNotMatch",
		    "It does not match.\nPLANTED"), true,
		    "SignatureDoesNotMatch: It does not match." },
		{ 400, REFUSAL("Throttling", "Rate exceeded"), false,
		    "Throttling: Rate exceeded" },
		{ 400, REFUSAL("IDPCommunicationError", "later"), false,
		    "IDPCommunicationError" },
		{ 503, "PLANTED", false, "HTTP status 503" },
		{ 404, "<html>PLANTED</html>", false, "HTTP status 404" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct source_fixture f;
		enum source_verdict verdict;

		begin_role(&f);
		ck_assert_int_eq(source_fixture_start(&f), SOURCE_WAIT);
		do {
			verdict = source_fixture_tell(&f, rows[i].status,
			    rows[i].body);
		} while (verdict == SOURCE_WAIT);
		ck_assert_int_eq(verdict, SOURCE_FAILED);
		ck_assert_msg(strstr(f.source.text, rows[i].text) != NULL,
		    "%s: %s", rows[i].body, f.source.text);
		ck_assert_ptr_null(strstr(f.source.text, "PLANTED"));
		ck_assert_msg(f.source.rejected == rows[i].rejected, "%s",
		    rows[i].body);
		source_fixture_done(&f);
	}
}

/* Three times at once, as the SDKs do; then a caller that waits, waits. */
TEST(test_attempts)
{
	struct source_fixture f;

	begin_role(&f);
	ck_assert_int_eq(source_fixture_start(&f), SOURCE_WAIT);
	ck_assert_int_eq(source_fixture_fail(&f, DDBLOCK_E_UNREACHABLE, 0),
	    SOURCE_WAIT);
	ck_assert_int_eq(source_fixture_tell(&f, 500, ""), SOURCE_WAIT);
	source_fixture_expect(&f, "POST", STS);
	ck_assert_int_eq(source_fixture_fail(&f, DDBLOCK_E_UNREACHABLE, 0),
	    SOURCE_FAILED);
	ck_assert_ptr_nonnull(strstr(f.source.text, "did not answer"));
	source_fixture_done(&f);
}

TEST(test_endpoint)
{
	struct source_fixture f;

	begin_role(&f);
	(void)snprintf(f.params.sts_endpoint, sizeof(f.params.sts_endpoint),
	    "%s", "http://127.0.0.1:99");
	(void)snprintf(f.params.ca_file, sizeof(f.params.ca_file), "%s",
	    "/etc/ca.pem");
	ck_assert_int_eq(source_fixture_start(&f), SOURCE_WAIT);
	source_fixture_expect(&f, "POST", "http://127.0.0.1:99/");
	ck_assert_str_eq(f.source.errand.ca_file, "/etc/ca.pem");
	source_fixture_done(&f);
}

/* Any content, to the last byte that there is room for. */
TEST(test_endpoint_is_no_url)
{
	static const char *const rows[] = { "s", "sts.example", "sts:", ":/" };
	struct source_fixture f;

	for (size_t i = 0; i <= sizeof(rows) / sizeof(rows[0]); i++) {
		begin_role(&f);
		memset(f.params.sts_endpoint, 's',
		    sizeof(f.params.sts_endpoint) - 1);
		if (i < sizeof(rows) / sizeof(rows[0]))
			(void)snprintf(f.params.sts_endpoint,
			    sizeof(f.params.sts_endpoint), "%s", rows[i]);
		ck_assert_int_eq(source_fixture_start(&f), SOURCE_FAILED);
		ck_assert_ptr_nonnull(strstr(f.source.text, "is no URL"));
		source_fixture_done(&f);
	}
}

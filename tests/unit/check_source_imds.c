/*
 * The metadata service of the instance: order, headers, and its answers.
 */
#include <string.h>

#include "common/error.h"
#include "identity/source_internal.h"

#include "source_fixture.h"
#include "test.h"

#define HOST "http://169.254.169.254"
#define ROLES HOST "/latest/meta-data/iam/security-credentials/"
#define CREDENTIALS "{\"Code\":\"Success\",\"AccessKeyId\":\"ASIA1\"," \
    "\"SecretAccessKey\":\"secret\",\"Token\":\"token\"," \
    "\"Expiration\":\"2027-01-15T14:00:00Z\",\"Type\":\"AWS-HMAC\"}"

static void
begin(struct source_fixture *f, const struct source_methods *methods)
{
	source_fixture_init(f, methods);
	f->from.url = source_fixture_text(f, HOST);
	f->from.attempts_max = 2;
}

/* At the step after the token. */
static void
begin_with_token(struct source_fixture *f,
    const struct source_methods *methods)
{
	begin(f, methods);
	ck_assert_int_eq(source_fixture_start(f), SOURCE_WAIT);
	ck_assert_int_eq(source_fixture_tell(f, 200, "TOKEN=="),
	    SOURCE_WAIT);
}

TEST(test_credentials)
{
	char host[] = HOST "/";
	struct source_fixture f;

	source_fixture_init(&f, &source_imds);
	f.from.url = host;
	ck_assert_int_eq(source_fixture_start(&f), SOURCE_WAIT);
	source_fixture_expect(&f, "PUT", HOST "/latest/api/token");
	ck_assert_str_eq(source_fixture_header(&f,
	    "x-aws-ec2-metadata-token-ttl-seconds"), "21600");
	ck_assert_ptr_null(source_fixture_header(&f,
	    "x-aws-ec2-metadata-token"));
	ck_assert_int_eq(source_fixture_tell(&f, 200, "TOKEN=="),
	    SOURCE_WAIT);
	source_fixture_expect(&f, "GET", ROLES);
	ck_assert_str_eq(source_fixture_header(&f,
	    "x-aws-ec2-metadata-token"), "TOKEN==");
	ck_assert_int_eq(source_fixture_tell(&f, 200, "my-role\n"),
	    SOURCE_WAIT);
	source_fixture_expect(&f, "GET", ROLES "my-role");
	ck_assert_str_eq(source_fixture_header(&f,
	    "x-aws-ec2-metadata-token"), "TOKEN==");
	ck_assert_int_eq(source_fixture_tell(&f, 200, CREDENTIALS),
	    SOURCE_DONE);
	ck_assert_str_eq(f.source.credentials.access_key_id, "ASIA1");
	ck_assert_str_eq(f.source.credentials.secret_access_key, "secret");
	ck_assert_str_eq(f.source.credentials.session_token, "token");
	ck_assert_uint_eq(f.source.credentials.expires_ms,
	    SOURCE_FIXTURE_WALL_MS + 6 * 3600000);
	source_fixture_done(&f);
}

/* The token is asked for again when two minutes of it are left. */
TEST(test_token_is_used_again)
{
	struct source_fixture f;

	begin_with_token(&f, &source_imds);
	source_fixture_again(&f);
	f.source.wall_ms += 21600000 - 120001;
	ck_assert_int_eq(source_fixture_start(&f), SOURCE_WAIT);
	source_fixture_expect(&f, "GET", ROLES);
	source_fixture_again(&f);
	f.source.wall_ms += 21600000 - 120000;
	ck_assert_int_eq(source_fixture_start(&f), SOURCE_WAIT);
	source_fixture_expect(&f, "PUT", HOST "/latest/api/token");
	source_fixture_done(&f);
}

TEST(test_token_not_accepted)
{
	struct source_fixture f;

	begin_with_token(&f, &source_imds);
	ck_assert_int_eq(source_fixture_tell(&f, 200, "my-role"),
	    SOURCE_WAIT);
	ck_assert_int_eq(source_fixture_tell(&f, 401, ""), SOURCE_WAIT);
	source_fixture_expect(&f, "PUT", HOST "/latest/api/token");
	ck_assert_int_eq(source_fixture_tell(&f, 200, "OTHER"), SOURCE_WAIT);
	source_fixture_expect(&f, "GET", ROLES);
	ck_assert_str_eq(source_fixture_header(&f,
	    "x-aws-ec2-metadata-token"), "OTHER");
	/* Once is enough. */
	ck_assert_int_eq(source_fixture_tell(&f, 401, ""), SOURCE_FAILED);
	source_fixture_done(&f);
}

TEST(test_nobody_there)
{
	struct source_fixture f;

	begin(&f, &source_imds);
	ck_assert_int_eq(source_fixture_start(&f), SOURCE_WAIT);
	ck_assert_int_eq(source_fixture_fail(&f, DDBLOCK_E_UNREACHABLE, 0),
	    SOURCE_WAIT);
	source_fixture_expect(&f, "PUT", HOST "/latest/api/token");
	ck_assert_int_eq(source_fixture_fail(&f, DDBLOCK_E_UNREACHABLE, 0),
	    SOURCE_ABSENT);
	ck_assert_ptr_nonnull(strstr(f.source.text, "did not answer"));
	source_fixture_done(&f);
}

/* The first version is asked where it is allowed, and nowhere else. */
TEST(test_first_version)
{
	static const int statuses[] = { 0, 403, 404, 405 };

	for (size_t i = 0; i < 8; i++) {
		struct source_fixture f;
		enum source_verdict verdict;

		begin(&f, &source_imds);
		f.from.attempts_max = 1;
		f.from.v1_allowed = i >= 4;
		ck_assert_int_eq(source_fixture_start(&f), SOURCE_WAIT);
		verdict = i % 4 == 0 ?
		    source_fixture_fail(&f, DDBLOCK_E_UNREACHABLE, 0) :
		    source_fixture_tell(&f, statuses[i % 4], "");
		if (i < 4) {
			ck_assert_int_eq(verdict, i == 0 ? SOURCE_ABSENT :
			    SOURCE_FAILED);
		} else {
			ck_assert_int_eq(verdict, SOURCE_WAIT);
			source_fixture_expect(&f, "GET", ROLES);
			ck_assert_ptr_null(source_fixture_header(&f,
			    "x-aws-ec2-metadata-token"));
		}
		source_fixture_done(&f);
	}
}

TEST(test_bad_tokens)
{
	static const char *const tokens[] = { "", "a b", "a\r\nB: c", "\x80" };

	for (size_t i = 0; i < 4; i++) {
		struct source_fixture f;

		begin(&f, &source_imds);
		f.from.v1_allowed = true;
		ck_assert_int_eq(source_fixture_start(&f), SOURCE_WAIT);
		ck_assert_int_eq(source_fixture_tell(&f, 200, tokens[i]),
		    SOURCE_FAILED);
		source_fixture_done(&f);
	}
}

TEST(test_bad_roles)
{
	static const char *const names[] = { "", "\n", "../x", "a b", "a/b",
	    "a?b", "<html>" };
	struct source_fixture f;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		begin_with_token(&f, &source_imds);
		ck_assert_msg(source_fixture_tell(&f, 200, names[i]) ==
		    SOURCE_FAILED, "%s", names[i]);
		source_fixture_done(&f);
	}
	begin_with_token(&f, &source_imds);
	ck_assert_int_eq(source_fixture_tell(&f, 404, "Not Found"),
	    SOURCE_FAILED);
	ck_assert(f.source.rejected);
	ck_assert_ptr_nonnull(strstr(f.source.text, "no role"));
	source_fixture_done(&f);
}

#define FIELDS(code, key, secret, token, date) "{" code \
    "\"AccessKeyId\":" key ",\"SecretAccessKey\":" secret \
    ",\"Token\":" token ",\"Expiration\":" date "}"
#define GOOD_DATE "\"2027-01-15T14:00:00Z\""

TEST(test_bad_credentials)
{
	static const char *const rows[][2] = {
		{ "", "no JSON" }, { "[]", "no JSON" },
		{ "{\"Code\":\"Success\"", "no JSON" },
		{ FIELDS("", "7", "\"s\"", "\"t\"", GOOD_DATE), "key id" },
		{ FIELDS("", "\"k\"", "\"\"", "\"t\"", GOOD_DATE),
		    "secret access key" },
		{ FIELDS("", "\"k\"", "\"s\"", "null", GOOD_DATE), "Token" },
		{ FIELDS("", "\"k\"", "\"s\"", "\"t\\r\\n\"", GOOD_DATE),
		    "session token" },
		{ FIELDS("", "\"k\"", "\"s\"", "\"t\"", "\"soon\""),
		    "no date" },
		{ FIELDS("", "\"k\"", "\"s\"", "\"t\"", "1800000000"),
		    "Expiration" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct source_fixture f;

		begin_with_token(&f, &source_imds);
		ck_assert_int_eq(source_fixture_tell(&f, 200, "r"),
		    SOURCE_WAIT);
		ck_assert_msg(source_fixture_tell(&f, 200, rows[i][0]) ==
		    SOURCE_FAILED, "%s", rows[i][0]);
		ck_assert_msg(strstr(f.source.text, rows[i][1]) != NULL,
		    "%s: %s", rows[i][0], f.source.text);
		ck_assert(!credentials_exist(&f.source.credentials));
		source_fixture_done(&f);
	}
}

TEST(test_code_is_no_success)
{
	struct source_fixture f;

	begin_with_token(&f, &source_imds);
	ck_assert_int_eq(source_fixture_tell(&f, 200, "r"), SOURCE_WAIT);
	ck_assert_int_eq(source_fixture_tell(&f, 200,
	    "{\"Code\":\"AssumeRoleUnauthorizedAccess\","
	    "\"Message\":\"EC2 cannot assume the role r.\"}"), SOURCE_FAILED);
	ck_assert(f.source.rejected);
	ck_assert_ptr_nonnull(strstr(f.source.text,
	    "AssumeRoleUnauthorizedAccess: EC2 cannot assume"));
	source_fixture_done(&f);
}

/* A fault of its own is asked about as often as it may be. */
TEST(test_faults)
{
	struct source_fixture f;

	begin_with_token(&f, &source_imds);
	ck_assert_int_eq(source_fixture_tell(&f, 500, ""), SOURCE_WAIT);
	source_fixture_expect(&f, "GET", ROLES);
	ck_assert_int_eq(source_fixture_tell(&f, 200, "r"), SOURCE_WAIT);
	ck_assert_int_eq(source_fixture_fail(&f, DDBLOCK_E_UNREACHABLE, 0),
	    SOURCE_WAIT);
	ck_assert_int_eq(source_fixture_tell(&f, 503, ""), SOURCE_FAILED);
	ck_assert(!f.source.rejected);
	ck_assert_ptr_nonnull(strstr(f.source.text, "503"));
	source_fixture_done(&f);
}

TEST(test_region)
{
	static const char *const bad[] = { "", "EU", "eu west", "a/b",
	    "a-region-whose-name-is-longer-than-any" };
	struct source_fixture f;

	begin_with_token(&f, &source_imds_region);
	source_fixture_expect(&f, "GET",
	    HOST "/latest/meta-data/placement/region");
	ck_assert_int_eq(source_fixture_tell(&f, 200, "eu-central-1"),
	    SOURCE_DONE);
	ck_assert_str_eq(f.source.spare.data, "eu-central-1");
	source_fixture_done(&f);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		begin_with_token(&f, &source_imds_region);
		ck_assert_int_eq(source_fixture_tell(&f, 200, bad[i]),
		    SOURCE_FAILED);
		source_fixture_done(&f);
	}
}

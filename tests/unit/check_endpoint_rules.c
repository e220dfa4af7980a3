/*
 * Which region and which endpoint: where they may be said, and what follows
 * from them. tests/aws/test_endpoints.py compares every region with botocore.
 */
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "identity/endpoint_rules.h"
#include "test.h"
#include "variables.h"

struct world {
	struct endpoint_settings settings;
	const char *config;
	const char *variables[VARIABLES_MAX];	/* "NAME=VALUE" */
};

static const char *
world_variable(void *arg, const char *name)
{
	const struct world *w = arg;

	return variables_get(w->variables, name);
}

static int
resolve(struct world *w, struct endpoint_params *ret, char *text, size_t size)
{
	struct chain_inputs p = {
		.variable = world_variable, .variable_arg = w,
	};
	struct profiles *profiles;
	int r;

	ck_assert_int_eq(profiles_new(&profiles), 0);
	if (w->config != NULL)
		ck_assert_int_eq(profiles_read(profiles, PROFILE_CONFIG, "FILE",
		    w->config, strlen(w->config), text, size), 0);
	p.profiles = profiles;
	r = endpoint_params_resolve(&w->settings, &p, ret, text, size);
	profiles_free(profiles);
	return r;
}

static struct endpoint_params
params_of(struct world w)
{
	char text[512] = "";
	struct endpoint_params params;

	ck_assert_msg(resolve(&w, &params, text, sizeof(text)) == 0, "%s",
	    text);
	return params;
}

static void
refuse(struct world w, const char *expected)
{
	struct endpoint_params params = { .region = "before" };
	char text[512] = "";

	ck_assert_int_eq(resolve(&w, &params, text, sizeof(text)),
	    DDBLOCK_E_BAD_REQUEST);
	ck_assert_msg(strstr(text, expected) != NULL, "%s", text);
	ck_assert_str_eq(params.region, "before");
}

#define WORLD(...) ((struct world){ __VA_ARGS__ })
#define REGION "[default]\nregion = of-profile-1\n"

TEST(test_region)
{
	struct endpoint_params p;

	ck_assert_str_eq(params_of(WORLD(.settings = { .region = "mine" },
	    .variables = { "AWS_REGION=eu-west-1" })).region, "mine");
	ck_assert_str_eq(params_of(WORLD(.config = REGION,
	    .variables = { "AWS_DEFAULT_REGION=eu-west-2",
	    "AWS_REGION=eu-west-1" })).region, "eu-west-1");
	ck_assert_str_eq(params_of(WORLD(.config = REGION,
	    .variables = { "AWS_DEFAULT_REGION=eu-west-2",
	    "AWS_REGION=" })).region, "eu-west-2");
	ck_assert_str_eq(params_of(WORLD(.config = REGION)).region,
	    "of-profile-1");
	p = params_of(WORLD(.config = ""));
	ck_assert_str_eq(p.region, "");
	ck_assert(p.metadata);
	ck_assert(!params_of(WORLD(
	    .variables = { "AWS_EC2_METADATA_DISABLED=true" })).metadata);
	p = params_of(WORLD(.variables = { "AWS_REGION=fips-us-east-1" }));
	ck_assert_str_eq(p.region, "us-east-1");
	ck_assert(p.fips);
	p = params_of(WORLD(.variables = { "AWS_REGION=us-gov-west-1-fips" }));
	ck_assert_str_eq(p.region, "us-gov-west-1");
	ck_assert(p.fips);
	ck_assert_str_eq(params_of(WORLD(.settings = { .endpoint =
	    "http://LocalHost:8000/" })).region, REGION_LOOPBACK);
	ck_assert_str_eq(params_of(WORLD(.settings = { .endpoint =
	    "http://127.1.2.3" })).region, REGION_LOOPBACK);
	ck_assert_str_eq(params_of(WORLD(.settings = { .endpoint =
	    "http://[::1]:8000" })).region, REGION_LOOPBACK);
	ck_assert_str_eq(params_of(WORLD(.settings = { .endpoint =
	    "http://localhost.example.com" })).region, "");
	ck_assert_str_eq(params_of(WORLD(.settings = { .endpoint =
	    "http://127.example.com" })).region, "");
	ck_assert_str_eq(params_of(WORLD(.settings = { .endpoint =
	    "http://127.0.0.999:80" })).region, "");
	ck_assert_str_eq(params_of(WORLD(.settings = { .endpoint =
	    "http://[::2]:80" })).region, "");
	refuse(WORLD(.variables = { "AWS_REGION=EU west" }), "AWS_REGION is");
	refuse(WORLD(.variables = { "AWS_REGION=fips-" }), "AWS_REGION is");
	refuse(WORLD(.settings = { .region =
	    "a-region-that-is-longer-than-any-one-is" }), "region is");
	refuse(WORLD(.variables = { "AWS_PROFILE=none" }), "no profile");
}

#define SERVICES "[default]\nservices = s\nendpoint_url = http://profile\n" \
	"[services s]\ndynamodb =\n  endpoint_url = http://service\n" \
	"sso_oidc =\n  endpoint_url = http://oidc\n"

TEST(test_endpoints)
{
	struct endpoint_params p = params_of(WORLD(.config = SERVICES));

	ck_assert_str_eq(p.endpoint, "http://service");
	ck_assert_str_eq(p.sts_endpoint, "http://profile");
	ck_assert_str_eq(p.sso_endpoint, "http://profile");
	ck_assert_str_eq(p.sso_oidc_endpoint, "http://oidc");
	p = params_of(WORLD(.config = SERVICES,
	    .settings = { .endpoint = "http://mine" },
	    .variables = { "AWS_ENDPOINT_URL_STS=http://sts",
	    "AWS_ENDPOINT_URL=http://all", "AWS_ENDPOINT_URL_SSO=" }));
	ck_assert_str_eq(p.endpoint, "http://mine");
	ck_assert_str_eq(p.sts_endpoint, "http://sts");
	ck_assert_str_eq(p.sso_endpoint, "http://all");
	ck_assert_str_eq(p.sso_oidc_endpoint, "http://all");
	p = params_of(WORLD(.config = SERVICES,
	    .settings = { .endpoint = "http://mine" }, .variables = {
	    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=True",
	    "AWS_ENDPOINT_URL=http://all" }));
	ck_assert_str_eq(p.endpoint, "http://mine");
	ck_assert_str_eq(p.sts_endpoint, "");
}

TEST(test_the_rest)
{
	char longer[2048] = "AWS_CA_BUNDLE=";
	struct endpoint_params p = params_of(WORLD(.config = "[default]\n"
	    "use_fips_endpoint = true\nuse_dualstack_endpoint = TRUE\n"
	    "account_id_endpoint_mode = Required\nca_bundle = /ca\n"));

	ck_assert(p.fips && p.dual_stack);
	ck_assert_int_eq(p.account_mode, ENDPOINT_ACCOUNT_REQUIRED);
	ck_assert_str_eq(p.ca_file, "/ca");
	p = params_of(WORLD(.config = "[default]\nuse_fips_endpoint = true\n",
	    .settings = { .ca_file = "/mine" }, .variables = {
	    "AWS_USE_FIPS_ENDPOINT=false", "AWS_CA_BUNDLE=/theirs",
	    "AWS_ACCOUNT_ID_ENDPOINT_MODE=disabled" }));
	ck_assert(!p.fips && !p.dual_stack);
	ck_assert_int_eq(p.account_mode, ENDPOINT_ACCOUNT_DISABLED);
	ck_assert_str_eq(p.ca_file, "/mine");
	refuse(WORLD(.variables = { "AWS_ACCOUNT_ID_ENDPOINT_MODE=" }),
	    "preferred, required and disabled");
	memset(longer + 14, 'x', sizeof(longer) - 15);
	refuse(WORLD(.variables = { longer }), "AWS_CA_BUNDLE is longer");
}

static void
expect(struct endpoint_params p, const char *service, const char *account,
    const char *expected)
{
	char url[ENDPOINT_PARAMS_URL_MAX], text[512] = "";

	ck_assert_msg(endpoint_rules_url(&p, service, account, url, sizeof(url),
	    text, sizeof(text)) == 0, "%s", text);
	ck_assert_str_eq(url, expected);
}

static void
expect_none(struct endpoint_params p, const char *service, const char *account,
    const char *expected)
{
	char url[ENDPOINT_PARAMS_URL_MAX] = "before", text[512] = "";

	ck_assert_int_eq(endpoint_rules_url(&p, service, account, url,
	    sizeof(url), text, sizeof(text)), DDBLOCK_E_BAD_REQUEST);
	ck_assert_msg(strstr(text, expected) != NULL, "%s", text);
}

/* A section of services that is not there, or has nothing, is an error for
 * services whose endpoint would be looked for in it. */
TEST(test_no_services)
{
	static const char *const configs[] = {
		"[default]\nservices = t\n[services s]\nsts =\n  a = b\n",
		"[default]\nservices = t\n[services t]\n# sts =\n",
		"[default]\nservices =\n",
	};

	for (size_t i = 0; i < 3; i++) {
		struct endpoint_params p = params_of(WORLD(.config = configs[i],
		    .settings = { .endpoint = "http://mine" },
		    .variables = { "AWS_ENDPOINT_URL_STS=http://sts" }));

		expect(p, "dynamodb", NULL, "http://mine");
		expect(p, "sts", NULL, "http://sts");
		expect_none(p, "sso", NULL, "no section [services ");
		expect_none(p, "oidc", NULL, "no section [services ");
		refuse(WORLD(.config = configs[i],
		    .variables = { "AWS_ENDPOINT_URL_STS=http://sts" }),
		    "no section [services ");
		p = params_of(WORLD(.config = configs[i],
		    .variables = { "AWS_ENDPOINT_URL=http://all" }));
		expect(p, "sso", NULL, "http://all");
	}
}

#define PARAMS(r, ...) ((struct endpoint_params){ .region = r, __VA_ARGS__ })
#define ACCOUNT "123456789012"

TEST(test_urls)
{
	expect(PARAMS("eu-central-1", .fips = false), "dynamodb", NULL,
	    "https://dynamodb.eu-central-1.amazonaws.com");
	expect(PARAMS("eu-central-1", .fips = false), "dynamodb", ACCOUNT,
	    "https://" ACCOUNT ".ddb.eu-central-1.amazonaws.com");
	expect(PARAMS("eu-central-1", .dual_stack = true), "dynamodb", ACCOUNT,
	    "https://" ACCOUNT ".ddb.eu-central-1.api.aws");
	expect(PARAMS("eu-central-1", .fips = true), "dynamodb", ACCOUNT,
	    "https://dynamodb-fips.eu-central-1.amazonaws.com");
	expect(PARAMS("us-gov-west-1", .fips = true), "dynamodb", NULL,
	    "https://dynamodb.us-gov-west-1.amazonaws.com");
	expect(PARAMS("us-gov-west-1", .fips = true, .dual_stack = true), "sts",
	    NULL, "https://sts-fips.us-gov-west-1.api.aws");
	expect(PARAMS("cn-north-1", .dual_stack = true), "sso", ACCOUNT,
	    "https://portal.sso.cn-north-1.api.amazonwebservices.com.cn");
	expect(PARAMS("eusc-de-east-1", .fips = false), "oidc", ACCOUNT,
	    "https://oidc.eusc-de-east-1.amazonaws.eu");
	expect(PARAMS("us-iso-east-1", .fips = false), "dynamodb", ACCOUNT,
	    "https://dynamodb.us-iso-east-1.c2s.ic.gov");
	expect(PARAMS("us-east-1", .endpoint = "http://mine:1/"), "dynamodb",
	    ACCOUNT, "http://mine:1/");
	expect(PARAMS("us-east-1", .endpoint = "http://mine", .fips = true,
	    .dual_stack = true), "dynamodb", NULL, "http://mine");
	expect(PARAMS("", .sts_endpoint = "http://mine"), "sts", NULL,
	    "http://mine");
	expect(PARAMS("local", .fips = false), "dynamodb", ACCOUNT,
	    "http://localhost:8000");
	expect(PARAMS("local", .fips = false), "sts", NULL,
	    "https://sts.local.amazonaws.com");
	expect(PARAMS("eu-central-1",
	    .account_mode = ENDPOINT_ACCOUNT_DISABLED), "dynamodb", ACCOUNT,
	    "https://dynamodb.eu-central-1.amazonaws.com");
}

TEST(test_what_has_no_url)
{
	expect_none(PARAMS("", .fips = false), "dynamodb", NULL, "no region");
	expect_none(PARAMS("us-east-1", .fips = false), "s3", NULL, "service");
	expect_none(PARAMS("local", .fips = true), "dynamodb", NULL, "local");
	expect_none(PARAMS("us-east-1",
	    .endpoint = "https://dynamodb.us-east-1.api.aws/"), "dynamodb",
	    NULL, "a dual-stack one");
	expect_none(PARAMS("us-east-1",
	    .account_mode = ENDPOINT_ACCOUNT_REQUIRED), "dynamodb", NULL,
	    "which account");
	expect_none(PARAMS("us-east-1", .fips = true,
	    .account_mode = ENDPOINT_ACCOUNT_REQUIRED), "dynamodb", ACCOUNT,
	    "with FIPS");
	expect_none(PARAMS("us-iso-east-1",
	    .account_mode = ENDPOINT_ACCOUNT_REQUIRED), "dynamodb", ACCOUNT,
	    "in this region");
	expect_none(PARAMS("us-east-1", .fips = false), "dynamodb", "1.evil/",
	    "twelve digits");
}

TEST(test_what_is_signed_for)
{
	struct endpoint_params p = PARAMS("local", .fips = false);

	ck_assert_str_eq(endpoint_rules_signing_region(&p, "dynamodb"),
	    "us-east-1");
	ck_assert_str_eq(endpoint_rules_signing_region(&p, "sts"), "local");
	p = PARAMS("local", .endpoint = "http://mine");
	ck_assert_str_eq(endpoint_rules_signing_region(&p, "dynamodb"),
	    "local");
	p = PARAMS("eu-west-1", .endpoint = "http://mine");
	ck_assert_str_eq(endpoint_rules_signing_region(&p, "dynamodb"),
	    "eu-west-1");
}

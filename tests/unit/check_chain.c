/*
 * Which credentials are chosen: each source, its order among the others, and
 * the errors. That botocore chooses the same is seen in
 * tests/aws/test_chain.py, in many more cases.
 */
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "identity/chain.h"
#include "test.h"
#include "variables.h"

/* The inputs of the search. */
struct world {
	const char *config;
	const char *credentials;
	const char *profile;
	const char *variables[VARIABLES_MAX];	/* "NAME=VALUE" */
	const struct credentials *settings;
};

static const char *
world_variable(void *arg, const char *name)
{
	const struct world *w = arg;

	return variables_get(w->variables, name);
}

static void
world_read(struct profiles *p, enum profile_file file, const char *text)
{
	char error[256] = "";

	if (text != NULL)
		ck_assert_msg(profiles_read(p, file, "FILE", text,
		    strlen(text), error, sizeof(error)) == 0, "%s", error);
}

static const char *
or_none(const char *text)
{
	return text != NULL ? text : "-";
}

/* All of it in words; what went wrong, otherwise. */
static void
dump(const struct chain *c, char *text, size_t size)
{
	const struct chain_source *s = &c->source;
	int n = snprintf(text, size, "%d %s keys %s %s %s account %s command "
	    "%s file %s role %s %s sso %s %s %s %s url %s token %s%s %u/%u",
	    (int)s->kind, or_none(s->profile), or_none(s->keys.access_key_id),
	    or_none(s->keys.secret_access_key),
	    or_none(s->keys.session_token),
	    or_none(s->keys.account_id != NULL ? s->keys.account_id :
	    s->account_id), or_none(s->command),
	    or_none(s->token_file), or_none(s->role.role_arn),
	    or_none(s->role.session_name), or_none(s->sso_session),
	    or_none(s->sso_start_url), or_none(s->sso_region),
	    or_none(s->sso_role_name), or_none(s->url), or_none(s->token),
	    s->v1_allowed ? " v1" : "", s->timeout_ms, s->attempts_max);

	for (size_t i = 0; i < c->n_roles; i++)
		n += snprintf(text + n, size - (size_t)n,
		    "; %s assumes %s %s %s %u", c->roles[i].profile,
		    c->roles[i].role_arn, or_none(c->roles[i].external_id),
		    or_none(c->roles[i].session_name), c->roles[i].duration_s);
}

static int
resolve(const struct world *w, char *text, size_t size)
{
	struct world copy = *w;
	struct chain_inputs inputs = {
		.variable = world_variable, .variable_arg = &copy,
		.profile = w->profile, .settings = w->settings,
	};
	struct profiles *p;
	struct chain c;
	int r;

	ck_assert_int_eq(profiles_new(&p), 0);
	world_read(p, PROFILE_CONFIG, w->config);
	world_read(p, PROFILE_CREDENTIALS, w->credentials);
	inputs.profiles = p;
	r = chain_resolve(&inputs, &c, text, size);
	if (r == 0) {
		dump(&c, text, size);
		chain_done(&c);
	}
	profiles_free(p);
	return r;
}

static void
expect(struct world w, const char *expected)
{
	char text[2048] = "";

	ck_assert_msg(resolve(&w, text, sizeof(text)) == 0, "%s", text);
	ck_assert_str_eq(text, expected);
}

static void
refuse(struct world w, const char *expected)
{
	char text[2048] = "";

	ck_assert_int_eq(resolve(&w, text, sizeof(text)),
	    DDBLOCK_E_NO_CREDENTIALS);
	ck_assert_msg(strstr(text, expected) != NULL, "%s", text);
	ck_assert_msg(strstr(text, "hidden") == NULL, "%s", text);
}

#define EMPTY "account - command - file - role - - sso - - - - url - token - " \
	"0/0"
#define WORLD(...) ((struct world){ __VA_ARGS__ })

TEST(test_keys)
{
	struct credentials settings = {
		.access_key_id = (char *)(uintptr_t)"I",
		.secret_access_key = (char *)(uintptr_t)"S",
	};

	expect(WORLD(.settings = &settings, .profile = "nobody",
	    .variables = { "AWS_ACCESS_KEY_ID=E" }),
	    "1 - keys I S - " EMPTY);
	expect(WORLD(.variables = { "AWS_ACCESS_KEY_ID=E",
	    "AWS_SECRET_ACCESS_KEY=s", "AWS_SESSION_TOKEN=t",
	    "AWS_SECURITY_TOKEN=" }), "2 - keys E s t " EMPTY);
	expect(WORLD(.variables = { "AWS_ACCESS_KEY_ID=" },
	    .config = "[default]\naws_access_key_id = c\n"
	    "aws_secret_access_key = d\naws_session_token = t\n"),
	    "3 default keys c d t " EMPTY);
	expect(WORLD(.credentials = "[default]\naws_access_key_id = a\n"
	    "aws_secret_access_key = b\n",
	    .config = "[default]\naws_access_key_id = c\n"
	    "credential_process = x\n"), "3 default keys a b - " EMPTY);
	refuse(WORLD(.variables = { "AWS_ACCESS_KEY_ID=hidden" }),
	    "no secret access key");
	refuse(WORLD(.variables = { "AWS_ACCESS_KEY_ID=a",
	    "AWS_SECRET_ACCESS_KEY=hidden",
	    "AWS_CREDENTIAL_EXPIRATION=tomorrow" }), "is no time such as");
	refuse(WORLD(.credentials = "[default]\naws_access_key_id = hidden\n",
	    .config = "[default]\naws_secret_access_key = hidden\n"),
	    "in the credentials file: there is no secret");
	refuse(WORLD(.credentials = "[default]\naws_access_key_id = hidden\n"
	    " hidden\naws_secret_access_key = hidden\n"), "characters");
}

/* A profile that was chosen in our configuration silences the environment. */
TEST(test_which_profile)
{
	static const char config[] = "[profile a]\naws_access_key_id = A\n"
	    "aws_secret_access_key = s\n[profile b]\naws_access_key_id = B\n"
	    "aws_secret_access_key = s\n";

	expect(WORLD(.config = config, .profile = "a",
	    .variables = { "AWS_PROFILE=b", "AWS_ACCESS_KEY_ID=E",
	    "AWS_SECRET_ACCESS_KEY=s" }), "3 a keys A s - " EMPTY);
	expect(WORLD(.config = config, .variables = { "AWS_PROFILE=b",
	    "AWS_ACCESS_KEY_ID=E", "AWS_SECRET_ACCESS_KEY=s" }),
	    "2 - keys E s - " EMPTY);
	expect(WORLD(.config = config, .variables = { "AWS_PROFILE=b",
	    "AWS_DEFAULT_PROFILE=a" }), "3 a keys A s - " EMPTY);
	expect(WORLD(.config = config, .variables = { "AWS_PROFILE=b",
	    "AWS_DEFAULT_PROFILE=" }), "3 b keys B s - " EMPTY);
	refuse(WORLD(.config = config, .variables = { "AWS_PROFILE=c",
	    "AWS_ACCESS_KEY_ID=E", "AWS_SECRET_ACCESS_KEY=s" }),
	    "no profile \"c\"");
}

TEST(test_roles)
{
	static const char config[] =
	    "[profile top]\nrole_arn = R1\nsource_profile = middle\n"
	    "external_id = x\nduration_seconds = 900\n"
	    "[profile middle]\nrole_arn = R2\nsource_profile = base\n"
	    "role_session_name = n\n"
	    "[profile base]\naws_access_key_id = A\n"
	    "aws_secret_access_key = s\nrole_arn = ignored\n"
	    "[profile self]\nrole_arn = R3\nsource_profile = self\n"
	    "aws_access_key_id = A\naws_secret_access_key = s\n"
	    "[profile metadata]\nrole_arn = R4\n"
	    "credential_source = Ec2InstanceMetadata\n"
	    "[profile environment]\nrole_arn = R5\n"
	    "credential_source = Environment\n";

	expect(WORLD(.config = config, .profile = "top"),
	    "3 base keys A s - " EMPTY "; middle assumes R2 - n 0"
	    "; top assumes R1 x - 900");
	expect(WORLD(.config = config, .profile = "self"),
	    "3 self keys A s - " EMPTY "; self assumes R3 - - 0");
	expect(WORLD(.config = config, .profile = "metadata"),
	    "8 - keys - - - account - command - file - role - - sso - - - - "
	    "url http://169.254.169.254 token - 1000/1"
	    "; metadata assumes R4 - - 0");
	expect(WORLD(.config = config, .profile = "environment",
	    .variables = { "AWS_ACCESS_KEY_ID=E",
	    "AWS_SECRET_ACCESS_KEY=s" }),
	    "2 - keys E s - " EMPTY "; environment assumes R5 - - 0");
	refuse(WORLD(.config = config, .profile = "environment"),
	    "no credentials");
	refuse(WORLD(.config = config, .profile = "metadata",
	    .variables = { "AWS_EC2_METADATA_DISABLED=True" }),
	    "no credentials");
}

#define ROLE(lines) WORLD(.config = "[default]\nrole_arn = R\n" lines)

TEST(test_roles_that_are_wrong)
{
	char many[2048] = "";
	size_t n = 0;

	refuse(ROLE(""), "neither");
	refuse(ROLE("source_profile = a\ncredential_source = Environment\n"),
	    "both");
	refuse(ROLE("source_profile = a\n"), "does not exist");
	refuse(ROLE("source_profile = default\n"), "leads back");
	refuse(ROLE("source_profile = a\n[profile a]\nrole_arn = R\n"
	    "source_profile = default\n"), "leads back");
	refuse(ROLE("source_profile = a\n[profile a]\nregion = x\n"),
	    "has no credentials");
	refuse(ROLE("credential_source = environment\n"), "EcsContainer");
	refuse(ROLE("credential_source = EcsContainer\n"), "no credentials");
	refuse(ROLE("credential_source = Ec2InstanceMetadata\n"
	    "mfa_serial = m\n"), "a daemon cannot type");
	refuse(ROLE("credential_source = Ec2InstanceMetadata\n"
	    "duration_seconds = 899\n"), "from 900");
	refuse(ROLE("credential_source = Ec2InstanceMetadata\n"
	    "duration_seconds = 9x\n"), "from 900");
	refuse(WORLD(.config = "[default]\nrole_arn =\n"
	    "credential_source = Ec2InstanceMetadata\n"), "empty");
	for (int i = 0; i <= CHAIN_ROLES_MAX; i++)
		n += (size_t)snprintf(many + n, sizeof(many) - n,
		    "[profile %d]\nrole_arn = R\nsource_profile = %d\n", i,
		    i + 1);
	(void)snprintf(many + n, sizeof(many) - n, "[profile %d]\n"
	    "aws_access_key_id = A\naws_secret_access_key = s\n",
	    CHAIN_ROLES_MAX + 1);
	refuse(WORLD(.config = many, .profile = "0"), "more than 8 roles");
}

TEST(test_web_identity)
{
	static const char config[] = "[profile w]\nrole_arn = R\n"
	    "web_identity_token_file = /token\nrole_session_name = n\n"
	    "[profile top]\nrole_arn = T\nsource_profile = w\n";

	expect(WORLD(.config = config, .profile = "w",
	    .variables = { "AWS_ROLE_ARN=ignored" }),
	    "5 w keys - - - account - command - file /token role R n sso - - "
	    "- - url - token - 0/0");
	expect(WORLD(.config = config, .variables = { "AWS_PROFILE=w",
	    "AWS_ROLE_ARN=E" }),
	    "5 w keys - - - account - command - file /token role E n sso - - "
	    "- - url - token - 0/0");
	expect(WORLD(.variables = { "AWS_WEB_IDENTITY_TOKEN_FILE=/e",
	    "AWS_ROLE_ARN=E" }),
	    "5 - keys - - - account - command - file /e role E - sso - - - - "
	    "url - token - 0/0");
	expect(WORLD(.config = config, .profile = "top"),
	    "5 w keys - - - account - command - file /token role R n sso - - "
	    "- - url - token - 0/0; top assumes T - - 0");
	refuse(WORLD(.variables = { "AWS_WEB_IDENTITY_TOKEN_FILE=/e" }),
	    "AWS_ROLE_ARN");
}

#define SSO "sso_account_id = 123456789012\nsso_role_name = r\n"

TEST(test_sso)
{
	expect(WORLD(.config = "[default]\n" SSO "sso_session = s\n"
	    "sso_region = g\n[sso-session s]\nsso_region = g\n"
	    "sso_start_url = u\n"),
	    "6 default keys - - - account 123456789012 command - file - role "
	    "- - sso s u g r url - token - 0/0");
	expect(WORLD(.config = "[default]\n" SSO "sso_region = g\n"
	    "sso_start_url = u\n"),
	    "6 default keys - - - account 123456789012 command - file - role "
	    "- - sso - u g r url - token - 0/0");
	refuse(WORLD(.config = "[default]\n" SSO), "sso_start_url is missing");
	refuse(WORLD(.config = "[default]\n" SSO "sso_session = t\n"),
	    "no section [sso-session t]");
	refuse(WORLD(.config = "[default]\n" SSO "sso_session = s\n"
	    "sso_region = other\n[sso-session s]\nsso_region = g\n"
	    "sso_start_url = u\n"), "sso_region is another");
}

TEST(test_programs)
{
	expect(WORLD(.config = "[default]\ncredential_process = a 'b c'\n"
	    "aws_account_id = 1\naws_access_key_id = later\n"),
	    "4 default keys - - - account 1 command a 'b c' file - role - - "
	    "sso - - - - url - token - 0/0");
	refuse(WORLD(.config = "[default]\ncredential_process =\n"), "empty");
	refuse(WORLD(.config = "[profile x]\nlogin_session = l\n",
	    .profile = "x"), "export-credentials --profile x --format process");
}

/* Which of the present sources is chosen, from the first to the last. */
TEST(test_order)
{
#define ORDER_CONTAINER "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=/"
#define ORDER_WEB "AWS_WEB_IDENTITY_TOKEN_FILE=/t", "AWS_ROLE_ARN=r"
#define ORDER_KEYS "aws_access_key_id = a\naws_secret_access_key = b\n"
#define ORDER_SSO SSO "sso_region = g\nsso_start_url = u\n"
#define ORDER_LAST "credential_process = p\n" ORDER_KEYS
	static const struct {
		char kind;
		struct world world;
	} rows[] = {
		{ '2', { .variables = { "AWS_ACCESS_KEY_ID=E",
		    "AWS_SECRET_ACCESS_KEY=s", ORDER_WEB, ORDER_CONTAINER },
		    .config = "[default]\nrole_arn = R\n"
		    "credential_source = Ec2InstanceMetadata\n" } },
		{ '8', { .variables = { ORDER_WEB, ORDER_CONTAINER },
		    .config = "[default]\nrole_arn = R\n" ORDER_SSO
		    "credential_source = Ec2InstanceMetadata\n" ORDER_LAST } },
		{ '5', { .variables = { ORDER_WEB, ORDER_CONTAINER },
		    .config = "[default]\n" ORDER_SSO ORDER_LAST } },
		{ '6', { .variables = { ORDER_CONTAINER },
		    .config = "[default]\n" ORDER_SSO ORDER_LAST,
		    .credentials = "[default]\n" ORDER_KEYS } },
		{ '3', { .config = "[default]\nlogin_session = l\n"
		    "credential_process = p\n",
		    .credentials = "[default]\n" ORDER_KEYS } },
		{ '4', { .variables = { ORDER_CONTAINER },
		    .config = "[default]\n" ORDER_LAST } },
		{ '3', { .variables = { ORDER_CONTAINER },
		    .config = "[default]\n" ORDER_KEYS } },
		{ '7', { .variables = { ORDER_CONTAINER },
		    .config = "[profile x]\n" ORDER_KEYS } },
		/* The environment is not the one of a source_profile. */
		{ '3', { .variables = { ORDER_WEB },
		    .config = "[default]\nrole_arn = R\nsource_profile = x\n"
		    "[profile x]\n" ORDER_KEYS } },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[2048] = "";

		ck_assert_msg(resolve(&rows[i].world, text, sizeof(text)) == 0,
		    "%s", text);
		ck_assert_msg(text[0] == rows[i].kind, "%zu: %s", i, text);
	}
}

#define CONTAINER(u, t) "7 - keys - - - account - command - file " t \
	" role - - sso - - - - url " u " token "
#define FULL(u) WORLD(.variables = { "AWS_CONTAINER_CREDENTIALS_FULL_URI=" u })

TEST(test_container)
{
	expect(WORLD(.variables = {
	    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=/v2?id=1",
	    "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://evil/",
	    "AWS_CONTAINER_AUTHORIZATION_TOKEN=t" }),
	    CONTAINER("http://169.254.170.2/v2?id=1", "-") "t 2000/3");
	expect(WORLD(.variables = {
	    "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://169.254.170.23/v1",
	    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=/f",
	    "AWS_CONTAINER_AUTHORIZATION_TOKEN=t" }),
	    CONTAINER("http://169.254.170.23/v1", "/f") "- 2000/3");
	expect(FULL("https://anybody.example:1/x"),
	    CONTAINER("https://anybody.example:1/x", "-") "- 2000/3");
	expect(FULL("http://[fd00:ec2::23]:80/x"),
	    CONTAINER("http://[fd00:ec2::23]:80/x", "-") "- 2000/3");
	expect(FULL("http://127.3.255.1:8080"),
	    CONTAINER("http://127.3.255.1:8080", "-") "- 2000/3");
	expect(FULL("http://LOCALHOST/"),
	    CONTAINER("http://LOCALHOST/", "-") "- 2000/3");
	refuse(FULL("http://169.254.170.3/"), "without TLS");
	refuse(FULL("http://169.254.170.2.evil/"), "without TLS");
	refuse(FULL("http://localhost@evil/"), "not a URL");
	refuse(FULL("http://evil\\@localhost/"), "not a URL");
	refuse(FULL("http://127.0.0.1.evil/"), "without TLS");
	refuse(FULL("http://127.0.0.256/"), "without TLS");
	refuse(FULL("http://127.0.0.01/"), "without TLS");
	refuse(FULL("http://127.1/"), "without TLS");
	refuse(FULL("http://[::2]/"), "without TLS");
	refuse(FULL("http://[::1]evil/"), "not a URL");
	refuse(FULL("ftp://localhost/"), "not a URL");
	refuse(FULL("http://localhost/\r\nX: y"), "characters");
	refuse(FULL(""), "not a URL");
	refuse(WORLD(.variables = {
	    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=@evil/" }), "not a URL");
	refuse(WORLD(.variables = {
	    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=.evil/" }), "without TLS");
	refuse(WORLD(.variables = { "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=/",
	    "AWS_CONTAINER_AUTHORIZATION_TOKEN=hidden\r\nX: hidden" }),
	    "more than one line");
	refuse(WORLD(.variables = { "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=/",
	    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=" }), "empty");
}

#define IMDS(u, rest) "8 - keys - - - account - command - file - role - - " \
	"sso - - - - url " u " token -" rest

TEST(test_metadata)
{
	expect(WORLD(.profile = NULL),
	    IMDS("http://169.254.169.254", " 1000/1"));
	expect(WORLD(.variables = {
	    "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE=IPv6",
	    "AWS_METADATA_SERVICE_TIMEOUT=3",
	    "AWS_METADATA_SERVICE_NUM_ATTEMPTS=4",
	    "AWS_EC2_METADATA_V1_DISABLED=False" }),
	    IMDS("http://[fd00:ec2::254]", " v1 3000/4"));
	expect(WORLD(.config = "[default]\nec2_metadata_service_endpoint = "
	    "http://host:1/base//\nmetadata_service_timeout = 2\n"
	    "ec2_metadata_v1_disabled = no\nimds_use_ipv6 = true\n"),
	    IMDS("http://host:1/base", " 2000/1"));
	refuse(WORLD(.variables = { "AWS_EC2_METADATA_DISABLED=true" }),
	    "AWS_EC2_METADATA_DISABLED");
	/* An error there is reported, although there are keys. */
	refuse(WORLD(.variables = { "AWS_ACCESS_KEY_ID=a",
	    "AWS_SECRET_ACCESS_KEY=b",
	    "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE=4" }), "neither IPv4");
	refuse(WORLD(.variables = { "AWS_METADATA_SERVICE_TIMEOUT=1.5" }),
	    "AWS_METADATA_SERVICE_TIMEOUT is not a number");
	refuse(WORLD(.config = "[default]\n"
	    "metadata_service_num_attempts = 0\n"), "metadata_service_num");
	refuse(WORLD(.variables = { "AWS_EC2_METADATA_SERVICE_ENDPOINT=host" }),
	    "not a URL");
}

TEST(test_metadata_for_a_region)
{
	struct world w = WORLD(.variables = { "AWS_EC2_METADATA_DISABLED=x" });
	struct chain_inputs inputs = {
		.variable = world_variable, .variable_arg = &w,
	};
	struct chain_source source;
	struct profiles *p;
	char text[512];

	ck_assert_int_eq(profiles_new(&p), 0);
	inputs.profiles = p;
	ck_assert_int_eq(chain_metadata(&inputs, &source, text, sizeof(text)),
	    0);
	ck_assert_int_eq(source.kind, CHAIN_IMDS);
	ck_assert_str_eq(source.url, "http://169.254.169.254");
	chain_source_done(&source);
	w.variables[0] = "AWS_EC2_METADATA_DISABLED=TRUE";
	ck_assert_int_eq(chain_metadata(&inputs, &source, text, sizeof(text)),
	    DDBLOCK_E_NO_CREDENTIALS);
	profiles_free(p);
}

TEST(test_describe)
{
	struct world w = WORLD(.profile = "top");
	struct chain_inputs inputs = {
		.variable = world_variable, .variable_arg = &w,
		.profile = "top",
	};
	struct profiles *p;
	struct chain c;
	char text[512];

	ck_assert_int_eq(profiles_new(&p), 0);
	world_read(p, PROFILE_CONFIG, "[profile top]\nrole_arn = R1\n"
	    "source_profile = b\n[profile b]\nrole_arn = R2\n"
	    "source_profile = c\n[profile c]\naws_access_key_id = hidden\n"
	    "aws_secret_access_key = hidden\n");
	inputs.profiles = p;
	ck_assert_int_eq(chain_resolve(&inputs, &c, text, sizeof(text)), 0);
	chain_describe(&c, text, sizeof(text));
	ck_assert_str_eq(text, "profile top: role R1 by role R2 by keys of "
	    "profile c");
	chain_describe(&c, text, 20);
	ck_assert_str_eq(text, "profile top: role R");
	chain_done(&c);
	profiles_free(p);
}

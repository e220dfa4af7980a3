/*
 * What the client accepts as its configuration, and what it says otherwise.
 */
#include <check.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "aws/client.h"
#include "common/error.h"

static struct event_base *base;
static struct aws_client *client;

static const struct aws_client_config good = {
	.endpoint = "http://127.0.0.1:1",
	.region = "eu-central-1",
	.access_key_id = "AKIDEXAMPLE",
	.secret_access_key = "verysecretverysecret",
	.session_token = "tokentoken",
};

static void
setup(void)
{
	base = event_base_new();
	client = NULL;
}

static void
teardown(void)
{
	event_base_free(base);
}

static void
refused(const struct aws_client_config *config, int code, const char *part)
{
	char text[256] = "";

	ck_assert_int_eq(aws_client_new(base, config, &client, text,
	    sizeof(text)), code);
	ck_assert_ptr_null(client);
	ck_assert_msg(strstr(text, part) != NULL, "%s lacks %s", text, part);
	ck_assert_ptr_null(strstr(text, "verysecret"));
}

START_TEST(test_bad_configuration)
{
	struct aws_client_config bad;

	bad = good;
	bad.access_key_id = "";
	refused(&bad, DDBLOCK_E_NO_CREDENTIALS, "access key id");
	bad = good;
	bad.secret_access_key = NULL;
	refused(&bad, DDBLOCK_E_NO_CREDENTIALS, "secret access key");
	bad.secret_access_key = "verysecret\n";
	refused(&bad, DDBLOCK_E_NO_CREDENTIALS, "characters");
	bad = good;
	bad.session_token = "a\r\nb";
	refused(&bad, DDBLOCK_E_NO_CREDENTIALS, "session token");
	bad = good;
	bad.region = "eu central\r\n";
	refused(&bad, DDBLOCK_E_BAD_REQUEST, "region");
	bad = good;
	bad.endpoint = NULL;
	bad.region = NULL;
	refused(&bad, DDBLOCK_E_BAD_REQUEST, "region");
	bad = good;
	bad.endpoint = "http://192.0.2.1:8000";
	refused(&bad, DDBLOCK_E_BAD_REQUEST, "plain http");
	bad.endpoint = "ftp://localhost";
	refused(&bad, DDBLOCK_E_BAD_REQUEST, "https://");
	bad.endpoint = "https://user:pass@localhost";
	refused(&bad, DDBLOCK_E_BAD_REQUEST, "credentials");
	bad.endpoint = "https://localhost/path";
	refused(&bad, DDBLOCK_E_BAD_REQUEST, "path");
	bad.endpoint = "https://localhost/?a=b";
	refused(&bad, DDBLOCK_E_BAD_REQUEST, "query");
	bad.endpoint = "not a url";
	refused(&bad, DDBLOCK_E_BAD_REQUEST, "URL");
}
END_TEST

static void
endpoint_is(const char *url, const char *region, const char *endpoint)
{
	struct aws_client_config config = good;
	char text[256];

	config.endpoint = url;
	config.region = region;
	ck_assert_int_eq(aws_client_new(base, &config, &client, text,
	    sizeof(text)), 0);
	ck_assert_str_eq(aws_client_endpoint(client), endpoint);
	aws_client_free(client);
	client = NULL;
}

START_TEST(test_endpoint_of_the_region)
{
	endpoint_is(NULL, "eu-central-1",
	    "https://dynamodb.eu-central-1.amazonaws.com/");
	endpoint_is(NULL, "cn-north-1",
	    "https://dynamodb.cn-north-1.amazonaws.com.cn/");
	/* Emulators do not care about the region. */
	endpoint_is("http://localhost:8000", NULL, "http://localhost:8000/");
	endpoint_is("http://[::1]:8000/", NULL, "http://[::1]:8000/");
	endpoint_is("https://localhost:443", "eu-west-1",
	    "https://localhost/");
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("aws_endpoint");
	TCase *t = tcase_create("endpoint");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_bad_configuration);
	tcase_add_test(t, test_endpoint_of_the_region);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? 0 : 1;
}

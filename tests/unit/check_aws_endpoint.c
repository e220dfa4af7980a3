/*
 * The endpoints that the client accepts, and its errors for others.
 */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "aws/client.h"
#include "common/error.h"
#include "test.h"

static struct event_base *base;
static struct aws_client *client;
static struct credentials credentials;

static void
setup(void)
{
	const struct aws_client_config config = { .service = "dynamodb" };
	char text[128];

	base = event_base_new();
	ck_assert_int_eq(aws_client_new(base, &config, &client), 0);
	ck_assert_int_eq(credentials_set(&credentials, "AKIDEXAMPLE",
	    "verysecretverysecret", "tokentoken", text, sizeof(text)), 0);
}

static void
teardown(void)
{
	credentials_done(&credentials);
	aws_client_free(client);
	event_base_free(base);
}

static void
refused(const char *url, const char *region, int code, const char *part)
{
	const struct aws_client_origin origin = {
		.url = url, .region = region, .credentials = &credentials,
	};
	char text[256] = "";

	ck_assert_int_eq(aws_client_use(client, &origin, text, sizeof(text)),
	    code);
	ck_assert(!aws_client_ready(client));
	ck_assert_str_eq(aws_client_endpoint(client), "");
	ck_assert_msg(strstr(text, part) != NULL, "%s lacks %s", text, part);
	ck_assert_ptr_null(strstr(text, "verysecret"));
}

TEST_FIXTURE(setup, teardown)

TEST(test_refused)
{
	static const struct {
		const char *url, *region, *part;
	} rows[] = {
		{ "http://127.0.0.1:1", "eu central\r\n", "region" },
		{ "https://192.0.2.1", NULL, "region" },
		{ "http://192.0.2.1:8000", "eu-central-1", "plain http" },
		{ "http://127.0.0.1.example", "eu-central-1", "plain http" },
		{ "http://localhost.example", "eu-central-1", "plain http" },
		{ "http://127.0.0.999", "eu-central-1", "plain http" },
		{ "http://128.0.0.1", "eu-central-1", "plain http" },
		{ "http://[::2]", "eu-central-1", "plain http" },
		{ "ftp://localhost", "eu-central-1", "https://" },
		{ "https://user:pass@localhost", "eu-central-1",
		    "credentials" },
		{ "https://localhost/path", "eu-central-1", "path" },
		{ "https://localhost/?a=b", "eu-central-1", "query" },
		{ "not a url", "eu-central-1", "URL" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		refused(rows[i].url, rows[i].region, DDBLOCK_E_BAD_REQUEST,
		    rows[i].part);
	credentials_done(&credentials);
	refused("http://127.0.0.1:1", "eu-central-1",
	    DDBLOCK_E_NO_CREDENTIALS, "no credentials");
}

static void
endpoint_is(const char *url, const char *region, const char *endpoint)
{
	const struct aws_client_origin origin = {
		.url = url, .region = region, .credentials = &credentials,
	};
	char text[256];

	ck_assert_int_eq(aws_client_use(client, &origin, text, sizeof(text)),
	    0);
	ck_assert_str_eq(aws_client_endpoint(client), endpoint);
}

TEST(test_endpoint)
{
	/* Emulators do not care about the region. */
	endpoint_is("http://localhost:8000", NULL, "http://localhost:8000/");
	endpoint_is("http://[::1]:8000/", NULL, "http://[::1]:8000/");
	endpoint_is("http://[0::0001]:80", NULL, "http://[::1]/");
	endpoint_is("http://[::0.0.0.1]:80", NULL, "http://[::1]/");
	endpoint_is("http://127.1:8000", NULL, "http://127.0.0.1:8000/");
	endpoint_is("http://127.0.0.010", NULL, "http://127.0.0.8/");
	endpoint_is("http://LOCALHOST", NULL, "http://LOCALHOST/");
	endpoint_is("https://localhost:443", "eu-west-1",
	    "https://localhost/");
}

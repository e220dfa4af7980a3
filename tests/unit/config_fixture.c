/*
 * A configuration in memory, for the tests of its settings.
 */
#include "config_fixture.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

struct config *config;

void
config_setup(void)
{
	(void)unsetenv("AWS_REGION");
	(void)unsetenv("AWS_DEFAULT_REGION");
	(void)unsetenv("AWS_ENDPOINT_URL");
	(void)unsetenv("AWS_ENDPOINT_URL_DYNAMODB");
	(void)unsetenv("AWS_ACCESS_KEY_ID");
	(void)unsetenv("AWS_SECRET_ACCESS_KEY");
	(void)unsetenv("AWS_SESSION_TOKEN");
	ck_assert_int_eq(config_new(&config), 0);
}

void
config_teardown(void)
{
	config_free(config);
}

int
read_text(const char *text)
{
	char *copy = strdup(text);
	int r;

	ck_assert_ptr_nonnull(copy);
	r = config_read_text(config, "test.conf", copy, strlen(text));
	free(copy);
	return r == 0 ? config_finish(config) : r;
}

void
expect_error(const char *text, const char *errors)
{
	ck_assert_int_eq(read_text(text), DDBLOCK_E_BAD_REQUEST);
	ck_assert_str_eq(config->errors.data, errors);
}

void
expect_good(const char *text)
{
	int r = read_text(text);

	ck_assert_msg(r == 0, "%s", config->errors.data == NULL ? "?" :
	    config->errors.data);
	ck_assert_uint_eq(config->errors.length, 0);
}

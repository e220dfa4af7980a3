/*
 * The table of stores: each row against the configuration, which says it in
 * words.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_fixture.h"
#include "ddblock.h"
#include "store/kind.h"
#include "suite.h"

static bool
lists(const struct store_kind *k, const char *setting)
{
	for (size_t i = 0; k->settings[i] != NULL; i++) {
		if (strcmp(k->settings[i], setting) == 0)
			return true;
	}
	return false;
}

/* A namespace of each, as far as that goes without its own settings. */
static const struct config_namespace *
namespace_of(const struct store_kind *k)
{
	char text[128];

	(void)snprintf(text, sizeof(text), "[namespace default]\nstore = %s\n",
	    k->name);
	(void)read_text(text);
	return &config->namespaces[0];
}

START_TEST(test_word)
{
	const struct store_kind *k = store_kinds[_i];

	ck_assert_ptr_eq(config_kind(namespace_of(k)), k);
	ck_assert(strcmp(k->scope, "host") == 0 ||
	    strcmp(k->scope, "fleet") == 0);
	/* What only a store of one host can say. */
	if (strcmp(k->scope, "fleet") == 0)
		ck_assert(!k->sole_writer && !k->no_foreign_waiters &&
		    !k->keeps_idle);
	ck_assert_ptr_nonnull(k->open);
	ck_assert_int_eq(k->share == NULL, k->unshare == NULL);
}
END_TEST

/* The first is what a namespace has that names none. */
START_TEST(test_default)
{
	expect_good("");
	ck_assert_ptr_eq(config_kind(&config->namespaces[0]), store_kinds[0]);
	ck_assert_str_eq(store_kinds[0]->name, STORE_KINDS_DEFAULT);
}
END_TEST

/* Each setting that a row names is one. */
START_TEST(test_settings_exist)
{
	const struct store_kind *k = store_kinds[_i];
	size_t n;
	const struct config_setting *s = config_settings(CONFIG_NAMESPACE,
	    &n);

	for (size_t i = 0; k->settings[i] != NULL; i++) {
		size_t found = 0;

		for (size_t j = 0; j < n; j++)
			found += strcmp(s[j].name, k->settings[i]) == 0;
		ck_assert_msg(found == 1, "%s: %s", k->name, k->settings[i]);
	}
}
END_TEST

/* It has what its row names and what none names, and nothing else. */
START_TEST(test_settings)
{
	const struct store_kind *k = store_kinds[_i];
	const struct config_namespace *of = namespace_of(k);
	size_t n;
	const struct config_setting *s = config_settings(CONFIG_NAMESPACE,
	    &n);

	for (size_t i = 0; i < n; i++) {
		bool owned = false;

		for (size_t j = 0; store_kinds[j] != NULL; j++)
			owned = owned || lists(store_kinds[j], s[i].name);
		/* Those of older clients' formats are another matter. */
		if ((s[i].formats & CONFIG_FORMAT(STORE_FORMAT_NATIVE)) == 0)
			continue;
		ck_assert_msg(config_knows(of, &s[i]) ==
		    (!owned || lists(k, s[i].name)), "%s: %s", k->name,
		    s[i].name);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("kinds");
	TCase *t = tcase_create("kinds");
	int n = 0;

	while (store_kinds[n] != NULL)
		n++;
	tcase_add_checked_fixture(t, config_setup, config_teardown);
	tcase_add_loop_test(t, test_word, 0, n);
	tcase_add_test(t, test_default);
	tcase_add_loop_test(t, test_settings_exist, 0, n);
	tcase_add_loop_test(t, test_settings, 0, n);
	suite_add_tcase(suite, t);
	return suite_end(suite);
}

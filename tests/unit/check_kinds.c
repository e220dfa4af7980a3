/*
 * The table of stores: each row against the configuration, which says it in
 * words.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_fixture.h"
#include "ddblock.h"
#include "store/kind.h"
#include "test.h"

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

static int
n_kinds(void)
{
	int n = 0;

	while (store_kinds[n] != NULL)
		n++;
	return n;
}

TEST_FIXTURE(config_setup, config_teardown)

TEST_LOOP(test_word, 0, n_kinds())
{
	const struct store_kind *k = store_kinds[_i];

	ck_assert_ptr_eq(config_kind(namespace_of(k)), k);
	ck_assert(strcmp(k->scope, "host") == 0 ||
	    strcmp(k->scope, "fleet") == 0);
	/* Settings of a store of one host only. */
	if (strcmp(k->scope, "fleet") == 0)
		ck_assert(!k->sole_writer && !k->no_foreign_waiters &&
		    !k->keeps_idle);
	ck_assert_ptr_nonnull(k->open);
	ck_assert_int_eq(k->share == NULL, k->unshare == NULL);
}

/* The first is the default of a namespace. */
TEST(test_default)
{
	expect_good("");
	ck_assert_ptr_eq(config_kind(&config->namespaces[0]), store_kinds[0]);
	ck_assert_str_eq(store_kinds[0]->name, STORE_KINDS_DEFAULT);
}

/* Each setting that a row names is one. */
TEST_LOOP(test_settings_exist, 0, n_kinds())
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

/*
 * It has the settings that its row names and those that no row names, and no
 * others.
 */
TEST_LOOP(test_settings, 0, n_kinds())
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
		/* The settings of older clients' formats are not included. */
		if (!store_format_knows(STORE_FORMAT_NATIVE, s[i].name))
			continue;
		ck_assert_msg(config_knows(of, s[i].name) ==
		    (!owned || lists(k, s[i].name)), "%s: %s", k->name,
		    s[i].name);
	}
}

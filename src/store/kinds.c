/*
 * The table of the kinds of stores.
 */
#include <stdio.h>
#include <string.h>

#include "store/kind.h"

#define STORE_KIND(name, about) \
	extern const struct store_kind store_##name##_kind;
#include "store/kinds.def"

#define STORE_KIND(name, about) &store_##name##_kind,
const struct store_kind *const store_kinds[] = {
#include "store/kinds.def"
	NULL,
};

_Static_assert(sizeof(store_kinds) / sizeof(store_kinds[0]) <=
    STORE_KINDS_MAX + 1, "STORE_KINDS_MAX is too small");

static bool
store_kind_names(const struct store_kind *k, const char *setting)
{
	const char *const *own = k->settings;

	while (*own != NULL && strcmp(*own, setting) != 0)
		own++;
	return *own != NULL;
}

bool
store_kind_knows(const struct store_kind *k, const char *setting)
{
	if (store_kind_names(k, setting))
		return true;
	for (size_t i = 0; store_kinds[i] != NULL; i++) {
		if (store_kind_names(store_kinds[i], setting))
			return false;
	}
	return true;
}

void
store_kinds_knowing(const char *setting, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; store_kinds[i] != NULL && used < size; i++) {
		int n;

		if (!store_kind_knows(store_kinds[i], setting))
			continue;
		n = snprintf(text + used, size - used, "%s%s",
		    used > 0 ? "|" : "", store_kinds[i]->name);
		used += n > 0 ? (size_t)n : size;
	}
}

/*
 * The table of record formats.
 */
#include <string.h>

#include "dialect/dialect.h"

#define FORMAT(name, own, ...) &dialect_##own,
static const struct dialect *const dialects[] = {
#include "dialect/formats.def"
};

const struct dialect *
dialect_find(const char *name)
{
	for (size_t i = 0; i < sizeof(dialects) / sizeof(dialects[0]); i++) {
		if (strcmp(dialects[i]->name, name) == 0)
			return dialects[i];
	}
	return NULL;
}

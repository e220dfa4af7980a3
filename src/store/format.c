/*
 * The table of the record formats.
 */
#include "store/format.h"

#include <stdio.h>
#include <string.h>

#define ATTRIBUTES(...) { __VA_ARGS__ }
#define SETTINGS(...) { __VA_ARGS__ }
#define FORMAT(name, own, word, key, sort, ttl, lease_ms, attributes,          \
    settings)                                                                  \
	[STORE_FORMAT_##name] = { word, &dialect_##own, key, sort, ttl,        \
	    lease_ms, attributes, settings },
static const struct store_format_row store_formats[STORE_FORMATS] = {
#include "dialect/formats.def"
};

const struct store_format_row *
store_format_row(uint64_t format)
{
	return &store_formats[format];
}

const char *
store_format_name(uint64_t format)
{
	return store_formats[format].name;
}

static bool
format_names(uint64_t format, const char *setting)
{
	const char *const *own = store_formats[format].settings;

	while (*own != NULL && strcmp(*own, setting) != 0)
		own++;
	return *own != NULL;
}

bool
store_format_knows(uint64_t format, const char *setting)
{
	if (format_names(format, setting))
		return true;
	for (uint64_t i = 0; i < STORE_FORMATS; i++) {
		if (format_names(i, setting))
			return false;
	}
	return true;
}

void
store_formats_knowing(const char *setting, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (uint64_t i = 0; i < STORE_FORMATS && used < size; i++) {
		int n = 0;

		if (store_format_knows(i, setting))
			n = snprintf(text + used, size - used, "%s%s",
			    used > 0 ? "|" : "", store_formats[i].name);
		used += n >= 0 ? (size_t)n : size;
	}
}

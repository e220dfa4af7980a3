/*
 * What the configuration says about a namespace's store (settings.def). The
 * daemon reads it; which of it a store has, takes for granted and refuses is
 * the store's to say (kind.h).
 */
#ifndef DDBLOCKD_STORE_SETTINGS_H
#define DDBLOCKD_STORE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum store_format {
#define FORMAT(name, ...) STORE_FORMAT_##name,
#include "dialect/formats.def"
	STORE_FORMATS,
};


enum store_lease_text {
	STORE_LEASE_MILLISECONDS = 0,
	STORE_LEASE_GO,
};

enum store_released {
	STORE_RELEASED_DELETE = 0,
	STORE_RELEASED_KEEP,
};

/* What the value of a setting is, by its kind. Strings are the configuration's,
 * made with malloc(). */
#define SETTING_TEXT char *
#define SETTING_SECRET char *
#define SETTING_DURATION uint64_t
#define SETTING_WAIT uint64_t
#define SETTING_PERCENT uint64_t
#define SETTING_COUNT uint64_t
#define SETTING_BOOLEAN uint64_t
#define SETTING_CHOICE uint64_t	/* its place among them, an enumeration's */

/* NULL and 0 where nothing was set and there is no default. */
struct store_settings {
#define STORE(name, kind, field, ...) SETTING_##kind field;
#include "store/settings.def"
};

/* Where a store's settings come from, while they are completed and judged. */
struct store_judge {
	const char *namespace_name;
	uint64_t lease_ms;
	uint64_t heartbeat_ms;
	void *arg;
	/* It was set: it is not the default. */
	bool (*is_set)(void *arg, const char *setting);
	/* Errors and warnings, for people. @setting is where; NULL: the
	 * namespace as a whole. */
	void (*complain)(void *arg, const char *setting, const char *text);
	void (*warn)(void *arg, const char *setting, const char *text);
};

/* What the configuration calls it. */
const char *store_format_name(uint64_t format);

/* May it be set where the records have that format? */
bool store_format_knows(uint64_t format, const char *setting);

/* The names of those that know it, "native|dlock". */
void store_formats_knowing(const char *setting, char *text, size_t size);

void store_complain(const struct store_judge *, const char *setting,
    const char *format, ...) __attribute__((format(printf, 3, 4)));
void store_warn(const struct store_judge *, const char *setting,
    const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif

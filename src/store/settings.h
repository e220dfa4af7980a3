/*
 * What the configuration says about a namespace's store. The daemon reads it
 * (daemon/config_table.c); which of it a store has, takes for granted and
 * refuses is the store's to say (kind.h).
 */
#ifndef DDBLOCKD_STORE_SETTINGS_H
#define DDBLOCKD_STORE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

enum store_format {
	STORE_FORMAT_NATIVE = 0,	/* in the order of the names */
	STORE_FORMAT_AWSLABS,
	STORE_FORMAT_PYTHON,
	STORE_FORMAT_JS_FAIL_OPEN,
	STORE_FORMAT_JS_FAIL_CLOSED,
	STORE_FORMAT_DLOCK,
	STORE_FORMATS,
};

#define STORE_FORMAT_NAMES \
	"native|awslabs|python|js-fail-open|js-fail-closed|dlock"

enum store_lease_text {
	STORE_LEASE_MILLISECONDS = 0,
	STORE_LEASE_GO,
};

enum store_released {
	STORE_RELEASED_DELETE = 0,
	STORE_RELEASED_KEEP,
};

/* NULL and 0 where nothing was set and there is no default. Strings are the
 * configuration's, made with malloc(). */
struct store_settings {
	uint64_t retention_ms;
	char *file;

	uint64_t format;	/* enum store_format */
	char *table;
	char *key_attribute;
	uint64_t key_type;	/* enum dialect_key_type */
	char *sort_attribute;
	uint64_t sort_type;
	char *ttl_attribute;
	char *rename;
	char *prefix;
	uint64_t lease_text;	/* enum store_lease_text */
	uint64_t released;	/* enum store_released */
	uint64_t keep_attributes;
	uint64_t local_time;
	uint64_t expiry_ms;
	uint64_t fencing;
	uint64_t skew_ms;
	uint64_t trust_clock;
	uint64_t heartbeat_rate;
	uint64_t read_capacity;
	uint64_t write_capacity;

	char *region;
	char *endpoint;
	uint64_t fips;
	uint64_t dual_stack;
	char *ca_file;
	char *profile;
	char *access_key_id;
	char *secret_access_key;
	char *session_token;
	uint64_t allow_plain_http;
};

/* Where a store's settings come from, while they are completed and judged. */
struct store_judge {
	const char *namespace_name;
	uint64_t lease_ms;
	uint64_t heartbeat_ms;
	void *arg;
	/* Somebody set it: it is not the default. */
	bool (*is_set)(void *arg, const char *setting);
	/* What is wrong, or strange, for people. @setting is where; NULL: the
	 * namespace as a whole. */
	void (*complain)(void *arg, const char *setting, const char *text);
	void (*warn)(void *arg, const char *setting, const char *text);
};

void store_complain(const struct store_judge *, const char *setting,
    const char *format, ...) __attribute__((format(printf, 3, 4)));
void store_warn(const struct store_judge *, const char *setting,
    const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif

/*
 * What is known of a record format beside how it is written: its row in
 * dialect/formats.def.
 */
#ifndef DDBLOCKD_STORE_FORMAT_H
#define DDBLOCKD_STORE_FORMAT_H

#include "dialect/dialect.h"
#include "store/settings.h"

#define STORE_FORMAT_ATTRIBUTES_MAX 8	/* and a NULL */
#define STORE_FORMAT_SETTINGS_MAX 16

struct store_format_row {
	const char *name;		/* the word in the configuration */
	const struct dialect *dialect;
	const char *key_attribute;	/* NULL: must be named */
	const char *sort_attribute;	/* NULL: none, unless named */
	const char *ttl_attribute;
	uint64_t lease_ms;		/* 0: as everywhere */
	const char *attributes[STORE_FORMAT_ATTRIBUTES_MAX];
	const char *settings[STORE_FORMAT_SETTINGS_MAX];
};

const struct store_format_row *store_format_row(uint64_t format);

#endif

/*
 * What a namespace says about its record format: what that format is called,
 * has, and takes for granted.
 */
#ifndef DDBLOCKD_DAEMON_CONFIG_FORMAT_H
#define DDBLOCKD_DAEMON_CONFIG_FORMAT_H

#include "daemon/config.h"
#include "dialect/dialect.h"

#define CONFIG_RENAMES_MAX 8	/* no format has so many attributes */
#define CONFIG_RENAME_MAX (CONFIG_RENAMES_MAX * 2 * 256)

/* The attributes that have another name. Points into itself: not copied. */
struct config_renames {
	char text[CONFIG_RENAME_MAX];
	struct dialect_name names[CONFIG_RENAMES_MAX];
	size_t n_names;
};

/* As it is written: "awslabs". */
const char *config_format_name(uint64_t format);

/* The attributes that a format calls its own, up to a NULL. The native format
 * judges names itself. */
const char *const *config_format_attributes(uint64_t format);

/* Defaults that the table of settings cannot have. */
int config_format_default(struct config_namespace *);

/* Complain of what does not fit the format. */
void config_format_check(struct config *, const struct config_namespace *);

/*
 * The names of the format's attributes in this table.
 *
 * DDBLOCK_E_BAD_REQUEST
 *     @rule (of @size bytes) says what is wrong with them.
 */
int config_format_renames(const struct config_namespace *,
    struct config_renames *ret, char *rule, size_t size);

/* What the core wants to know of the format. */
void config_format_describe(const struct config_namespace *,
    struct core_namespace *);

#endif

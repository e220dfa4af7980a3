/*
 * What the settings say about the record format: what that format has, and
 * takes for granted.
 */
#ifndef DDBLOCKD_STORE_DYNAMODB_FORMAT_H
#define DDBLOCKD_STORE_DYNAMODB_FORMAT_H

#include <stddef.h>

#include "core/core.h"
#include "dialect/dialect.h"
#include "store/format.h"
#include "store/settings.h"

#define DYNAMODB_RENAMES_MAX STORE_FORMAT_ATTRIBUTES_MAX
#define DYNAMODB_RENAME_MAX (DYNAMODB_RENAMES_MAX * 2 * 256)

/* The attributes that have another name. Points into itself: not copied. */
struct dynamodb_renames {
	char text[DYNAMODB_RENAME_MAX];
	struct dialect_name names[DYNAMODB_RENAMES_MAX];
	size_t n_names;
};

struct store_times;

#define FORMAT_IDLE_MS 20	/* by default: other hosts hardly notice */

/* What the format takes for granted. DDBLOCK_E_NOMEM */
int dynamodb_format_complete(struct store_settings *,
    const struct store_judge *, struct store_times *);

/* Complain of what does not fit the format. */
void dynamodb_format_judge(const struct store_settings *,
    const struct store_judge *);

/*
 * The names of the format's attributes in this table.
 *
 * DDBLOCK_E_BAD_REQUEST
 *     @rule (of @size bytes) says what is wrong with them.
 */
int dynamodb_format_renames(const struct store_settings *,
    struct dynamodb_renames *ret, char *rule, size_t size);

/*
 * May attributes of the table have the names that they have?
 *
 * DDBLOCK_E_BAD_REQUEST
 *     @text says why not.
 */
int dynamodb_format_check_names(const struct dialect *,
    const struct dialect_table *, const char *namespace_name, char *text,
    size_t size);

/* What the core is told of the format. */
void dynamodb_format_describe(const struct store_settings *,
    struct core_namespace *);

#endif

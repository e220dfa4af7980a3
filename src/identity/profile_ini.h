/*
 * The form of the files of profiles: sections and settings as Python's
 * configparser reads them for botocore (pure). A line that is indented further
 * than its setting goes on with the value; a value that begins with the next
 * line is a group of settings; what [DEFAULT] says holds in every section.
 */
#ifndef DDBLOCKD_IDENTITY_PROFILE_INI_H
#define DDBLOCKD_IDENTITY_PROFILE_INI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile_ini_section {
	const char *name;	/* as it stands between the brackets */
	uint32_t line;
};

struct profile_ini_setting {
	uint32_t section;
	uint32_t line;
	const char *group;	/* NULL: it is in none */
	const char *key;	/* in lower case, unless it is in a group */
	const char *value;	/* NULL: it is the head of a group */
};

/* All texts point into @text. */
struct profile_ini {
	char *text;
	size_t text_size;
	struct profile_ini_section *sections;	/* the first is [DEFAULT] */
	size_t n_sections;
	struct profile_ini_setting *settings;	/* sorted */
	size_t n_settings;
};

/*
 * @name is for messages; they have no word of the file's.
 *
 * DDBLOCK_E_BAD_REQUEST
 * DDBLOCK_E_NOMEM
 */
int profile_ini_read(struct profile_ini *ret, const char *name,
    const char *text, size_t text_length, char *error, size_t error_size);

/* Wipes. Accepts a zeroed one. */
void profile_ini_done(struct profile_ini *);

/* Is nothing said in that section, nor in [DEFAULT]? */
bool profile_ini_is_empty(const struct profile_ini *, uint32_t section);

/* In that section, or else in [DEFAULT]; NULL: in neither. */
const struct profile_ini_setting *profile_ini_find(const struct profile_ini *,
    uint32_t section, const char *key);

/* In the group that profile_ini_find() found; NULL: it has none of that. */
const struct profile_ini_setting *profile_ini_find_in(
    const struct profile_ini *, const struct profile_ini_setting *head,
    const char *key);

#endif

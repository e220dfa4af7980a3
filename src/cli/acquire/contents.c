/*
 * The contents that a command puts into a lock.
 */
#include <config.h>

#include "cli/acquire/contents.h"

#include <stdlib.h>
#include <string.h>

#include "ipc/codec.h"

#define CONTENTS_TYPED ":json"
#define CONTENTS_ENVIRONMENT_MAX (64 * 1024)	/* the kernel's limit is 128 */

/* NAME=TEXT or NAME:json=VALUE */
static bool
contents_attribute(struct contents *contents, char *text)
{
	const size_t type = strlen(CONTENTS_TYPED);
	struct ddblock_attribute *a =
	    &contents->attributes[contents->change.n_attributes];
	char *equals = strchr(text, '=');
	size_t length;

	if (equals == NULL || equals == text ||
	    contents->change.n_attributes == CONTENTS_ATTRIBUTES_MAX)
		return false;
	length = (size_t)(equals - text);
	*a = (struct ddblock_attribute){ .name = text, .value = equals + 1 };
	if (length > type &&
	    strncmp(equals - type, CONTENTS_TYPED, type) == 0) {
		a->typed = 1;
		length -= type;
	}
	text[length] = '\0';
	contents->change.n_attributes++;
	return true;
}

static bool
contents_no(bool *ret_no)
{
	bool yes;

	if (!codec_parse_boolean(optarg, strlen(optarg), &yes))
		return false;
	*ret_no = !yes;
	return true;
}

bool
contents_option(struct contents *contents, enum cli_option option)
{
	switch (option) {
	case CLI_OPTION_DATA:
		contents->change.data = optarg;
		contents->change.length = strlen(optarg);
		return true;
	case CLI_OPTION_REPLACE_DATA:
		contents->replace_given = true;
		return contents_no(&contents->spare_data);
	case CLI_OPTION_ATTR:
		return contents_attribute(contents, optarg);
	case CLI_OPTION_KEEP:
		return contents_no(&contents->clear);
	case CLI_OPTION_ONLY_IF_EXISTS:
		contents->only_if_exists = true;
		return true;
	default:
		return false;
	}
}

const char *
contents_complaint(const struct contents *contents)
{
	if (contents->replace_given && contents->change.data == NULL)
		return "--replace-data says what --data is to do; there is "
		    "none";
	return NULL;
}

void
contents_ask(struct contents *contents, struct ddblock_acquire_options *options)
{
	struct ddblock_change *change = &contents->change;

	options->only_if_exists = contents->only_if_exists;
	change->size = sizeof(*change);
	change->attributes = contents->attributes;
	change->clear = contents->clear;
	change->spare_data = contents->spare_data;
	options->change = change;
}

/* Only a text of bounded length; "ddblock get" shows all else. */
int
contents_set_environment(const struct ddblock_row *found)
{
	size_t length = 0;
	const char *data =
	    found == NULL ? NULL : ddblock_row_find(found, "data", &length);

	if (data == NULL || length > CONTENTS_ENVIRONMENT_MAX ||
	    strlen(data) < length)
		return unsetenv("DDBLOCK_DATA");
	return setenv("DDBLOCK_DATA", data, 1);
}

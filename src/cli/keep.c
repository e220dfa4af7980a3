/*
 * What is to be kept in a lock.
 */
#include <config.h>

#include "cli/keep.h"

#include <stdlib.h>
#include <string.h>

#include "ipc/codec.h"

#define KEEP_TYPED ":json"
#define KEEP_ENVIRONMENT_MAX (64 * 1024)	/* the kernel's limit is 128 */

/* NAME=TEXT or NAME:json=VALUE */
static bool
keep_attribute(struct keep *keep, char *text)
{
	const size_t type = strlen(KEEP_TYPED);
	struct ddblock_attribute *a =
	    &keep->attributes[keep->change.n_attributes];
	char *equals = strchr(text, '=');
	size_t length;

	if (equals == NULL || equals == text ||
	    keep->change.n_attributes == KEEP_ATTRIBUTES_MAX)
		return false;
	length = (size_t)(equals - text);
	*a = (struct ddblock_attribute){ .name = text, .value = equals + 1 };
	if (length > type && strncmp(equals - type, KEEP_TYPED, type) == 0) {
		a->typed = 1;
		length -= type;
	}
	text[length] = '\0';
	keep->change.n_attributes++;
	return true;
}

static bool
keep_no(bool *ret_no)
{
	bool yes;

	if (!codec_parse_boolean(optarg, strlen(optarg), &yes))
		return false;
	*ret_no = !yes;
	return true;
}

bool
keep_option(struct keep *keep, int option)
{
	switch (option) {
	case KEEP_OPTION_DATA:
		keep->change.data = optarg;
		keep->change.length = strlen(optarg);
		return true;
	case KEEP_OPTION_REPLACE_DATA:
		keep->spare_said = true;
		return keep_no(&keep->spare_data);
	case KEEP_OPTION_ATTR:
		return keep_attribute(keep, optarg);
	case KEEP_OPTION_KEEP:
		return keep_no(&keep->clear);
	case KEEP_OPTION_ONLY_IF_EXISTS:
		keep->only_if_exists = true;
		return true;
	default:
		return false;
	}
}

const char *
keep_complaint(const struct keep *keep)
{
	if (keep->spare_said && keep->change.data == NULL)
		return "--replace-data says what --data is to do; there is "
		    "none";
	return NULL;
}

void
keep_ask(struct keep *keep, struct ddblock_acquire_options *options)
{
	struct ddblock_change *change = &keep->change;

	options->only_if_exists = keep->only_if_exists;
	change->size = sizeof(*change);
	change->attributes = keep->attributes;
	change->clear = keep->clear;
	change->spare_data = keep->spare_data;
	options->change = change;
}

/* What is no text of a bounded length is left to "ddblock get". */
int
keep_set_environment(const struct ddblock_row *found)
{
	size_t length = 0;
	const char *data =
	    found == NULL ? NULL : ddblock_row_find(found, "data", &length);

	if (data == NULL || length > KEEP_ENVIRONMENT_MAX ||
	    strlen(data) < length)
		return unsetenv("DDBLOCK_DATA");
	return setenv("DDBLOCK_DATA", data, 1);
}

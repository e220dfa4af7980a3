/*
 * Changes of the contents of a lock.
 */
#include "lib/change.h"

#include <string.h>

#include "ipc/codec.h"
#include "lib/connection.h"
#include "lib/options.h"

#define CHANGE_NAME_MAX 255	/* bytes of an attribute's name */

static int
change_read(const struct ddblock_change *change, struct ddblock_change *ret)
{
	static const struct ddblock_change none = DDBLOCK_CHANGE_INIT;
	int r = 0;

	*ret = none;
	if (change != NULL)
		r = options_copy(ret, sizeof(*ret), change, change->size);
	for (size_t i = 0; r == 0 && i < ret->n_attributes; i++) {
		const char *name = ret->attributes[i].name;

		if (name == NULL || name[0] == '\0' ||
		    strlen(name) > CHANGE_NAME_MAX)
			r = DDBLOCK_E_BAD_REQUEST;
	}
	return r;
}

int
change_take(struct ddblock *d, const struct ddblock_change *change,
    struct ddblock_change *ret)
{
	int r = change_read(change, ret);

	if (r == DDBLOCK_E_BAD_REQUEST)
		return connection_fail(d, r,
		    "an attribute's name has 1 to 255 bytes");
	return r < 0 ? connection_fail(d, r,
	    "this library is older than the options") : 0;
}

static void
change_write_attribute(struct buffer *b, const struct ddblock_attribute *a)
{
	const char *value = a->value != NULL ? a->value : "";
	bool typed = a->typed != 0 || a->value == NULL;
	char name[sizeof("attr.:json") + CHANGE_NAME_MAX];
	size_t length = strlen(a->name);

	(void)memcpy(name, "attr.", 5);
	(void)memcpy(name + 5, a->name, length);
	(void)memcpy(name + 5 + length, typed ? ":json" : "",
	    typed ? sizeof(":json") : 1);
	codec_text_value(b, name, value);
}

void
change_write(struct buffer *b, const struct ddblock_change *change)
{
	if (change->data != NULL)
		codec_value(b, protocol_argument(ARGUMENT_DATA)->word,
		    change->data, change->length);
	if (change->data != NULL && change->spare_data)
		protocol_write(b, ARGUMENT_REPLACE_DATA, 0);
	for (size_t i = 0; i < change->n_attributes; i++)
		change_write_attribute(b, &change->attributes[i]);
	if (change->clear)
		protocol_write(b, ARGUMENT_KEEP, 0);
}

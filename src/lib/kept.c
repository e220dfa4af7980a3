/*
 * What was found in a lock by who was granted it, for as long as it is held.
 */
#include "lib/connection.h"

#include <stdlib.h>
#include <string.h>

#define KEPT_ATTRIBUTE "attr."

static bool
kept_is(const struct codec_argument *a)
{
	return codec_is(&a->name, "data") ||
	    (a->name.length > strlen(KEPT_ATTRIBUTE) && strncmp(a->name.bytes,
	    KEPT_ATTRIBUTE, strlen(KEPT_ATTRIBUTE)) == 0);
}

static struct codec_text
kept_copy_text(const struct codec_text *text, char **at)
{
	struct codec_text copy = { .bytes = *at, .length = text->length };

	(void)memcpy(*at, text->bytes, text->length);
	(*at)[text->length] = '\0';
	*at += text->length + 1;
	return copy;
}

int
kept_copy(const struct codec_line *line, struct ddblock_row **ret)
{
	struct ddblock_row *row;
	size_t bytes = 0, n = 0;
	char *at;

	for (size_t i = 0; i < line->n_arguments; i++) {
		const struct codec_argument *a = &line->arguments[i];

		if (kept_is(a)) {
			bytes += a->name.length + a->value.length + 2;
			n++;
		}
	}
	*ret = NULL;
	if (n == 0)
		return 0;
	row = calloc(1, sizeof(*row) + bytes);
	if (row == NULL)
		return DDBLOCK_E_NOMEM;
	at = (char *)(row + 1);
	for (size_t i = 0; i < line->n_arguments; i++) {
		const struct codec_argument *a = &line->arguments[i];
		struct codec_argument *to =
		    &row->line.arguments[row->line.n_arguments];

		if (!kept_is(a))
			continue;
		to->name = kept_copy_text(&a->name, &at);
		to->value = kept_copy_text(&a->value, &at);
		row->line.n_arguments++;
	}
	*ret = row;
	return 0;
}

const struct ddblock_row *
ddblock_found(const struct ddblock *d, uint64_t id)
{
	const struct hold *hold = hold_find(d, id);

	return hold == NULL ? NULL : hold->found;
}

/*
 * The fields of a row.
 */
#include "lib/row.h"

#include <stdlib.h>
#include <string.h>

#define ROW_ATTRIBUTE "attr."

bool
ddblock_row_at(const struct ddblock_row *row, size_t index,
    const char **ret_name, const char **ret_value, size_t *ret_length)
{
	const struct codec_argument *a;

	if (index >= row->line.n_arguments)
		return false;
	a = &row->line.arguments[index];
	*ret_name = a->name.length == 0 ? "" : a->name.bytes;
	*ret_value = a->value.bytes;
	if (ret_length != NULL)
		*ret_length = a->value.length;
	return true;
}

const char *
ddblock_row_find(const struct ddblock_row *row, const char *name,
    size_t *ret_length)
{
	const struct codec_text *value = codec_find(&row->line, name);

	if (value == NULL)
		return NULL;
	if (ret_length != NULL)
		*ret_length = value->length;
	return value->bytes;
}

static bool
row_is_contents(const struct codec_argument *a)
{
	return codec_is(&a->name, "data") ||
	    (a->name.length > strlen(ROW_ATTRIBUTE) && strncmp(a->name.bytes,
	    ROW_ATTRIBUTE, strlen(ROW_ATTRIBUTE)) == 0);
}

static struct codec_text
row_copy_text(const struct codec_text *text, char **at)
{
	struct codec_text copy = { .bytes = *at, .length = text->length };

	(void)memcpy(*at, text->bytes, text->length);
	(*at)[text->length] = '\0';
	*at += text->length + 1;
	return copy;
}

int
row_copy_contents(const struct codec_line *line, struct ddblock_row **ret)
{
	struct ddblock_row *row;
	size_t bytes = 0, n = 0;
	char *at;

	for (size_t i = 0; i < line->n_arguments; i++) {
		const struct codec_argument *a = &line->arguments[i];

		if (row_is_contents(a)) {
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

		if (!row_is_contents(a))
			continue;
		to->name = row_copy_text(&a->name, &at);
		to->value = row_copy_text(&a->value, &at);
		row->line.n_arguments++;
	}
	*ret = row;
	return 0;
}

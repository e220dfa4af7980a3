/*
 * The locks of a hold. Most holds have one.
 */
#include "lib/parts.h"

#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

struct parts *
parts_new(const char *const *keys, size_t n)
{
	struct parts *parts;
	size_t length = 0;
	char *text;

	for (size_t i = 0; i < n; i++)
		length += strlen(keys[i]) + 1;
	parts = malloc(sizeof(*parts) + n * sizeof(parts->part[0]) + length);
	if (parts == NULL)
		return NULL;
	parts->n = n;
	text = (char *)&parts->part[n];
	for (size_t i = 0; i < n; i++) {
		length = strlen(keys[i]) + 1;
		(void)memcpy(text, keys[i], length);
		parts->part[i] = (struct part){ .key = text, .token = 0 };
		text += length;
	}
	return parts;
}

void
parts_free(struct parts *parts)
{
	for (size_t i = 0; parts != NULL && i < parts->n; i++)
		free(parts->part[i].token_text);
	free(parts);
}

static int
part_granted(struct part *part, const struct codec_line *line)
{
	const struct codec_text *token = codec_find(line, "token");
	const struct codec_text *text = codec_find(line, "token_text");

	if (token == NULL || !codec_parse_number(token->bytes, token->length,
	    &part->token))
		return 0;
	free(part->token_text);
	part->token_text = text == NULL ? NULL : strdup(text->bytes);
	if (text != NULL && part->token_text == NULL)
		return DDBLOCK_E_NOMEM;
	part->granted = true;
	return 0;
}

int
parts_add(struct parts **parts, const char *key,
    const struct codec_line *line)
{
	struct parts *old = *parts;
	const char *keys[DDBLOCK_KEYS_MAX];
	struct parts *all;

	for (size_t i = 0; i < old->n; i++)
		keys[i] = old->part[i].key;
	keys[old->n] = key;
	all = parts_new(keys, old->n + 1);
	if (all == NULL)
		return DDBLOCK_E_NOMEM;
	for (size_t i = 0; i < old->n; i++) {
		all->part[i].token = old->part[i].token;
		all->part[i].token_text = old->part[i].token_text;
		all->part[i].granted = old->part[i].granted;
	}
	free(old);
	*parts = all;
	return part_granted(&all->part[all->n - 1], line);
}

struct part *
parts_find(struct parts *parts, const char *key)
{
	for (size_t i = 0; i < parts->n; i++) {
		if (strcmp(parts->part[i].key, key) == 0)
			return &parts->part[i];
	}
	return NULL;
}

int
parts_granted(struct parts *parts, const struct codec_line *line)
{
	const struct codec_text *key = codec_find(line, "key");
	struct part *part = &parts->part[0];

	if (parts->n > 1)
		part = key == NULL ? NULL : parts_find(parts, key->bytes);
	return part == NULL ? 0 : part_granted(part, line);
}

bool
parts_are_granted(const struct parts *parts)
{
	for (size_t i = 0; i < parts->n; i++) {
		if (!parts->part[i].granted)
			return false;
	}
	return true;
}

/*
 * The words of the protocol.
 */
#include <config.h>

#include "cli/shell/words.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void
words_done(struct words *w)
{
	for (size_t i = 0; i < w->n_verbs; i++) {
		free(w->verbs[i].verb);
		free(w->verbs[i].subject);
		free(w->verbs[i].arguments);
	}
	w->n_verbs = 0;
}

static char *
words_copy(const struct codec_text *text)
{
	return text == NULL || text->length == 0 ? NULL : strdup(text->bytes);
}

void
words_learn(struct words *w, const struct codec_line *row)
{
	const struct codec_text *verb = codec_find(row, "verb");
	struct words_verb *v = &w->verbs[w->n_verbs];

	if (verb == NULL || w->n_verbs == WORDS_VERBS_MAX)
		return;
	v->verb = words_copy(verb);
	if (v->verb == NULL)
		return;
	v->subject = words_copy(codec_find(row, "subject"));
	v->arguments = words_copy(codec_find(row, "arguments"));
	w->n_verbs++;
}

static const struct words_verb *
words_find(const struct words *w, const char *verb, size_t length)
{
	for (size_t i = 0; i < w->n_verbs; i++) {
		if (strlen(w->verbs[i].verb) == length &&
		    memcmp(w->verbs[i].verb, verb, length) == 0)
			return &w->verbs[i];
	}
	return NULL;
}

/* Verbs are typed in small letters, too, and come out as they should be. */
static size_t
words_offer(struct buffer *b, const char *word, size_t length,
    const char *end, const char *typed, size_t typed_length)
{
	if (length < typed_length ||
	    strncasecmp(word, typed, typed_length) != 0)
		return 0;
	(void)buffer_append(b, word, length);
	(void)buffer_append_text(b, end);
	(void)buffer_append(b, "", 1);
	return buffer_failed(b) == 0;
}

/* Does the line have this argument already? */
static bool
words_given(const char *line, size_t length, const char *label,
    size_t label_length)
{
	size_t i = 0;

	while (i < length) {
		size_t n = strcspn(line + i, " ");

		if (n > label_length && line[i + label_length] == '=' &&
		    memcmp(line + i, label, label_length) == 0)
			return true;
		i += n + 1;
	}
	return false;
}

static size_t
words_arguments(const struct words_verb *v, const char *line, size_t begin,
    size_t cursor, struct buffer *ret)
{
	const char *at = v->arguments == NULL ? "" : v->arguments;
	size_t n = 0;

	while (*at != '\0') {
		size_t length = strcspn(at, ",");

		if (!words_given(line, begin, at, length))
			n += words_offer(ret, at, length, "=", line + begin,
			    cursor - begin);
		at += length + (at[length] == ',');
	}
	return n;
}

size_t
words_complete(const struct words *w, const char *line, size_t cursor,
    struct buffer *ret, size_t *ret_begin)
{
	const struct words_verb *verb = NULL;
	size_t before = 0;	/* words, without the tag */
	size_t begin = 0;
	size_t n = 0;

	for (size_t i = 0; i < cursor; i++) {
		if (line[i] != ' ')
			continue;
		if (i > begin && line[begin] != '#' && before++ == 0)
			verb = words_find(w, line + begin, i - begin);
		begin = i + 1;
	}
	*ret_begin = begin;
	if (before == 0) {
		for (size_t i = 0; i < w->n_verbs; i++)
			n += words_offer(ret, w->verbs[i].verb,
			    strlen(w->verbs[i].verb), "", line + begin,
			    cursor - begin);
		return n;
	}
	/* The first argument is a key, which only its user knows. */
	if (verb == NULL || (verb->subject != NULL && before == 1))
		return 0;
	return words_arguments(verb, line, begin, cursor, ret);
}

/*
 * Traces are read as specifications, so a difference is shown as one: the
 * lines that agree, then what was expected and what came.
 */
#include "trace.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRACE_LINE_MAX 512

void
trace_done(struct trace *t)
{
	size_t i;

	for (i = 0; i < t->n_lines; i++)
		free(t->lines[i].text);
	free(t->lines);
	*t = (struct trace){ 0 };
}

void
trace_add(struct trace *t, enum trace_kind kind, uint64_t real_ms,
    const char *host, const char *format, ...)
{
	char line[TRACE_LINE_MAX], event[TRACE_LINE_MAX - 64];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(event, sizeof(event), format, args);
	va_end(args);
	(void)snprintf(line, sizeof(line), "[%6" PRIu64 "] %s %s", real_ms,
	    host, event);

	if (t->n_lines == t->size) {
		t->size = t->size == 0 ? 256 : t->size * 2;
		t->lines = realloc(t->lines, t->size * sizeof(*t->lines));
		if (t->lines == NULL)
			abort();
	}
	t->lines[t->n_lines].kind = kind;
	t->lines[t->n_lines].text = strdup(line);
	if (t->lines[t->n_lines].text == NULL)
		abort();
	t->n_lines++;
}

static bool
trace_matches(const char *pattern, size_t length, const char *text)
{
	while (length > 0 && *pattern != '*') {
		if (*text != *pattern)
			return false;
		pattern++;
		text++;
		length--;
	}
	if (length == 0)
		return *text == '\0';
	for (;; text++) {
		if (trace_matches(pattern + 1, length - 1, text))
			return true;
		if (*text == '\0')
			return false;
	}
}

size_t
trace_count(const struct trace *t, size_t from, const char *pattern)
{
	size_t i, n = 0;

	for (i = from; i < t->n_lines; i++)
		if (trace_matches(pattern, strlen(pattern), t->lines[i].text))
			n++;
	return n;
}

static const struct trace_line *
trace_next(const struct trace *t, size_t *at, unsigned kinds)
{
	while (*at < t->n_lines) {
		const struct trace_line *line = &t->lines[(*at)++];

		if ((line->kind & kinds) != 0)
			return line;
	}
	return NULL;
}

static void
trace_write_diff(FILE *out, const struct trace *t, size_t from,
    unsigned kinds, const char *expected, const char *parted)
{
	const struct trace_line *line;
	const char *at = expected;

	while (at < parted) {
		size_t length = strcspn(at, "\n");

		line = trace_next(t, &from, kinds);
		(void)fprintf(out, "  %s\n", line == NULL ? "" : line->text);
		at += length + 1;
	}
	(void)fprintf(out, "expected from here:\n%s", parted);
	(void)fprintf(out, "but it was:\n");
	while ((line = trace_next(t, &from, kinds)) != NULL)
		(void)fprintf(out, "%s\n", line->text);
}

bool
trace_equals(const struct trace *t, size_t from, unsigned kinds,
    const char *expected, char **ret_diff)
{
	const char *at = expected;
	size_t i = from, size;
	FILE *out;

	for (;;) {
		const struct trace_line *line = trace_next(t, &i, kinds);
		size_t length = strcspn(at, "\n");

		if (line == NULL && *at == '\0')
			return true;
		if (line == NULL || *at == '\0' ||
		    !trace_matches(at, length, line->text))
			break;
		at += length + (at[length] == '\n');
	}
	out = open_memstream(ret_diff, &size);
	if (out == NULL)
		abort();
	trace_write_diff(out, t, from, kinds, expected, at);
	(void)fclose(out);
	return false;
}

void
trace_print(const struct trace *t)
{
	size_t i;

	for (i = 0; i < t->n_lines; i++)
		(void)fprintf(stderr, "%s\n", t->lines[i].text);
}

/*
 * Findings, and how they look: the state first, because it is what eyes search
 * for; then the subject; then sentences, in a column of their own.
 */
#include "common/finding.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FINDING_COLUMN 26	/* of the sentences */
#define FINDING_WIDTH 79
#define FINDING_ARROW "-> "

const char *
finding_word(enum finding_state state)
{
	static const char *const words[] = {
		[FINDING_OK] = "ok", [FINDING_WARNING] = "warning",
		[FINDING_ERROR] = "error",
	};

	return words[state];
}

void
finding_set(struct finding *f, const char *check, enum finding_state state,
    const char *format, ...)
{
	va_list arguments;

	f->check = check;
	f->state = state;
	f->advice[0] = '\0';
	va_start(arguments, format);
	(void)vsnprintf(f->text, sizeof(f->text), format, arguments);
	va_end(arguments);
}

void
finding_advise(struct finding *f, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(f->advice, sizeof(f->advice), format, arguments);
	va_end(arguments);
}

/* How many columns the first @length bytes of UTF-8 take. */
static size_t
finding_columns(const char *text, size_t length)
{
	size_t n = 0;

	for (size_t i = 0; i < length; i++)
		n += ((unsigned char)text[i] & 0xc0) != 0x80;
	return n;
}

void
finding_wrap(struct buffer *b, const char *text, size_t cursor, size_t indent)
{
	bool first = true;

	text += strspn(text, " ");
	while (*text != '\0') {
		size_t length = strcspn(text, " ");
		size_t columns = finding_columns(text, length);

		if (!first && cursor + 1 + columns > FINDING_WIDTH) {
			(void)buffer_printf(b, "\n%*s", (int)indent, "");
			cursor = indent;
		} else if (!first) {
			(void)buffer_append_text(b, " ");
			cursor++;
		}
		first = false;
		(void)buffer_append(b, text, length);
		cursor += columns;
		text += length;
		text += strspn(text, " ");
	}
	(void)buffer_append_text(b, "\n");
}

void
finding_show(struct buffer *b, const char *check, const char *state,
    const char *text, const char *advice)
{
	(void)buffer_printf(b, "  %-7s  %-13s  ", state, check);
	finding_wrap(b, text, FINDING_COLUMN, FINDING_COLUMN);
	if (advice == NULL || advice[0] == '\0')
		return;
	(void)buffer_printf(b, "%*s" FINDING_ARROW, FINDING_COLUMN, "");
	finding_wrap(b, advice, FINDING_COLUMN + strlen(FINDING_ARROW),
	    FINDING_COLUMN + strlen(FINDING_ARROW));
}

static void
finding_show_number(struct buffer *b, uint64_t n, const char *what,
    const char *after)
{
	(void)buffer_printf(b, "%" PRIu64 " %s%s%s", n, what,
	    n == 1 ? "" : "s", after);
}

void
finding_show_sums(struct buffer *b, uint64_t n_findings, uint64_t n_errors,
    uint64_t n_warnings)
{
	(void)buffer_append_text(b, "\n");
	finding_show_number(b, n_findings, "finding", ": ");
	finding_show_number(b, n_errors, "error", ", ");
	finding_show_number(b, n_warnings, "warning", "\n");
}

/*
 * The value of an argument, by its row: whether it is valid, its number, and
 * why it is refused, in the words of the row or of its kind.
 */
#include "ipc/protocol.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ddblock.h"

int
protocol_refuse(char reason[PROTOCOL_REASON_MAX], const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(reason, PROTOCOL_REASON_MAX, format, arguments);
	va_end(arguments);
	return DDBLOCK_E_BAD_REQUEST;
}

static int
value_key(const char *what, const struct codec_text *text, uint64_t least,
    uint64_t most, char *reason)
{
	if (text->length < least || text->length > most)
		return protocol_refuse(reason, "the %s has %zu bytes; it "
		    "needs %" PRIu64 " to %" PRIu64, what, text->length, least,
		    most);
	if (!codec_is_text(text->bytes, text->length))
		return protocol_refuse(reason,
		    "the %s is not UTF-8 text without NUL", what);
	return 0;
}

int
protocol_key(const struct codec_text *text, char reason[PROTOCOL_REASON_MAX])
{
	return value_key("key", text, 1, PROTOCOL_KEY_MAX, reason);
}

static int
value_time(const struct protocol_argument_row *row,
    const struct codec_text *text, uint64_t *ret, char *reason)
{
	uint64_t ms;

	if (row->choices != NULL && codec_is(text, row->choices)) {
		*ret = PROTOCOL_FOREVER;
		return 0;
	}
	if (!codec_parse_duration(text->bytes, text->length, &ms))
		return protocol_refuse(reason, "%s is a time up to ten years, "
		    "such as 500ms, 30s, 5m or 7d", row->word);
	if (ms < row->least && row->least == 1)
		return protocol_refuse(reason, "%s is more than 0s", row->word);
	if (ms < row->least)
		return protocol_refuse(reason, "%s is at least %" PRIu64 "ms",
		    row->word, row->least);
	*ret = ms;
	return 0;
}

/* The index of @word among the choices; negative: it is none of them. */
static int
value_place(const char *choices, const char *word, size_t length)
{
	for (int i = 0;; i++) {
		size_t n = strcspn(choices, "|");

		if (n == length && memcmp(choices, word, n) == 0)
			return i;
		if (choices[n] == '\0')
			return -1;
		choices += n + 1;
	}
}

static int
value_choice(const struct protocol_argument_row *row,
    const struct codec_text *text, uint64_t *ret, char *reason)
{
	int place = value_place(row->choices, text->bytes, text->length);
	size_t first = strcspn(row->choices, "|");

	if (place >= (int)row->least) {
		*ret = (uint64_t)place;
		return 0;
	}
	if (row->refusal != NULL)
		return protocol_refuse(reason, "%s", row->refusal);
	return protocol_refuse(reason, "%s is %.*s or %s", row->word,
	    (int)first, row->choices, row->choices + first + 1);
}

/* One word or several, with commas between. */
static int
value_words(const struct protocol_argument_row *row,
    const struct codec_text *text, uint64_t *ret, char *reason)
{
	const char *word = text->bytes;
	uint64_t found = 0;

	while (word != NULL) {
		size_t left = text->length - (size_t)(word - text->bytes);
		const char *comma = memchr(word, ',', left);
		size_t length = comma == NULL ? left : (size_t)(comma - word);
		int place = value_place(row->choices, word, length);

		if (place < 0)
			return protocol_refuse(reason, "there is no %s "
			    "\"%.*s\"; %s (several: with commas between)",
			    row->word, length > 60 ? 60 : (int)length, word,
			    row->refusal);
		found |= UINT64_C(1) << place;
		word = comma == NULL ? NULL : comma + 1;
	}
	*ret = found;
	return 0;
}

/* Values of kinds whose row has its own refusal. */
static bool
value_is_good(const struct protocol_argument_row *row,
    const struct codec_text *text, uint64_t *ret)
{
	uint64_t n;

	switch (row->kind) {
	case KIND_NUMBER:
		if (!codec_parse_number(text->bytes, text->length, &n) ||
		    n < row->least || n > row->most)
			return false;
		*ret = n;
		return true;
	case KIND_TEXT:
		return text->length >= row->least &&
		    codec_is_text(text->bytes, text->length);
	case KIND_LINE:
		return text->length >= row->least &&
		    (row->most == 0 || text->length <= row->most) &&
		    codec_is_line(text->bytes, text->length);
	default:
		return text->length >= row->least;
	}
}

int
protocol_value(enum protocol_argument argument, const struct codec_text *text,
    uint64_t *ret, char reason[PROTOCOL_REASON_MAX])
{
	const struct protocol_argument_row *row = protocol_argument(argument);
	bool yes;

	switch (row->kind) {
	case KIND_KEY:
		return value_key(row->refusal, text, row->least, row->most,
		    reason);
	case KIND_TIME:
		return value_time(row, text, ret, reason);
	case KIND_CHOICE:
		return value_choice(row, text, ret, reason);
	case KIND_WORDS:
		return value_words(row, text, ret, reason);
	case KIND_BOOLEAN:
		if (!codec_parse_boolean(text->bytes, text->length, &yes))
			return protocol_refuse(reason, "%s is yes or no",
			    row->word);
		*ret = yes;
		return 0;
	default:
		return value_is_good(row, text, ret) ? 0 :
		    protocol_refuse(reason, "%s", row->refusal);
	}
}

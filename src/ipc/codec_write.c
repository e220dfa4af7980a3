/*
 * The writing half of the line codec. For any input it writes exactly one line
 * that the reading half understands.
 */
#include "ipc/codec.h"

#include <string.h>

#include "common/utf8.h"

#define CODEC_DIGITS_MAX 20

void
codec_begin(struct buffer *b, const char *tag, const char *word)
{
	if (tag != NULL && tag[0] != '\0') {
		(void)buffer_append(b, "#", 1);
		(void)buffer_append_text(b, tag);
		(void)buffer_append(b, " ", 1);
	}
	(void)buffer_append_text(b, word);
}

/* How many bytes of the value, from @i, need no encoding; 0: none. */
static size_t
codec_plain(const char *bytes, size_t i, size_t length)
{
	char c = bytes[i];

	if (c == ' ' || c == '%' || c == '=' || (c == ':' && i == 0))
		return 0;
	if (c > ' ' && c < 0x7f)
		return 1; /* nearly always */
	return utf8_shown(bytes + i, length - i);
}

static void
codec_encode(struct buffer *b, const char *bytes, size_t length)
{
	static const char digits[] = "0123456789ABCDEF";
	size_t start = 0;
	size_t i = 0;

	while (i < length) {
		size_t n = codec_plain(bytes, i, length);
		unsigned char c = (unsigned char)bytes[i];
		char escape[3] = { '%', digits[c >> 4], digits[c & 15] };

		if (n > 0) {
			i += n;
			continue;
		}
		(void)buffer_append(b, bytes + start, i - start);
		(void)buffer_append(b, escape, sizeof(escape));
		start = ++i;
	}
	(void)buffer_append(b, bytes + start, length - start);
}

static void
codec_name(struct buffer *b, const char *name)
{
	(void)buffer_append(b, " ", 1);
	if (name == NULL)
		return;
	codec_encode(b, name, strlen(name));
	(void)buffer_append(b, "=", 1);
}

void
codec_value(struct buffer *b, const char *name, const char *bytes,
    size_t length)
{
	codec_name(b, name);
	codec_encode(b, bytes, length);
}

void
codec_text_value(struct buffer *b, const char *name, const char *text)
{
	codec_value(b, name, text, strlen(text));
}

/* The digits of @n at the end of @digits; returns where they begin. */
static char *
codec_digits(char digits[CODEC_DIGITS_MAX], uint64_t n)
{
	char *at = digits + CODEC_DIGITS_MAX;

	do {
		*--at = (char)('0' + n % 10);
		n /= 10;
	} while (n > 0);
	return at;
}

static void
codec_append_number(struct buffer *b, uint64_t n)
{
	char digits[CODEC_DIGITS_MAX];
	char *at = codec_digits(digits, n);

	(void)buffer_append(b, at, (size_t)(digits + CODEC_DIGITS_MAX - at));
}

void
codec_number(struct buffer *b, const char *name, uint64_t n)
{
	codec_name(b, name);
	codec_append_number(b, n);
}

void
codec_boolean(struct buffer *b, const char *name, bool yes)
{
	codec_text_value(b, name, yes ? "yes" : "no");
}

void
codec_duration(struct buffer *b, const char *name, uint64_t ms)
{
	codec_name(b, name);
	if (ms > 0 && ms < 1000) {
		codec_append_number(b, ms);
		(void)buffer_append(b, "ms", 2);
		return;
	}
	/* Rounded down: a client has at least the time that it is told. */
	codec_append_number(b, ms / 1000);
	if (ms % 1000 >= 100) {
		char tenth[2] = { '.', (char)('0' + ms % 1000 / 100) };

		(void)buffer_append(b, tenth, sizeof(tenth));
	}
	(void)buffer_append(b, "s", 1);
}

/*
 * The text is for people, not encoded: characters that would break the line are
 * dropped.
 */
static void
codec_append_text(struct buffer *b, const char *text)
{
	size_t length = strlen(text);
	size_t i = 0;

	while (i < length) {
		size_t n = utf8_shown(text + i, length - i);

		if (n == 0) {
			(void)buffer_append(b, "?", 1);
			i++;
			continue;
		}
		(void)buffer_append(b, text + i, n);
		i += n;
	}
}

void
codec_end(struct buffer *b, const char *text)
{
	if (text != NULL && text[0] != '\0') {
		(void)buffer_append(b, " :", 2);
		codec_append_text(b, text);
	}
	(void)buffer_append(b, "\n", 1);
}

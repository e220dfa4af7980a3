/*
 * The reading half of the line codec: a line is parsed in place, because a
 * daemon that serves a hundred thousand small requests a second has no time to
 * copy them. Decoding only ever makes text shorter, so there is always room for
 * it and for the NUL after it.
 */
#include "ipc/codec.h"

#include <string.h>

#include "common/error.h"
#include "common/utf8.h"

/* The rest of a line while it is read. */
struct codec_reader {
	char *at;
	char *end;
	const char *reason;
};

static bool
codec_fail(struct codec_reader *r, const char *reason)
{
	r->reason = reason;
	return false;
}

static bool
codec_is_visible(char c)
{
	return c > 0x20 && c < 0x7f;
}

static int
codec_hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Decode @bytes in place; there is room for a NUL at bytes[length]. */
static bool
codec_decode(struct codec_reader *r, char *bytes, size_t length,
    struct codec_text *ret)
{
	char *escape = memchr(bytes, '%', length);
	char *end = bytes + length;
	char *from = escape;
	char *to = escape;

	while (from != NULL && from < end) {
		int high, low;

		if (*from != '%') {
			*to++ = *from++;
			continue;
		}
		high = end - from >= 3 ? codec_hex(from[1]) : -1;
		low = end - from >= 3 ? codec_hex(from[2]) : -1;
		if (high < 0 || low < 0)
			return codec_fail(r, "% is not followed by two "
			    "hexadecimal digits");
		*to++ = (char)(high * 16 + low);
		from += 3;
	}
	if (to == NULL)
		to = end;
	*to = '\0';
	*ret = (struct codec_text){ bytes, (size_t)(to - bytes) };
	return true;
}

/* The next word of the line, up to a space or the end. It may be empty. */
static struct codec_text
codec_token(struct codec_reader *r)
{
	const size_t left = r->at < r->end ? (size_t)(r->end - r->at) : 0;
	struct codec_text token = { r->at, 0 };
	char *space = memchr(r->at, ' ', left);

	if (space == NULL)
		space = r->end;
	token.length = (size_t)(space - r->at);
	r->at = space;
	while (r->at < r->end && *r->at == ' ')
		r->at++;
	return token;
}

static bool
codec_parse_tag(struct codec_reader *r, struct codec_text *ret)
{
	struct codec_text token;

	if (r->at == r->end || *r->at != '#')
		return true;
	r->at++;
	token = codec_token(r);
	if (token.length == 0)
		return codec_fail(r, "the tag is empty");
	if (token.length > CODEC_TAG_MAX)
		return codec_fail(r, "the tag is longer than 32 characters");
	for (size_t i = 0; i < token.length; i++) {
		if (!codec_is_visible(token.bytes[i]))
			return codec_fail(r,
			    "the tag has characters other than visible ASCII");
	}
	if (token.bytes + token.length == r->end)
		return codec_fail(r, "nothing follows the tag");
	token.bytes[token.length] = '\0';
	*ret = token;
	return true;
}

/* The kind of line that begins with this word; cuts the word to the name. */
static bool
codec_parse_word(struct codec_reader *r, bool from_client,
    struct codec_line *l)
{
	struct codec_text word = codec_token(r);

	l->kind = CODEC_REQUEST;
	if (word.length == 0)
		return codec_fail(r, "the line is empty");
	if (!from_client) {
		if (word.bytes[0] == '!') {
			l->kind = CODEC_EVENT;
			word.bytes++;
			word.length--;
		} else if (word.length == 1 && word.bytes[0] == '+') {
			l->kind = CODEC_ROW;
			word.length = 0;
		} else if (word.length == 2 &&
		    memcmp(word.bytes, "OK", 2) == 0) {
			l->kind = CODEC_OK;
		} else if (word.length == 3 &&
		    memcmp(word.bytes, "ERR", 3) == 0) {
			l->kind = CODEC_ERR;
			word = codec_token(r);
		} else {
			return codec_fail(r, "neither reply, row nor event");
		}
		if (word.length == 0 && l->kind != CODEC_ROW)
			return codec_fail(r, "a word is missing");
		if (l->kind == CODEC_EVENT && l->tag.length > 0)
			return codec_fail(r, "an event has no tag");
	}
	word.bytes[word.length] = '\0';
	l->word = word;
	return true;
}

static bool
codec_parse_argument(struct codec_reader *r, struct codec_line *l)
{
	struct codec_text token = codec_token(r);
	struct codec_argument *a = &l->arguments[l->n_arguments];
	char *equals = memchr(token.bytes, '=', token.length);
	size_t rest;

	if (l->n_arguments == CODEC_ARGUMENTS_MAX)
		return codec_fail(r, "more than 64 arguments");
	a->name = (struct codec_text){ token.bytes, 0 };
	if (equals != NULL) {
		if (equals == token.bytes)
			return codec_fail(r, "an argument has no name before "
			    "its '='");
		if (!codec_decode(r, token.bytes,
		    (size_t)(equals - token.bytes), &a->name))
			return false;
		rest = token.length - (size_t)(equals + 1 - token.bytes);
		token = (struct codec_text){ equals + 1, rest };
		if (memchr(token.bytes, '=', token.length) != NULL)
			return codec_fail(r, "'=' within a value is written "
			    "%3D");
	}
	if (token.length > 0 && token.bytes[0] == ':')
		return codec_fail(r, "':' at the start of a value is written "
		    "%3A");
	if (!codec_decode(r, token.bytes, token.length, &a->value))
		return false;
	l->n_arguments++;
	return true;
}

static bool
codec_parse_arguments(struct codec_reader *r, bool from_client,
    struct codec_line *l)
{
	while (r->at < r->end) {
		if (*r->at == ':' && !from_client) {
			size_t length = (size_t)(r->end - r->at) - 1;

			if (!codec_is_text(r->at + 1, length))
				return codec_fail(r, "the text is not UTF-8");
			*r->end = '\0';
			l->text = (struct codec_text){ r->at + 1, length };
			return true;
		}
		if (!codec_parse_argument(r, l))
			return false;
	}
	return true;
}

static bool
codec_is_printable(struct codec_reader *r)
{
	for (const char *at = r->at; at < r->end; at++) {
		unsigned char c = (unsigned char)*at;

		if (c < 0x20 || c == 0x7f)
			return codec_fail(r, "a control character stands "
			    "bare; it is written as % and two digits");
	}
	return true;
}

int
codec_parse(char *line, size_t length, bool from_client,
    struct codec_line *ret, const char **ret_reason)
{
	struct codec_reader r = { .at = line };
	struct codec_text none;

	if (length > 0 && line[length - 1] == '\r')
		length--;
	r.end = line + length;
	line[length] = '\0';
	none = (struct codec_text){ r.end, 0 };
	ret->kind = CODEC_REQUEST;
	ret->tag = ret->word = ret->text = none;
	ret->n_arguments = 0;

	if (codec_parse_tag(&r, &ret->tag) && codec_is_printable(&r) &&
	    codec_parse_word(&r, from_client, ret) &&
	    codec_parse_arguments(&r, from_client, ret))
		return 0;
	ret->n_arguments = 0;
	*ret_reason = r.reason;
	return DDBLOCK_E_BAD_REQUEST;
}

bool
codec_is(const struct codec_text *text, const char *word)
{
	return text != NULL && text->length == strlen(word) &&
	    memcmp(text->bytes, word, text->length) == 0;
}

const struct codec_text *
codec_find(const struct codec_line *l, const char *name)
{
	for (size_t i = 0; i < l->n_arguments; i++) {
		const struct codec_argument *a = &l->arguments[i];

		if (a->name.length > 0 && codec_is(&a->name, name))
			return &a->value;
	}
	return NULL;
}

bool
codec_is_text(const char *bytes, size_t length)
{
	size_t i = 0;

	while (i < length) {
		size_t n = utf8_character(bytes + i, length - i);

		if (n == 0 || bytes[i] == '\0')
			return false;
		i += n;
	}
	return true;
}

bool
codec_is_line(const char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if ((unsigned char)bytes[i] < ' ' || bytes[i] == 0x7f)
			return false;
	}
	return codec_is_text(bytes, length);
}

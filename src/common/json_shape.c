/* Is it JSON? See json_shape.h. One pass, with a stack of brackets. */
#include "common/json_shape.h"

#include <stdint.h>
#include <string.h>

#include "common/utf8.h"

struct json_shape {
	const char *at;
	const char *end;
	size_t values;
	size_t depth;
	char open[JSON_SHAPE_DEPTH_MAX];	/* '{' or '[' */
};

static bool
shape_is(const struct json_shape *s, char c)
{
	return s->at < s->end && *s->at == c;
}

static void
shape_skip_space(struct json_shape *s)
{
	while (s->at < s->end && *s->at <= ' ' && (*s->at == ' ' ||
	    *s->at == '\n' || *s->at == '\r' || *s->at == '\t'))
		s->at++;
}

/* The next thing that is no space is this. */
static bool
shape_take(struct json_shape *s, char c)
{
	shape_skip_space(s);
	if (!shape_is(s, c))
		return false;
	s->at++;
	return true;
}

static bool
shape_is_hexadecimal(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') ||
	    (c >= 'A' && c <= 'F');
}

/* Behind a backslash. */
static bool
shape_escape(struct json_shape *s)
{
	if (s->at == s->end || *s->at == '\0' ||
	    strchr("\"\\/bfnrtu", *s->at) == NULL)
		return false;
	if (*s->at++ != 'u')
		return true;
	for (int i = 0; i < 4; i++) {
		if (s->at == s->end || !shape_is_hexadecimal(*s->at++))
			return false;
	}
	return true;
}

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Most of a string, so by words. What borrows from the byte before it is not
 * plain, so the word is not. */
static bool
shape_is_plain_word(uint64_t word)
{
	uint64_t controls = word - EACH(' ');
	uint64_t quotes = (word ^ EACH('"')) - EACH(1);
	uint64_t backslashes = (word ^ EACH('\\')) - EACH(1);

	return ((word | controls | quotes | backslashes) & EACH(0x80)) == 0;
}

static bool
shape_is_plain(unsigned char c)
{
	return c >= ' ' && c < 0x80 && c != '"' && c != '\\';
}

size_t
json_shape_plain(const char *bytes, size_t length)
{
	uint64_t word;
	size_t n = 0;

	for (; length - n >= sizeof(word); n += sizeof(word)) {
		memcpy(&word, bytes + n, sizeof(word));
		if (!shape_is_plain_word(word))
			break;
	}
	while (n < length && shape_is_plain((unsigned char)bytes[n]))
		n++;
	return n;
}

/* From its first quote on. */
static bool
shape_string(struct json_shape *s)
{
	size_t n;

	if (!shape_take(s, '"'))
		return false;
	for (;;) {
		s->at += json_shape_plain(s->at, (size_t)(s->end - s->at));
		if (s->at == s->end)
			return false;
		if (*s->at == '"') {
			s->at++;
			return true;
		}
		if (*s->at == '\\') {
			s->at++;
			if (!shape_escape(s))
				return false;
			continue;
		}
		/* Control characters below a space are no part of it. */
		n = (unsigned char)*s->at < ' ' ? 0 :
		    utf8_character(s->at, (size_t)(s->end - s->at));
		if (n == 0)
			return false;
		s->at += n;
	}
}

static bool
shape_digits(struct json_shape *s)
{
	const char *from = s->at;

	while (s->at < s->end && *s->at >= '0' && *s->at <= '9')
		s->at++;
	return s->at > from;
}

static bool
shape_number(struct json_shape *s)
{
	if (shape_is(s, '-'))
		s->at++;
	if (shape_is(s, '0'))
		s->at++;
	else if (!shape_digits(s))
		return false;
	if (shape_is(s, '.')) {
		s->at++;
		if (!shape_digits(s))
			return false;
	}
	if (!shape_is(s, 'e') && !shape_is(s, 'E'))
		return true;
	s->at++;
	if (shape_is(s, '+') || shape_is(s, '-'))
		s->at++;
	return shape_digits(s);
}

static bool
shape_word(struct json_shape *s, const char *word)
{
	const size_t length = strlen(word);

	if ((size_t)(s->end - s->at) < length ||
	    memcmp(s->at, word, length) != 0)
		return false;
	s->at += length;
	return true;
}

static bool
shape_scalar(struct json_shape *s)
{
	if (shape_is(s, '"'))
		return shape_string(s);
	if (shape_is(s, 't'))
		return shape_word(s, "true");
	if (shape_is(s, 'f'))
		return shape_word(s, "false");
	if (shape_is(s, 'n'))
		return shape_word(s, "null");
	return shape_number(s);
}

/* A value, or the beginning of one: then its first inner one comes next, and
 * *@ret_inner is true. */
static bool
shape_value(struct json_shape *s, bool *ret_inner)
{
	char bracket;

	*ret_inner = false;
	shape_skip_space(s);
	if (++s->values > JSON_SHAPE_VALUES_MAX || s->at == s->end)
		return false;
	bracket = *s->at;
	if (bracket != '{' && bracket != '[')
		return shape_scalar(s);
	if (s->depth == JSON_SHAPE_DEPTH_MAX)
		return false;
	s->at++;
	s->open[s->depth++] = bracket;
	*ret_inner = true;
	return true;
}

/* Is the innermost bracket closed here? */
static bool
shape_close(struct json_shape *s)
{
	if (!shape_take(s, s->open[s->depth - 1] == '{' ? '}' : ']'))
		return false;
	s->depth--;
	return true;
}

/* The name before a member's value. */
static bool
shape_name(struct json_shape *s)
{
	return s->open[s->depth - 1] != '{' ||
	    (shape_string(s) && shape_take(s, ':'));
}

bool
json_shape_is_object(const char *bytes, size_t length)
{
	struct json_shape s = { .at = bytes, .end = bytes + length };
	bool inner;

	shape_skip_space(&s);
	if (!shape_is(&s, '{') || !shape_value(&s, &inner))
		return false;
	while (s.depth > 0) {
		/* Behind a bracket it may close at once; else there is a comma
		 * before the next. */
		if (shape_close(&s)) {
			inner = false;
			continue;
		}
		if (!inner && !shape_take(&s, ','))
			return false;
		if (!shape_name(&s) || !shape_value(&s, &inner))
			return false;
	}
	shape_skip_space(&s);
	return s.at == s.end;
}

/* Is it JSON? See json_shape.h. One pass, with a stack of brackets. */
#include "common/json_shape.h"

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
	while (shape_is(s, ' ') || shape_is(s, '\n') || shape_is(s, '\r') ||
	    shape_is(s, '\t'))
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

/* Most of a string: a byte each, which stands for itself. */
static const char *
shape_skip_plain(const char *at, const char *end)
{
	while (at < end && *at >= ' ' && *at != '"' && *at != '\\' &&
	    (unsigned char)*at < 0x80)
		at++;
	return at;
}

/* From its first quote on. */
static bool
shape_string(struct json_shape *s)
{
	size_t n;

	if (!shape_take(s, '"'))
		return false;
	for (;;) {
		s->at = shape_skip_plain(s->at, s->end);
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

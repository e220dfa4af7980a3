/*
 * Values in DynamoDB's JSON. What is left to the service is whether elements
 * of a set come twice.
 */
#include "core/typed.h"

#include <stdint.h>
#include <string.h>

#include "common/utf8.h"

#define TYPED_DIGITS_MAX 38
#define TYPED_DIGITS_SEEN_MAX 400	/* with zeros that do not count */
#define TYPED_EXPONENT_MIN (-130)
#define TYPED_EXPONENT_MAX 125

struct typed {
	const char *at;
	const char *end;
	const char *reason;
	unsigned depth;
};

static bool typed_value(struct typed *t);

static bool
typed_fail(struct typed *t, const char *reason)
{
	if (t->reason == NULL)
		t->reason = reason;
	return false;
}

static bool
typed_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The next character that is not white space, or NUL at the end. */
static char
typed_peek(struct typed *t)
{
	while (t->at < t->end && memchr(" \t\r\n", *t->at, 4) != NULL)
		t->at++;
	return t->at < t->end ? *t->at : '\0';
}

static bool
typed_take(struct typed *t, char c)
{
	if (typed_peek(t) != c)
		return typed_fail(t, "it is not well-formed JSON");
	t->at++;
	return true;
}

/* Four hexadecimal digits. */
static bool
typed_unit(struct typed *t, unsigned *ret)
{
	static const char digits[] = "0123456789abcdefABCDEF";
	unsigned unit = 0;

	if (t->end - t->at < 4)
		return false;
	for (int i = 0; i < 4; i++) {
		const char *digit = memchr(digits, *t->at++, 22);

		if (digit == NULL)
			return false;
		unit = unit * 16 + (unsigned)(digit - digits) -
		    (digit - digits > 15 ? 6 : 0);
	}
	*ret = unit;
	return true;
}

/* Behind a backslash. A character beyond the first plane is two units. */
static bool
typed_escape(struct typed *t)
{
	unsigned high, low;

	if (t->at == t->end)
		return false;
	if (*t->at != 'u')
		return memchr("\"\\/bfnrt", *t->at++, 8) != NULL;
	t->at++;
	if (!typed_unit(t, &high) || high == 0 ||
	    (high >= 0xdc00 && high < 0xe000))
		return false;
	if (high < 0xd800 || high >= 0xdc00)
		return true;
	if (t->end - t->at < 2 || t->at[0] != '\\' || t->at[1] != 'u')
		return false;
	t->at += 2;
	return typed_unit(t, &low) && low >= 0xdc00 && low < 0xe000;
}

/* A string; @ret is what stands between its quotes. */
static bool
typed_string(struct typed *t, const char **ret, size_t *ret_length)
{
	const char *start;

	if (!typed_take(t, '"'))
		return false;
	start = t->at;
	while (t->at < t->end && *t->at != '"') {
		size_t n = utf8_character(t->at, (size_t)(t->end - t->at));

		if (n == 0 || (unsigned char)*t->at < 0x20)
			return typed_fail(t, "it is not well-formed JSON");
		t->at += n;
		if (t->at[-1] == '\\' && !typed_escape(t))
			return typed_fail(t, "it is not well-formed JSON");
	}
	*ret = start;
	*ret_length = (size_t)(t->at - start);
	return typed_take(t, '"');
}

static bool
typed_word(struct typed *t, const char *word)
{
	size_t n = strlen(word);

	(void)typed_peek(t);
	if ((size_t)(t->end - t->at) < n || memcmp(t->at, word, n) != 0)
		return false;
	t->at += n;
	return true;
}

/* ---- scalars ---------------------------------------------------------- */

/* Digits with at most one point among them: how many of them count, and by how
 * many places the first that does stands before the point. */
static bool
typed_digits(const char **at, const char *end, int *ret_n, int *ret_place)
{
	const char *p = *at;
	int n = 0, zeros = 0, place = 0, seen = 0;
	bool point = false;

	for (; p < end && (typed_is_digit(*p) || (*p == '.' && !point)); p++) {
		if (*p == '.') {
			point = true;
			continue;
		}
		seen++;
		if (n == 0 && *p == '0') {
			place -= point ? 1 : 0;
			continue;
		}
		place += point ? 0 : 1;
		zeros = *p == '0' ? zeros + 1 : 0;
		n++;
		if (n > TYPED_DIGITS_SEEN_MAX)
			return false;
	}
	*at = p;
	*ret_n = n - zeros;
	*ret_place = place;
	return seen > 0;
}

static bool
typed_is_number(const char *at, const char *end)
{
	int exponent = 0, sign = 1;
	int n, place;

	if (at < end && (*at == '-' || *at == '+'))
		at++;
	if (!typed_digits(&at, end, &n, &place))
		return false;
	if (at < end && (*at == 'e' || *at == 'E')) {
		at++;
		if (at < end && (*at == '-' || *at == '+'))
			sign = *at++ == '-' ? -1 : 1;
		if (at == end || end - at > 4)
			return false;
		while (at < end && typed_is_digit(*at))
			exponent = exponent * 10 + (*at++ - '0');
	}
	place += sign * exponent - 1;
	return at == end && n <= TYPED_DIGITS_MAX && (n == 0 ||
	    (place >= TYPED_EXPONENT_MIN && place <= TYPED_EXPONENT_MAX));
}

static bool
typed_number(struct typed *t)
{
	const char *text;
	size_t length;

	return typed_string(t, &text, &length) &&
	    (typed_is_number(text, text + length) || typed_fail(t,
	    "a number (N) is a string of at most 38 digits, such as \"4.2\""));
}

static bool
typed_is_base64(const char *text, size_t length)
{
	size_t n = length;

	if (length % 4 != 0)
		return false;
	while (n > 0 && length - n < 2 && text[n - 1] == '=')
		n--;
	for (size_t i = 0; i < n; i++) {
		char c = text[i];

		if (!typed_is_digit(c) && !(c >= 'a' && c <= 'z') &&
		    !(c >= 'A' && c <= 'Z') && c != '+' && c != '/')
			return false;
	}
	return true;
}

static bool
typed_bytes(struct typed *t)
{
	const char *text;
	size_t length;

	return typed_string(t, &text, &length) &&
	    (typed_is_base64(text, length) ||
	    typed_fail(t, "bytes (B) are in base64"));
}

static bool
typed_text(struct typed *t)
{
	const char *text;
	size_t length;

	return typed_string(t, &text, &length);
}

static bool
typed_truth(struct typed *t)
{
	return typed_word(t, "true") || typed_word(t, "false") ||
	    typed_fail(t, "BOOL is true or false");
}

static bool
typed_null(struct typed *t)
{
	return typed_word(t, "true") || typed_fail(t, "NULL is true");
}

/* ---- what has elements ------------------------------------------------ */

static bool
typed_elements(struct typed *t, bool (*element)(struct typed *), bool empty)
{
	if (!typed_take(t, '['))
		return false;
	if (typed_peek(t) == ']')
		return empty ? typed_take(t, ']') :
		    typed_fail(t, "a set has at least one element");
	do {
		if (!element(t))
			return false;
	} while (typed_peek(t) == ',' && typed_take(t, ','));
	return typed_take(t, ']');
}

static bool
typed_texts(struct typed *t)
{
	return typed_elements(t, typed_text, false);
}

static bool
typed_numbers(struct typed *t)
{
	return typed_elements(t, typed_number, false);
}

static bool
typed_many_bytes(struct typed *t)
{
	return typed_elements(t, typed_bytes, false);
}

static bool
typed_list(struct typed *t)
{
	return typed_elements(t, typed_value, true);
}

static bool
typed_map(struct typed *t)
{
	if (!typed_take(t, '{'))
		return false;
	if (typed_peek(t) == '}')
		return typed_take(t, '}');
	do {
		if (!typed_text(t) || !typed_take(t, ':') || !typed_value(t))
			return false;
	} while (typed_peek(t) == ',' && typed_take(t, ','));
	return typed_take(t, '}');
}

static const struct {
	const char *name;
	bool (*check)(struct typed *);
} typed_types[] = {
	{ "S", typed_text },
	{ "N", typed_number },
	{ "B", typed_bytes },
	{ "BOOL", typed_truth },
	{ "NULL", typed_null },
	{ "SS", typed_texts },
	{ "NS", typed_numbers },
	{ "BS", typed_many_bytes },
	{ "L", typed_list },
	{ "M", typed_map },
};

static bool
typed_of_type(struct typed *t, const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(typed_types) / sizeof(typed_types[0]);
	    i++) {
		if (strlen(typed_types[i].name) == length &&
		    memcmp(typed_types[i].name, name, length) == 0)
			return typed_types[i].check(t);
	}
	return typed_fail(t, "the type is one of S, N, B, BOOL, NULL, SS, NS, "
	    "BS, L and M");
}

static bool
typed_value(struct typed *t)
{
	const char *name;
	size_t length;
	bool good;

	if (t->depth == TYPED_DEPTH_MAX)
		return typed_fail(t, "values nest at most 31 deep");
	t->depth++;
	good = typed_take(t, '{') && typed_string(t, &name, &length) &&
	    typed_take(t, ':') && typed_of_type(t, name, length) &&
	    typed_take(t, '}');
	t->depth--;
	return good;
}

bool
typed_check(const char *text, size_t length, const char **ret_reason)
{
	struct typed t = { .at = text, .end = text + length };

	if (typed_value(&t) && typed_peek(&t) != '\0')
		(void)typed_fail(&t, "it is more than one value");
	if (t.reason != NULL)
		*ret_reason = t.reason;
	return t.reason == NULL;
}

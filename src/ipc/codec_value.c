/*
 * Values with a form of their own: durations, numbers, booleans.
 */
#include "ipc/codec.h"

#include <string.h>

#define CODEC_DURATION_MAX_MS (UINT64_C(10) * 366 * 86400 * 1000)
#define CODEC_FRACTION_DIGITS_MAX 9

bool
codec_parse_number(const char *text, size_t length, uint64_t *ret)
{
	uint64_t n = 0;

	if (length == 0)
		return false;
	for (size_t i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		if (__builtin_mul_overflow(n, UINT64_C(10), &n) ||
		    __builtin_add_overflow(n, (uint64_t)(text[i] - '0'), &n))
			return false;
	}
	*ret = n;
	return true;
}

bool
codec_parse_boolean(const char *text, size_t length, bool *ret)
{
	if (length == 3 && memcmp(text, "yes", 3) == 0)
		*ret = true;
	else if (length == 2 && memcmp(text, "no", 2) == 0)
		*ret = false;
	else
		return false;
	return true;
}

/* Cut the unit off the end of the text. 0: the unit is unknown. */
static uint64_t
codec_cut_unit(const char *text, size_t *length)
{
	static const struct {
		const char *word;
		uint64_t ms;
	} units[] = {
		{ "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 },
		{ "d", 86400000 },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t n = strlen(units[i].word);

		if (*length > n &&
		    memcmp(text + *length - n, units[i].word, n) == 0) {
			*length -= n;
			return units[i].ms;
		}
	}
	return 1000;
}

/* The part after the point, in ms, rounded up: a duration above zero must not
 * become zero. */
static bool
codec_parse_fraction(const char *digits, size_t length, uint64_t unit_ms,
    uint64_t *ret_ms)
{
	uint64_t numerator;
	uint64_t denominator = 1;

	if (length > CODEC_FRACTION_DIGITS_MAX ||
	    !codec_parse_number(digits, length, &numerator))
		return false;
	for (size_t i = 0; i < length; i++)
		denominator *= 10;
	*ret_ms = (numerator * unit_ms + denominator - 1) / denominator;
	return true;
}

bool
codec_parse_duration(const char *text, size_t length, uint64_t *ret_ms)
{
	uint64_t unit_ms = codec_cut_unit(text, &length);
	const char *point = memchr(text, '.', length);
	size_t whole = point == NULL ? length : (size_t)(point - text);
	uint64_t fraction_ms = 0;
	uint64_t ms;

	if (point != NULL && !codec_parse_fraction(point + 1,
	    length - whole - 1, unit_ms, &fraction_ms))
		return false;
	if (!codec_parse_number(text, whole, &ms) ||
	    __builtin_mul_overflow(ms, unit_ms, &ms) ||
	    __builtin_add_overflow(ms, fraction_ms, &ms) ||
	    ms > CODEC_DURATION_MAX_MS)
		return false;
	*ret_ms = ms;
	return true;
}

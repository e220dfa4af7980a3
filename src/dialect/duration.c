/*
 * Durations as Go writes and reads them.
 */
#include "dialect/duration.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DURATION_S UINT64_C(1000000000)
#define DURATION_MAX ((uint64_t)INT64_MAX)

static const struct {
	const char *name;
	uint64_t ns;
} duration_units[] = {	/* a longer unit comes before its own beginning */
	{ "ns", 1 },
	{ "us", 1000 },
	{ "\xc2\xb5s", 1000 },	/* the sign for micro, */
	{ "\xce\xbcs", 1000 },	/* and the Greek letter */
	{ "ms", 1000000 },
	{ "s", DURATION_S },
	{ "m", 60 * DURATION_S },
	{ "h", 3600 * DURATION_S },
};

/* @n of @unit, with a fraction if needed. */
static void
duration_decimal(uint64_t n, uint64_t unit, const char *name,
    char text[DURATION_SIZE])
{
	char fraction[DURATION_SIZE] = "";
	uint64_t rest = n % unit;
	size_t digits = 0;

	for (uint64_t u = unit; u > 1; u /= 10)
		digits++;
	if (rest > 0) {
		while (rest % 10 == 0) {
			rest /= 10;
			digits--;
		}
		(void)snprintf(fraction, sizeof(fraction), ".%0*" PRIu64,
		    (int)digits, rest);
	}
	(void)snprintf(text, DURATION_SIZE, "%" PRIu64 "%.10s%s", n / unit,
	    fraction, name);
}

void
duration_format(uint64_t ns, char text[DURATION_SIZE])
{
	char seconds[DURATION_SIZE];
	uint64_t minutes = ns / (60 * DURATION_S);

	if (ns == 0) {
		(void)snprintf(text, DURATION_SIZE, "0s");
	} else if (ns < 1000) {
		duration_decimal(ns, 1, "ns", text);
	} else if (ns < 1000000) {
		duration_decimal(ns, 1000, "\xc2\xb5s", text);
	} else if (ns < DURATION_S) {
		duration_decimal(ns, 1000000, "ms", text);
	} else {
		duration_decimal(ns % (60 * DURATION_S), DURATION_S, "s",
		    seconds);
		if (minutes == 0)
			(void)snprintf(text, DURATION_SIZE, "%s", seconds);
		else if (minutes < 60)
			(void)snprintf(text, DURATION_SIZE, "%dm%.16s",
			    (int)minutes, seconds);
		else
			(void)snprintf(text, DURATION_SIZE,
			    "%dh%dm%.16s", (int)(minutes / 60),
			    (int)(minutes % 60), seconds);
	}
}

/* The text being read. */
struct duration_reader {
	const char *at;
	const char *end;
};

static bool
duration_is_digit(const struct duration_reader *r)
{
	return r->at < r->end && *r->at >= '0' && *r->at <= '9';
}

/* Digits, or an empty text. False: too many. */
static bool
duration_whole(struct duration_reader *r, uint64_t *ret)
{
	uint64_t n = 0;

	while (duration_is_digit(r)) {
		if (n > DURATION_MAX / 10)
			return false;
		n = n * 10 + (uint64_t)(*r->at++ - '0');
		if (n > DURATION_MAX)
			return false;
	}
	*ret = n;
	return true;
}

/* Digits behind a point; digits beyond the precision are ignored. */
static double
duration_fraction(struct duration_reader *r)
{
	uint64_t n = 0;
	double scale = 1;

	while (duration_is_digit(r)) {
		uint64_t digit = (uint64_t)(*r->at++ - '0');

		if (n > (DURATION_MAX - digit) / 10) {
			while (duration_is_digit(r))
				r->at++;
			break;
		}
		n = n * 10 + digit;
		scale *= 10;
	}
	return (double)n / scale;
}

static bool
duration_unit(struct duration_reader *r, uint64_t *ret_ns)
{
	const char *start = r->at;
	size_t n;

	while (r->at < r->end && *r->at != '.' && !duration_is_digit(r))
		r->at++;
	n = (size_t)(r->at - start);
	for (size_t i = 0; i < sizeof(duration_units) /
	    sizeof(duration_units[0]); i++) {
		const char *name = duration_units[i].name;

		if (strlen(name) == n && memcmp(name, start, n) == 0) {
			*ret_ns = duration_units[i].ns;
			return true;
		}
	}
	return false;
}

/* A number and its unit. */
static bool
duration_part(struct duration_reader *r, uint64_t *total)
{
	const char *start = r->at;
	uint64_t whole, unit;
	double fraction = 0;
	bool any;

	if (!duration_whole(r, &whole))
		return false;
	any = r->at > start;
	if (r->at < r->end && *r->at == '.') {
		r->at++;
		any = any || duration_is_digit(r);
		fraction = duration_fraction(r);
	}
	if (!any || !duration_unit(r, &unit) || whole > DURATION_MAX / unit)
		return false;
	/* Rounded to a double first, as Go does, also where registers are
	 * wider: 0.999999999 s is so many ns, and not one less. */
	fraction *= (double)unit;
	whole = whole * unit + (uint64_t)fraction;
	if (whole > DURATION_MAX - *total)
		return false;
	*total += whole;
	return true;
}

bool
duration_parse(const char *text, size_t length, uint64_t *ret_ns)
{
	struct duration_reader r = { text, text + length };
	uint64_t total = 0;

	if (length > 0 && *r.at == '+')
		r.at++;
	if (r.at == r.end)
		return false;
	if (r.end - r.at == 1 && *r.at == '0') {
		*ret_ns = 0;	/* the only number without a unit */
		return true;
	}
	while (r.at < r.end) {
		if (!duration_part(&r, &total))
			return false;
	}
	*ret_ns = total;
	return true;
}

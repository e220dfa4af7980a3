/*
 * Moments as people write them. See when.h.
 */
#include <config.h>

#include "cli/base/when.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define WHEN_S_US UINT64_C(1000000)
#define WHEN_DAY_S 86400

/* The units of durations, with their shortest forms. */
static const struct {
	const char *name;
	uint64_t s;
} when_units[] = {
	{ "s", 1 }, { "sec", 1 }, { "second", 1 }, { "seconds", 1 },
	{ "m", 60 }, { "min", 60 }, { "minute", 60 }, { "minutes", 60 },
	{ "h", 3600 }, { "hr", 3600 }, { "hour", 3600 }, { "hours", 3600 },
	{ "d", WHEN_DAY_S }, { "day", WHEN_DAY_S }, { "days", WHEN_DAY_S },
	{ "w", 7 * WHEN_DAY_S }, { "week", 7 * WHEN_DAY_S },
	{ "weeks", 7 * WHEN_DAY_S },
};

static uint64_t
when_unit(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(when_units) / sizeof(when_units[0]);
	    i++) {
		if (strlen(when_units[i].name) == length &&
		    memcmp(when_units[i].name, name, length) == 0)
			return when_units[i].s;
	}
	return 0;
}

static size_t
when_digits(const char *text)
{
	return strspn(text, "0123456789");
}

/* "1h30min", "2 days"; @ret_end is at what follows. */
static bool
when_duration(const char *text, uint64_t *ret_s, const char **ret_end)
{
	uint64_t sum_s = 0;
	bool any = false;

	for (;;) {
		size_t digits, letters;
		uint64_t number = 0, unit_s;

		text += strspn(text, " ");
		digits = when_digits(text);
		if (digits == 0 || digits > 9)
			break;
		for (size_t i = 0; i < digits; i++)
			number = 10 * number + (uint64_t)(text[i] - '0');
		text += digits;
		text += strspn(text, " ");
		letters = strspn(text, "abcdefghijklmnopqrstuvwxyz");
		unit_s = when_unit(text, letters);
		if (unit_s == 0)
			return false;
		text += letters;
		sum_s += number * unit_s;
		any = true;
	}
	*ret_s = sum_s;
	*ret_end = text;
	return any;
}

static bool
when_ago(const char *text, uint64_t now_us, uint64_t *ret_us)
{
	uint64_t ago_s;
	const char *end;

	if (*text == '-')
		text++;
	if (!when_duration(text, &ago_s, &end) ||
	    (*end != '\0' && strcmp(end, "ago") != 0) ||
	    ago_s > now_us / WHEN_S_US)
		return false;
	*ret_us = now_us - ago_s * WHEN_S_US;
	return true;
}

/* "02:00" or "02:00:30", and nothing but spaces and perhaps "UTC" behind it. */
static bool
when_clock(const char *text, struct tm *tm, bool *ret_utc)
{
	int n = 0;

	tm->tm_sec = 0;
	if (when_digits(text) != 2 ||
	    sscanf(text, "%2d:%2d%n", &tm->tm_hour, &tm->tm_min, &n) != 2 ||
	    n != 5)
		return false;
	text += n;
	if (*text == ':') {
		if (when_digits(text + 1) != 2 ||
		    sscanf(text + 1, "%2d", &tm->tm_sec) != 1)
			return false;
		text += 3;
	}
	text += strspn(text, " ");
	*ret_utc = strcmp(text, "UTC") == 0 || strcmp(text, "Z") == 0;
	return (*text == '\0' || *ret_utc) && tm->tm_hour < 24 &&
	    tm->tm_min < 60 && tm->tm_sec < 61;
}

/* "2026-11-28"; @ret_rest is at what follows. */
static bool
when_date(const char *text, struct tm *tm, const char **ret_rest)
{
	int n = 0;

	if (when_digits(text) != 4 ||
	    sscanf(text, "%4d-%2d-%2d%n", &tm->tm_year, &tm->tm_mon,
	    &tm->tm_mday, &n) != 3 || n != 10 || tm->tm_mon < 1 ||
	    tm->tm_mon > 12 || tm->tm_mday < 1 || tm->tm_mday > 31)
		return false;
	tm->tm_year -= 1900;
	tm->tm_mon--;
	*ret_rest = text + n;
	return true;
}

static bool
when_of_parts(struct tm *tm, bool utc, uint64_t *ret_us)
{
	const struct tm asked = *tm;
	time_t when;

	tm->tm_isdst = -1;
	when = utc ? timegm(tm) : mktime(tm);
	/* There is no February 30. */
	if (when < 0 || tm->tm_mday != asked.tm_mday)
		return false;
	*ret_us = (uint64_t)when * WHEN_S_US;
	return true;
}

static bool
when_day(const char *text, struct tm *tm, uint64_t *ret_us)
{
	const char *rest;
	bool utc = false;

	if (strcmp(text, "today") == 0 || strcmp(text, "yesterday") == 0) {
		/* mktime() knows the day before the first of a month. */
		struct tm day = *tm;

		day.tm_mday -= *text == 'y';
		day.tm_hour = 12;
		if (mktime(&day) < 0)
			return false;
		*tm = day;
		tm->tm_hour = tm->tm_min = tm->tm_sec = 0;
		return when_of_parts(tm, false, ret_us);
	}
	if (!when_date(text, tm, &rest))
		return when_clock(text, tm, &utc) &&
		    when_of_parts(tm, utc, ret_us);
	tm->tm_hour = tm->tm_min = tm->tm_sec = 0;
	if (*rest != '\0' && ((*rest != ' ' && *rest != 'T') ||
	    !when_clock(rest + 1, tm, &utc)))
		return false;
	return when_of_parts(tm, utc, ret_us);
}

bool
when_parse(const char *text, uint64_t now_us, uint64_t *ret_us)
{
	const time_t now = (time_t)(now_us / WHEN_S_US);
	unsigned long long number;
	struct tm tm;
	int n = 0;

	if (strcmp(text, "now") == 0) {
		*ret_us = now_us;
		return true;
	}
	if (*text == '@') {
		if (when_digits(text + 1) == 0 || when_digits(text + 1) > 11 ||
		    sscanf(text + 1, "%llu%n", &number, &n) != 1 ||
		    text[1 + n] != '\0')
			return false;
		*ret_us = number * WHEN_S_US;
		return true;
	}
	if (when_ago(text, now_us, ret_us))
		return true;
	return localtime_r(&now, &tm) != NULL && when_day(text, &tm, ret_us);
}

/*
 * When credentials expire.
 *
 * Our own, because strptime() takes what is no date for one, and the way from
 * a date to seconds depends on the host's zone there.
 */
#include "identity/source_date.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct source_date {
	int64_t year;
	int64_t month;
	int64_t day;
	int64_t hour;
	int64_t minute;
	int64_t second;
	int64_t ms;
	int64_t offset_minutes;
};

static bool
source_date_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Exactly @n digits. */
static bool
source_date_number(const char **at, int n, int64_t *ret)
{
	int64_t value = 0;

	for (int i = 0; i < n; i++) {
		if (!source_date_digit((*at)[i]))
			return false;
		value = value * 10 + ((*at)[i] - '0');
	}
	*at += n;
	*ret = value;
	return true;
}

static bool
source_date_mark(const char **at, const char *marks)
{
	if (**at == '\0' || strchr(marks, **at) == NULL)
		return false;
	(*at)++;
	return true;
}

static bool
source_date_fraction(const char **at, int64_t *ret_ms)
{
	int64_t scale = 100;

	*ret_ms = 0;
	if (!source_date_mark(at, ".,"))
		return true;
	if (!source_date_digit(**at))
		return false;
	for (; source_date_digit(**at); (*at)++, scale /= 10)
		*ret_ms += scale * (**at - '0');
	return true;
}

static bool
source_date_zone(const char **at, int64_t *ret_minutes)
{
	int64_t hours, minutes;
	bool behind = **at == '-';

	*ret_minutes = 0;
	if (strcmp(*at, "Z") == 0 || strcmp(*at, "z") == 0 ||
	    strcmp(*at, "UTC") == 0) {
		*at += strlen(*at);
		return true;
	}
	if (!source_date_mark(at, "+-") ||
	    !source_date_number(at, 2, &hours))
		return false;
	(void)source_date_mark(at, ":");
	if (!source_date_number(at, 2, &minutes) || hours > 23 ||
	    minutes > 59)
		return false;
	*ret_minutes = (hours * 60 + minutes) * (behind ? -1 : 1);
	return true;
}

static int64_t
source_date_days_of_month(int64_t year, int64_t month)
{
	static const int64_t days[] = {
		31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31,
	};
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return days[month - 1] + (month == 2 && leap ? 1 : 0);
}

static bool
source_date_exists(const struct source_date *d)
{
	/* A second of 60 is a leap second, which time of 1970 repeats. */
	return d->year >= 1970 && d->month >= 1 && d->month <= 12 &&
	    d->day >= 1 &&
	    d->day <= source_date_days_of_month(d->year, d->month) &&
	    d->hour <= 23 && d->minute <= 59 && d->second <= 60;
}

/* Of the years, as in the Gregorian calendar; then of the months. */
static int64_t
source_date_days(const struct source_date *d)
{
	int64_t before = d->year - 1;
	int64_t days = before * 365 + before / 4 - before / 100 +
	    before / 400 - 719162;

	for (int64_t month = 1; month < d->month; month++)
		days += source_date_days_of_month(d->year, month);
	return days + d->day - 1;
}

bool
source_date_read(const char *text, uint64_t *ret_ms)
{
	struct source_date d;
	const char *at = text;
	int64_t seconds;

	if (!source_date_number(&at, 4, &d.year) ||
	    !source_date_mark(&at, "-") ||
	    !source_date_number(&at, 2, &d.month) ||
	    !source_date_mark(&at, "-") ||
	    !source_date_number(&at, 2, &d.day) ||
	    !source_date_mark(&at, "Tt ") ||
	    !source_date_number(&at, 2, &d.hour) ||
	    !source_date_mark(&at, ":") ||
	    !source_date_number(&at, 2, &d.minute) ||
	    !source_date_mark(&at, ":") ||
	    !source_date_number(&at, 2, &d.second) ||
	    !source_date_fraction(&at, &d.ms) ||
	    !source_date_zone(&at, &d.offset_minutes) ||
	    *at != '\0' || !source_date_exists(&d))
		return false;
	seconds = source_date_days(&d) * 86400 + d.hour * 3600 +
	    (d.minute - d.offset_minutes) * 60 + d.second;
	if (seconds < 0)
		return false;
	*ret_ms = (uint64_t)(seconds * 1000 + d.ms);
	return true;
}

/* Days become a date as the calendar counts them: in eras of 400 years from
 * the first of March of the year 0. */
void
source_date_write(uint64_t wall_ms, char text[SOURCE_DATE_SIZE])
{
	uint64_t seconds = wall_ms / 1000, in_day = seconds % 86400;
	uint64_t days = seconds / 86400 + 719468;
	uint64_t era = days / 146097, of_era = days % 146097;
	uint64_t year = (of_era - of_era / 1460 + of_era / 36524 -
	    of_era / 146096) / 365;
	uint64_t of_year = of_era - (365 * year + year / 4 - year / 100);
	uint64_t march = (5 * of_year + 2) / 153;
	uint64_t day = of_year - (153 * march + 2) / 5 + 1;
	uint64_t month = march < 10 ? march + 3 : march - 9;

	(void)snprintf(text, SOURCE_DATE_SIZE, "%04u-%02u-%02uT%02u:%02u:%02uZ",
	    (unsigned)(year + era * 400 + (month <= 2 ? 1 : 0)),
	    (unsigned)month, (unsigned)day, (unsigned)(in_day / 3600),
	    (unsigned)(in_day / 60 % 60), (unsigned)(in_day % 60));
}

/*
 * What a request consumed.
 *
 * The text is searched, because each dialect reads answers in its own way, and
 * none has a use for this. It cannot be mistaken: what an item has by that name
 * is an object, and in a text the quotes would be escaped. So a number after it
 * is the service's.
 */
#include <config.h>	/* the build's */

#include "store/consumed.h"

#include <stdbool.h>
#include <string.h>

#define CONSUMED_NAME "\"CapacityUnits\":"
#define CONSUMED_UNITS_MAX 1000000	/* of a request; more is no number */

static bool
consumed_is_digit(const char *at, const char *end)
{
	return at < end && *at >= '0' && *at <= '9';
}

/* A number as JSON has it, without an exponent. */
static uint64_t
consumed_number(const char *at, const char *end)
{
	uint64_t milliunits = 0, place = 100;

	while (at < end && *at == ' ')
		at++;
	for (; consumed_is_digit(at, end) &&
	    milliunits <= CONSUMED_UNITS_MAX; at++)
		milliunits = milliunits * 10 + (uint64_t)(*at - '0');
	if (milliunits > CONSUMED_UNITS_MAX)
		return 0;
	milliunits *= 1000;
	if (at < end && *at == '.')
		at++;
	for (; consumed_is_digit(at, end); at++, place /= 10)
		milliunits += (uint64_t)(*at - '0') * place;
	return milliunits;
}

uint64_t
consumed_milliunits(const char *body, size_t length)
{
	const size_t name_length = strlen(CONSUMED_NAME);
	const char *at = body, *end;
	uint64_t sum = 0;

	if (length == 0)	/* then there may be no body */
		return 0;
	end = body + length;
	while (at != NULL && at < end && (at = memmem(at, (size_t)(end - at),
	    CONSUMED_NAME, name_length)) != NULL) {
		at += name_length;
		sum += consumed_number(at, end);
	}
	return sum;
}

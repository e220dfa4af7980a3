/*
 * DynamoDB's numbers: exact decimals of up to 38 digits, from 1e-130 to just
 * below 1e126, of either sign, or zero.
 */
#ifndef DDBLOCKD_TESTS_DYNAMO_NUMBER_H
#define DDBLOCKD_TESTS_DYNAMO_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DYNAMO_DIGITS_MAX 38
#define DYNAMO_EXPONENT_MAX 125
#define DYNAMO_EXPONENT_MIN (-130)
#define DYNAMO_NUMBER_SIZE 192	/* the longest text, and a NUL */

/* digits[0].digits[1]digits[2]... times ten to the power of @exponent. */
struct dynamo_number {
	bool negative;
	int exponent;
	int n;			/* digits; the first and last are not 0 */
	uint8_t digits[DYNAMO_DIGITS_MAX];
};

enum dynamo_number_error {
	DYNAMO_NUMBER_OK = 0,
	DYNAMO_NUMBER_BAD,	/* not a number */
	DYNAMO_NUMBER_LONG,	/* more than 38 digits */
	DYNAMO_NUMBER_OVERFLOW,
	DYNAMO_NUMBER_UNDERFLOW,
};

enum dynamo_number_error dynamo_number_parse(const char *text, size_t length,
    struct dynamo_number *ret);

/* Is this text in the form of dynamo_number_format()? It may say no for yes. */
bool dynamo_number_is_plain(const char *text, size_t length);

/* Returns the length. */
size_t dynamo_number_format(const struct dynamo_number *,
    char text[DYNAMO_NUMBER_SIZE]);

/* Below, at or above 0, as for memcmp(). */
int dynamo_number_compare(const struct dynamo_number *,
    const struct dynamo_number *);

enum dynamo_number_error dynamo_number_add(const struct dynamo_number *,
    const struct dynamo_number *, struct dynamo_number *ret);

#endif

/*
 * DynamoDB's numbers, digit by digit, without rounding.
 */
#include <stdlib.h>
#include <string.h>

#include "dynamo_number.h"

/* From the highest digit of one number to the lowest of another, a carry. */
#define NUMBER_SPAN (DYNAMO_EXPONENT_MAX - DYNAMO_EXPONENT_MIN + \
    DYNAMO_DIGITS_MAX + 2)
#define NUMBER_EXPONENT_TEXT_MAX 100000	/* beyond, all are alike */

static bool
dynamo_number_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool
dynamo_number_is_plain(const char *text, size_t length)
{
	if (length == 0 || length > DYNAMO_DIGITS_MAX)
		return false;
	if (text[0] == '0')
		return length == 1;
	for (size_t i = 0; i < length; i++) {
		if (!dynamo_number_is_digit(text[i]))
			return false;
	}
	return true;
}

/* Take off zeros at both ends; the exponent is that of the first digit. */
static enum dynamo_number_error
dynamo_number_settle(const uint8_t *digits, int n, int exponent, bool negative,
    struct dynamo_number *ret)
{
	while (n > 0 && digits[0] == 0) {
		digits++;
		n--;
		exponent--;
	}
	while (n > 0 && digits[n - 1] == 0)
		n--;
	memset(ret, 0, sizeof(*ret));
	if (n == 0)
		return DYNAMO_NUMBER_OK;
	if (exponent > DYNAMO_EXPONENT_MAX)
		return DYNAMO_NUMBER_OVERFLOW;
	if (exponent < DYNAMO_EXPONENT_MIN)
		return DYNAMO_NUMBER_UNDERFLOW;
	if (n > DYNAMO_DIGITS_MAX)
		return DYNAMO_NUMBER_LONG;
	ret->negative = negative;
	ret->exponent = exponent;
	ret->n = n;
	memcpy(ret->digits, digits, (size_t)n);
	return DYNAMO_NUMBER_OK;
}

/* [eE][+-]digits, all that is left. */
static bool
dynamo_number_parse_exponent(const char *text, const char *end, int *ret)
{
	bool negative = false;
	int n = 0;

	if (text == end) {
		*ret = 0;
		return true;
	}
	if (*text != 'e' && *text != 'E')
		return false;
	text++;
	if (text < end && (*text == '+' || *text == '-'))
		negative = *text++ == '-';
	if (text == end)
		return false;
	for (; text < end; text++) {
		if (!dynamo_number_is_digit(*text))
			return false;
		if (n < NUMBER_EXPONENT_TEXT_MAX)
			n = n * 10 + (*text - '0');
	}
	*ret = negative ? -n : n;
	return true;
}

enum dynamo_number_error
dynamo_number_parse(const char *text, size_t length, struct dynamo_number *ret)
{
	const char *end = text + length;
	uint8_t digits[NUMBER_SPAN];
	bool negative = false;
	bool point = false;
	bool longer = false;	/* digits that count did not fit */
	int seen = 0;		/* digits of any kind */
	int whole = 0;		/* of them before the point, from the first
				 * that is not 0; below 0: zeros behind it */
	int exponent;
	int n = 0;

	if (text < end && (*text == '+' || *text == '-'))
		negative = *text++ == '-';
	for (; text < end; text++) {
		if (*text == '.' && !point) {
			point = true;
			continue;
		}
		if (!dynamo_number_is_digit(*text))
			break;
		seen++;
		if (n == 0 && *text == '0') {
			whole -= point ? 1 : 0;
			continue;
		}
		whole += point ? 0 : 1;
		if (n < NUMBER_SPAN)
			digits[n++] = (uint8_t)(*text - '0');
		else if (*text != '0')
			longer = true;
	}
	if (seen == 0 || !dynamo_number_parse_exponent(text, end, &exponent))
		return DYNAMO_NUMBER_BAD;
	if (n > 0 && longer && whole - 1 + exponent <= DYNAMO_EXPONENT_MAX)
		return DYNAMO_NUMBER_LONG;
	return dynamo_number_settle(digits, n, whole - 1 + exponent, negative,
	    ret);
}

size_t
dynamo_number_format(const struct dynamo_number *a,
    char text[DYNAMO_NUMBER_SIZE])
{
	size_t at = 0;

	if (a->n == 0) {
		memcpy(text, "0", 2);
		return 1;
	}
	if (a->negative)
		text[at++] = '-';
	if (a->exponent < 0) {
		text[at++] = '0';
		text[at++] = '.';
		for (int i = -1; i > a->exponent; i--)
			text[at++] = '0';
	}
	for (int i = 0; i < a->n || i <= a->exponent; i++) {
		if (i > 0 && i == a->exponent + 1)
			text[at++] = '.';
		text[at++] = (char)('0' + (i < a->n ? a->digits[i] : 0));
	}
	text[at] = '\0';
	return at;
}

/* Without the signs. */
static int
dynamo_number_compare_size(const struct dynamo_number *a,
    const struct dynamo_number *b)
{
	int n = a->n < b->n ? a->n : b->n;
	int r;

	if (a->n == 0 || b->n == 0)
		return (a->n > 0) - (b->n > 0);
	if (a->exponent != b->exponent)
		return a->exponent < b->exponent ? -1 : 1;
	r = memcmp(a->digits, b->digits, (size_t)n);
	return r != 0 ? r : (a->n > b->n) - (a->n < b->n);
}

int
dynamo_number_compare(const struct dynamo_number *a,
    const struct dynamo_number *b)
{
	int r;

	if (a->negative != b->negative)
		return a->negative ? -1 : 1;
	r = dynamo_number_compare_size(a, b);
	return a->negative ? -r : r;
}

/* The digit of @a that counts ten to the power of @power. */
static int
dynamo_number_digit(const struct dynamo_number *a, int power)
{
	int i = a->exponent - power;

	return i >= 0 && i < a->n ? a->digits[i] : 0;
}

enum dynamo_number_error
dynamo_number_add(const struct dynamo_number *a, const struct dynamo_number *b,
    struct dynamo_number *ret)
{
	uint8_t digits[NUMBER_SPAN];
	bool minus = a->negative != b->negative;
	int high, low, n, carry = 0;

	if (a->n == 0 || b->n == 0) {
		*ret = a->n == 0 ? *b : *a;
		return DYNAMO_NUMBER_OK;
	}
	if (dynamo_number_compare_size(a, b) < 0) {
		const struct dynamo_number *swapped = a;

		a = b;
		b = swapped;
	}
	/*
	 * @a is not the smaller: the result has its sign and its first digit.
	 */
	high = a->exponent + 1;
	low = a->exponent - a->n + 1;
	if (low > b->exponent - b->n + 1)
		low = b->exponent - b->n + 1;
	n = high - low + 1;
	for (int i = n - 1, power = low; i >= 0; i--, power++) {
		int sum = dynamo_number_digit(b, power);

		sum = dynamo_number_digit(a, power) + (minus ? -sum : sum) +
		    carry;
		carry = sum < 0 ? -1 : sum / 10;
		digits[i] = (uint8_t)(sum - carry * 10);
	}
	return dynamo_number_settle(digits, n, high, a->negative, ret);
}

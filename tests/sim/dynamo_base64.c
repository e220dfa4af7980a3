/*
 * Base64 as the service takes it: the standard alphabet, padded.
 */
#include "dynamo_value.h"

static int
dynamo_base64_digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

size_t
dynamo_base64_length(const char *text, size_t length)
{
	size_t n = length / 4 * 3;

	for (size_t i = length; i > 0 && text[i - 1] == '='; i--)
		n--;
	return n;
}

bool
dynamo_base64_decode(const char *text, size_t length, uint8_t *ret,
    size_t *ret_length)
{
	uint32_t bits = 0;
	size_t n = 0;

	if (length % 4 != 0)
		return false;
	for (size_t i = 0; i < length; i++) {
		int digit = dynamo_base64_digit(text[i]);
		size_t left = length - i;

		if (text[i] == '=' && (left == 1 ||
		    (left == 2 && text[i + 1] == '=')))
			digit = 0;
		if (digit < 0)
			return false;
		bits = bits << 6 | (uint32_t)digit;
		if (i % 4 != 3)
			continue;
		ret[n++] = (uint8_t)(bits >> 16);
		ret[n++] = (uint8_t)(bits >> 8);
		ret[n++] = (uint8_t)bits;
		bits = 0;
	}
	*ret_length = dynamo_base64_length(text, length);
	return true;
}
